package sitebot

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/marker"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// History is a recorded conversation up to a message that is to be sent again.
type History struct {
	Rows  HistoryRows `json:"history"`
	Query string      `json:"query"`
	// FieldIDs are the fields of the site's qualification, in the order of their questions.
	FieldIDs []string `json:"field_ids"`
	// CutAt is the index of the query in the history, for queries that occur more than once; nil finds it by its text.
	CutAt *HistoryIndex `json:"query_message_index"`
	// QueryInHistory is false for a history that ends before the query: nothing is cut. Nil means true.
	QueryInHistory *bool `json:"query_in_history"`
}

// Rebuilt is the state that a conversation would have come to, as far as its history tells. What is nil is not to
// be injected.
type Rebuilt struct {
	Messages   []RebuiltMessage  `json:"messages"`
	TurnNumber int               `json:"turn_number"`
	Dialog     *RebuiltDialog    `json:"dialog_supervision_state"`
	Profiling  *RebuiltProfiling `json:"profiling_state"`
	// Warnings say what the history does not tell for sure.
	Warnings []string `json:"warnings"`
}

// RebuiltMessage is a message as it was recorded.
type RebuiltMessage struct {
	Role    chat.Role `json:"role"`
	Content string    `json:"content"`
}

// RebuiltDialog is what the last answer has asked for.
type RebuiltDialog struct {
	EmailRequestedLastTurn bool `json:"email_asked_last_turn"`
	DemoProposedLastTurn   bool `json:"demo_was_proposed_last_turn"`
	RequestTurn            *int `json:"content_gating_ask_turn"`
}

// RebuiltProfiling is what the qualification has collected; LastExtractionTurn is -1 unless the last message asks a
// question.
type RebuiltProfiling struct {
	Collected          map[string]string `json:"collected_values"`
	LastExtractionTurn int               `json:"last_extraction_turn"`
}

// row is a row to sort.
type row struct {
	role  chat.Role // empty for rows that are dropped, which keep their place until the sort
	text  string    // verbatim
	plain string    // trimmed
	key   sortKey
}

// Rebuild returns the state that a recorded conversation leads to, by the rules R0 to R10 of reconstruction.md in their
// order. It is a pure function: the same history gives the same state.
func Rebuild(h History) Rebuilt {
	out := Rebuilt{Messages: []RebuiltMessage{}, Warnings: []string{}}
	rows := sorted(h.Rows, &out)
	rows = cut(rows, h, &out)
	rows = acceptRows(rows, &out)
	for _, r := range rows {
		out.Messages = append(out.Messages, RebuiltMessage{r.role, r.text}) // R5
		if r.role == chat.Assistant {
			out.TurnNumber++ // R6
		}
	}
	out.Dialog = rebuiltDialog(rows)
	out.Profiling = rebuiltProfiling(rows, h.FieldIDs, &out)
	if n := len(rows); n > 0 && rows[n-1].role == chat.User {
		out.warn("unanswered_user", "the history ends with a message that was not answered")
	}
	return out
}

func (r *Rebuilt) warn(code, format string, args ...any) {
	r.Warnings = append(r.Warnings, code+": "+fmt.Sprintf(format, args...))
}

// sorted sorts the rows by their indices and drops those of other roles than user and assistant. A row without an index
// stays after the row before it. Without any index, rows count from 0.
func sorted(recorded []HistoryRow, out *Rebuilt) []row {
	indexed := slices.ContainsFunc(recorded, func(r HistoryRow) bool { return r.index != nil })
	rows := make([]row, len(recorded))
	key := sortKey{near: math.Inf(-1)}
	other, missing := 0, 0
	for i, r := range recorded {
		switch {
		case r.index != nil:
			key = *r.index
		case !indexed:
			key = sortKey{near: float64(i)}
		}
		if r.index == nil && (indexed || r.invalidIndex) {
			missing++
		}
		if r.Role != chat.User && r.Role != chat.Assistant {
			r.Role = ""
			other++
		}
		rows[i] = row{r.Role, r.Content, strings.TrimSpace(r.Content), key}
	}
	if other > 0 {
		out.warn("role_dropped", "rows of system, developer or tool messages: %d", other)
	}
	if missing > 0 {
		out.warn("index_missing", "rows without a numeric message_index: %d of %d; each stays after the row before it",
			missing, len(rows))
	}
	slices.SortStableFunc(rows, func(a, b row) int { return a.key.compare(b.key) })
	return slices.DeleteFunc(rows, func(r row) bool { return r.role == "" })
}

