package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// The tools that look things up.
const (
	fullHistory     = "get_full_history"
	searchKnowledge = "search_knowledge_bases"
)

// Bounds of what the tools return.
const (
	maxHistoryMessages = 200
	maxHistoryBytes    = 32<<10 - historyFrame
	historyFrame       = len(`{"messages":[],"truncated":true}`)
	defaultTopK        = 5
	maxTopK            = 20
)

var historyTool = llm.Tool{
	Name:        fullHistory,
	Description: "Returns what was said earlier, word for word, beyond the messages that you see.",
	Parameters: json.RawMessage(`{"type":"object","properties":{` +
		`"from_turn":{"type":"integer","description":"first turn, from 1"},` +
		`"to_turn":{"type":"integer","description":"last turn, included"},` +
		`"contains":{"type":"string","description":"only messages that hold this text; case is ignored"}},` +
		`"additionalProperties":false}`),
}

var knowledgeTool = llm.Tool{
	Name:        searchKnowledge,
	Description: "Searches the knowledge bases for passages that help to answer.",
	Parameters: json.RawMessage(`{"type":"object","properties":{` +
		`"query":{"type":"string","description":"words to look for"},` +
		`"kb_ids":{"type":"array","items":{"type":"string"},"description":"knowledge bases to look into; all of them by default"},` +
		`"top_k":{"type":"integer","minimum":1,"maximum":20,"description":"how many passages; 5 by default"}},` +
		`"required":["query"],"additionalProperties":false}`),
}

// toolError is a tool's failure in the form that the model reads. It never ends the turn.
type toolError struct {
	Error string `json:"error"`
}

// foundMessage is a message as get_full_history returns it.
type foundMessage struct {
	Turn    int       `json:"turn"`
	Role    chat.Role `json:"role"`
	Content string    `json:"content"`
}

// size is how many bytes the message takes in the result.
func (s foundMessage) size() int { return len(compact(s)) + len(",") }

// clipped returns the beginning of a message that is too long for the result.
func (s foundMessage) clipped() foundMessage {
	if len(s.Content) > maxHistoryBytes {
		s.Content = clipBytes(s.Content, maxHistoryBytes)
	}
	for s.size() > maxHistoryBytes { // JSON writes some characters with several bytes
		s.Content = clipBytes(s.Content, len(s.Content)*9/10)
	}
	return s
}

// historyResult is the result of get_full_history when something was left out.
type historyResult struct {
	Messages  []foundMessage `json:"messages"`
	Truncated bool           `json:"truncated"`
}

// searchHistory returns the requested messages of a numbered history, without bounds all of them; if there are too
// many, the newest.
func searchHistory(history []Message, args json.RawMessage) (any, error) {
	var want struct {
		From     int    `json:"from_turn"`
		To       int    `json:"to_turn"`
		Contains string `json:"contains"`
	}
	if err := json.Unmarshal(orEmpty(args), &want); err != nil {
		return nil, fmt.Errorf("the arguments are not as described: %w", err)
	}
	part := strings.ToLower(want.Contains)
	var found []foundMessage
	size, truncated := 0, false
	for _, m := range slices.Backward(history) {
		if want.To > 0 && m.number > want.To || m.number < want.From ||
			!strings.Contains(strings.ToLower(m.Content), part) {
			continue
		}
		one := foundMessage{m.number, m.Role, m.Content}
		size += one.size()
		if len(found) == maxHistoryMessages || size > maxHistoryBytes {
			truncated = true
			if len(found) == 0 { // a single message is too long
				found = append(found, one.clipped())
			}
			break
		}
		found = append(found, one)
	}
	slices.Reverse(found)
	if truncated {
		return historyResult{found, true}, nil
	}
	if found == nil {
		found = []foundMessage{}
	}
	return found, nil
}

// search asks the knowledge bases that the context allows.
func search(ctx context.Context, k Knowledge, bases []string, args json.RawMessage) (any, error) {
	var want struct {
		Query string   `json:"query"`
		Bases []string `json:"kb_ids"`
		TopK  int      `json:"top_k"`
	}
	if err := json.Unmarshal(orEmpty(args), &want); err != nil {
		return nil, fmt.Errorf("the arguments are not as described: %w", err)
	}
	if strings.TrimSpace(want.Query) == "" {
		return nil, fmt.Errorf("query is missing")
	}
	if k == nil {
		return nil, fmt.Errorf("no knowledge base is connected")
	}
	for _, name := range want.Bases {
		if !slices.Contains(bases, name) {
			return nil, fmt.Errorf("there is no knowledge base %q here; there are: %s", clip(name, 100),
				strings.Join(bases, ", "))
		}
	}
	if len(want.Bases) == 0 {
		want.Bases = bases
	}
	if want.TopK == 0 {
		want.TopK = defaultTopK
	}
	passages, err := k.Search(ctx, Query{Text: want.Query, Bases: want.Bases, TopK: min(max(want.TopK, 1), maxTopK)})
	if err != nil {
		return nil, err
	}
	if passages == nil {
		passages = []Passage{}
	}
	return passages, nil
}

func orEmpty(args json.RawMessage) json.RawMessage {
	if len(args) == 0 {
		return json.RawMessage("{}")
	}
	return args
}

// clip shortens a text for a message to at most n characters.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n]) + "…"
}

// clipBytes shortens a text to at most n bytes, at the end of a character.
func clipBytes(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func offered(tools []llm.Tool, name string) bool {
	return slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == name })
}

func toolNames(tools []llm.Tool) string {
	names := make([]string, 0, len(tools))
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}
