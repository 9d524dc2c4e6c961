package suite

import (
	"encoding/json"
	"regexp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// StateFields are the fields of a chatbot's state that a test may begin with: those that outlive a turn.
// Two are left out: the messages are the history, and the chatbot finds the interest in the history.
var StateFields = []string{
	"turn_number", "visitor_profile", "dialog_supervision_state", "form_collection_state", "skill_selection_state", "booking_state",
	"profiling_state", "hack_count", "spam_count", "last_input",
}

// interestField is the field of the state that is never injected, since it is computed from the history.
const interestField = "interest_signals_state"

// readStart reads {node, memory} of a flow, or the fields of a chatbot's state.
func readStart(n source.Node) Start {
	s := Start{}
	fields := map[string]any{}
	keys := map[string]func(source.Node){
		"node":   func(n source.Node) { s.Node, s.at = readNodeID(n), placeOf(n) },
		"memory": func(n source.Node) { s.Memory = readMemory(n) },
		interestField: func(n source.Node) {
			n.Report("remove it, and give the test the history that shows the interest", "the interest is never injected: it is computed from the history")
		},
	}
	for _, name := range StateFields {
		keys[name] = func(n source.Node) { fields[name] = n.Any() }
	}
	n.Read(keys)
	if len(fields) > 0 {
		s.Fields = marshal(n, fields)
	}
	return s
}

// readHistory reads what was said before, as it was recorded.
func readHistory(n source.Node) json.RawMessage {
	rows := []map[string]any{}
	for _, item := range n.List() {
		row := map[string]any{}
		item.Read(map[string]func(source.Node){
			"role":          func(n source.Node) { row["role"] = n.Text() },
			"content":       func(n source.Node) { row["content"] = n.Any() },
			"message_index": func(n source.Node) { row["message_index"] = n.Any() },
		})
		if item.Kind == source.Map && !item.Has("role") {
			item.Report("write {role: user, content: …} or {role: assistant, content: …}", "the row does not say who speaks")
		}
		rows = append(rows, row)
	}
	return marshal(n, rows)
}

// marshal returns what was read as JSON.
func marshal(n source.Node, value any) json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil {
		n.Report("write finite numbers", "it cannot be written as JSON: %v", err)
	}
	return data
}

func readNodeID(n source.Node) string {
	id := n.Text()
	if n.Kind == source.String && blank(id) {
		n.Report("write the id of a node, or leave the key out", "the node has no id")
	}
	return id
}

// memory is what an agent remembers before the first turn, in the JSON form of a flow's execution context.
type memory struct {
	TurnIndex int      `json:"turn_index"`
	Facts     []fact   `json:"facts,omitempty"`
	Summary   *summary `json:"summary,omitempty"`
}

type fact struct {
	Key        string      `json:"key"`
	Value      string      `json:"value"`
	SourceTurn *int        `json:"source_turn,omitempty"`
	Confidence *float64    `json:"confidence,omitempty"`
	Previous   []pastValue `json:"previous,omitempty"`
	Deleted    bool        `json:"deleted,omitempty"`
}

// pastValue is a value that a fact had before.
type pastValue struct {
	Value      string `json:"value"`
	SourceTurn int    `json:"source_turn"`
}

// summary is the summary of what was said before.
type summary struct {
	Level              int     `json:"level"`
	LastSummarizedTurn int     `json:"last_summarized_turn"`
	Chunks             []chunk `json:"chunks"`
}

type chunk struct {
	ID       string   `json:"id"`
	Level    int      `json:"level"`
	FromTurn int      `json:"from_turn"`
	ToTurn   int      `json:"to_turn"`
	Text     string   `json:"text"`
	Sources  []string `json:"sources,omitempty"`
}

// readMemory reads a seeded memory and returns it as JSON in its full form.
func readMemory(n source.Node) json.RawMessage {
	m := memory{}
	n.Read(map[string]func(source.Node){
		"turn_index": func(n source.Node) { m.TurnIndex = n.Int(0) },
		"facts": func(n source.Node) {
			for _, item := range n.List() {
				m.Facts = append(m.Facts, readFact(item))
			}
		},
		"summary": func(n source.Node) { m.Summary = readSummary(n) },
	})
	data, err := json.Marshal(m)
	if err != nil { // it holds texts and whole numbers, and confidence is between 0 and 1
		return nil
	}
	return data
}

var factKey = regexp.MustCompile(`^[\pL\pM\pN_.]+$`)

func readFact(n source.Node) fact {
	f := fact{}
	n.Read(map[string]func(source.Node){
		"key":         func(n source.Node) { f.Key = n.Text() },
		"value":       func(n source.Node) { f.Value = n.Text() },
		"source_turn": func(n source.Node) { f.SourceTurn = new(n.Int(0)) },
		"confidence":  func(n source.Node) { f.Confidence = new(n.Number(0, 1)) },
		"deleted":     func(n source.Node) { f.Deleted = n.Bool() },
		"previous": func(n source.Node) {
			for _, item := range n.List() {
				var e pastValue
				item.Read(map[string]func(source.Node){
					"value":       func(n source.Node) { e.Value = n.Text() },
					"source_turn": func(n source.Node) { e.SourceTurn = n.Int(0) },
				})
				f.Previous = append(f.Previous, e)
			}
		},
	})
	switch {
	case n.Kind != source.Map:
	case !n.Has("key") || !n.Has("value"):
		n.Report("write {key: …, value: …}", "a fact needs a key and a value")
	case !factKey.MatchString(f.Key):
		n.Field("key").Report("use letters, digits, _ and .", "%q is not the key of a fact", f.Key)
	}
	return f
}

func readSummary(n source.Node) *summary {
	r := summary{Chunks: []chunk{}}
	n.Read(map[string]func(source.Node){
		"level":                func(n source.Node) { r.Level = n.Int(0) },
		"last_summarized_turn": func(n source.Node) { r.LastSummarizedTurn = n.Int(0) },
		"chunks": func(n source.Node) {
			for _, item := range n.List() {
				r.Chunks = append(r.Chunks, readChunk(item))
			}
		},
	})
	return &r
}

func readChunk(n source.Node) chunk {
	c := chunk{}
	n.Read(map[string]func(source.Node){
		"id":        func(n source.Node) { c.ID = n.Text() },
		"level":     func(n source.Node) { c.Level = n.Int(0) },
		"from_turn": func(n source.Node) { c.FromTurn = n.Int(1) },
		"to_turn":   func(n source.Node) { c.ToTurn = n.Int(1) },
		"text":      func(n source.Node) { c.Text = n.Text() },
		"sources":   func(n source.Node) { c.Sources = n.Texts() },
	})
	for _, key := range []string{"id", "level", "from_turn", "to_turn", "text"} {
		if n.Kind == source.Map && !n.Has(key) {
			n.Report("write {id, level, from_turn, to_turn, text}", "a chunk of the summary needs %s", key)
		}
	}
	return c
}