// cut drops the message that is to be sent anew and all after it (R2).
func cut(rows []row, h History, out *Rebuilt) []row {
	if h.QueryInHistory != nil && !*h.QueryInHistory {
		return rows
	}
	if h.CutAt != nil {
		return rows[:len(rows)-countFrom(rows, float64(*h.CutAt))]
	}
	query := strings.TrimSpace(h.Query)
	if query == "" {
		return rows
	}
	for i, r := range slices.Backward(rows) {
		if r.role != chat.User || r.plain != query {
			continue
		}
		if i < len(rows)-2 {
			out.warn("ambiguous_cut", "the query stands at row %d of %d; what comes after it was dropped", i+1,
				len(rows))
		}
		return rows[:i]
	}
	return rows
}

func countFrom(rows []row, key float64) int {
	i := slices.IndexFunc(rows, func(r row) bool { return r.key.compare(sortKey{near: key}) >= 0 })
	if i < 0 {
		return 0
	}
	return len(rows) - i
}

// acceptRows drops blank rows (R3), and answers that repeat one since the last message of the user's (R4).
func acceptRows(rows []row, out *Rebuilt) []row {
	said := map[string]bool{} // by the assistant, since the user's last message
	blank, repeated := 0, 0
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
		switch {
		case r.plain == "":
			blank++
			return true
		case r.role == chat.User:
			clear(said)
			return false
		case said[r.plain]:
			repeated++
			return true
		}
		said[r.plain] = true
		return false
	})
	if blank > 0 {
		out.warn("blank_dropped", "rows without text: %d", blank)
	}
	if repeated > 0 {
		out.warn("duplicate_dropped", "answers that repeat one before them: %d", repeated)
	}
	return rows
}

// rebuiltDialog reads the markers of the last answer (R7).
func rebuiltDialog(rows []row) *RebuiltDialog {
	for _, r := range slices.Backward(rows) {
		if r.role != chat.Assistant {
			continue
		}
		marks := marker.Of(r.text)
		if !marks.Email && !marks.Demo {
			return nil
		}
		d := &RebuiltDialog{EmailRequestedLastTurn: marks.Email, DemoProposedLastTurn: marks.Demo}
		if marks.Email {
			turn := len(rows) / 2
			d.RequestTurn = &turn
		}
		return d
	}
	return nil
}

// rebuiltProfiling matches answers to the fields of the qualification by their order (R8), and finds the question that
// is open (R9, R10).
func rebuiltProfiling(rows []row, fields []string, out *Rebuilt) *RebuiltProfiling {
	p := &RebuiltProfiling{Collected: map[string]string{}, LastExtractionTurn: never}
	asked := 0
	for i, r := range rows {
		if r.role != chat.Assistant || i+1 == len(rows) || rows[i+1].role != chat.User {
			continue
		}
		for range marker.Of(r.text).Questions {
			if asked < len(fields) {
				p.Collected[fields[asked]] = rows[i+1].plain
			}
			asked++
		}
	}
	if asked > len(fields) {
		out.warn("surplus_questions", "%d questions for %d fields", asked, len(fields))
	}
	if n := len(rows); n > 0 && rows[n-1].role == chat.Assistant && marker.Of(rows[n-1].text).Questions > 0 {
		p.LastExtractionTurn = out.TurnNumber
	}
	if len(p.Collected) == 0 && p.LastExtractionTurn == never {
		return nil
	}
	return p
}

// Patch returns the state as UpdateState takes it: with what is known, and nothing else.
func (r Rebuilt) Patch() (json.RawMessage, error) {
	patch := map[string]any{"turn_number": r.TurnNumber}
	messages := make([]Message, 0, len(r.Messages))
	turn := 0
	for i, m := range r.Messages {
		id := fmt.Sprintf("%d:u", turn)
		if m.Role == chat.Assistant {
			id = fmt.Sprintf("%d:a", turn)
			turn++
		}
		if i > 0 && r.Messages[i-1].Role == m.Role { // two in a row need ids of their own
			id += fmt.Sprintf(":%d", i)
		}
		messages = append(messages, Message{ID: id, Role: m.Role, Content: m.Content})
	}
	patch["messages"] = messages
	if r.Dialog != nil {
		patch["dialog_supervision_state"] = r.Dialog
	}
	if r.Profiling != nil {
		patch["profiling_state"] = r.Profiling
	}
	return json.Marshal(patch)
}
