package suite

import (
	"encoding/json"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// stateFields are the fields of a chatbot's state that outlive a turn. Two are left out: the messages are the history,
// and the chatbot computes the interest from the history.
type stateFields struct {
	TurnNumber     any `key:"turn_number" schema:"count"`
	VisitorProfile any `key:"visitor_profile" schema:"object"`
	Dialog         any `key:"dialog_supervision_state" schema:"object"`
	Form           any `key:"form_collection_state" schema:"object"`
	Skill          any `key:"skill_selection_state" schema:"object"`
	Booking        any `key:"booking_state" schema:"object"`
	Profiling      any `key:"profiling_state" schema:"object"`
	HackCount      any `key:"hack_count" schema:"count"`
	SpamCount      any `key:"spam_count" schema:"count"`
	LastInput      any `key:"last_input" schema:"text"`
}

// StateFields are the names of the fields of a chatbot's state that a test may begin with.
var StateFields = source.Keys[stateFields]()

// startKeys are the keys of a state: node and memory of a flow, or the fields of a chatbot's state.
type startKeys struct {
	stateFields
	Node     source.Node `key:"node" schema:"name" doc:"the node of a flow"`
	Memory   *memory     `key:"memory"`
	Interest source.Node `key:"interest_signals_state" schema:"-"`
}

// DecodeNode reads the start of a conversation.
func (s *Start) DecodeNode(n source.Node) {
	keys := startKeys{}
	source.Decode(n, &keys)
	if keys.Node.Kind != source.Null {
		s.Node, s.at = readNodeID(keys.Node), positionOf(keys.Node)
	}
	if keys.Memory != nil {
		s.Memory = marshal(n, keys.Memory)
	}
	if keys.Interest.Kind != source.Null {
		keys.Interest.Report("remove it, and give the test the history that shows the interest",
			"the interest is never injected: it is computed from the history")
	}
	fields := map[string]any{}
	for _, name := range StateFields {
		if n.Has(name) {
			fields[name] = n.Field(name).Any()
		}
	}
	if len(fields) > 0 {
		s.Fields = marshal(n, fields)
	}
}

// history is what was recorded before a conversation: a JSON list of rows {role, content, message_index}.
type history json.RawMessage

// DecodeNode reads a list of rows.
func (h *history) DecodeNode(n source.Node) {
	type row struct {
		Content any    `json:"content,omitempty"`
		Index   any    `json:"message_index,omitempty"`
		Role    string `json:"role" required:"a row needs a role" doc:"user or assistant"`
	}
	rows := []row{}
	for _, item := range n.List() {
		var r row
		source.Decode(item, &r)
		rows = append(rows, r)
	}
	*h = history(marshal(n, rows))
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
	TurnIndex int      `json:"turn_index" minimum:"0"`
	Facts     []fact   `json:"facts,omitempty"`
	Summary   *summary `json:"summary,omitempty"`
}

type fact struct {
	Key        string      `json:"key" required:"a fact needs a key and a value"`
	Value      string      `json:"value" required:"a fact needs a key and a value"`
	SourceTurn *int        `json:"source_turn,omitempty" minimum:"0"`
	Confidence *float64    `json:"confidence,omitempty" minimum:"0" maximum:"1"`
	Previous   []pastValue `json:"previous,omitempty"`
	Deleted    bool        `json:"deleted,omitempty"`
}

// pastValue is a value that a fact had before.
type pastValue struct {
	Value      string `json:"value"`
	SourceTurn int    `json:"source_turn" minimum:"0"`
}

var factKey = text.Regexp(`^[\pL\pM\pN_.]+$`)

// DecodeNode reads a fact.
func (f *fact) DecodeNode(n source.Node) {
	type plain fact
	source.Decode(n, (*plain)(f))
	if n.Has("key") && n.Has("value") && !factKey().MatchString(f.Key) {
		n.Field("key").Report("use letters, digits, _ and .", "%q is not the key of a fact", f.Key)
	}
}

// summary is the summary of the messages before.
type summary struct {
	Level              int    `json:"level" minimum:"0"`
	LastSummarizedTurn int    `json:"last_summarized_turn" minimum:"0"`
	Chunks             chunks `json:"chunks"`
}

// chunks are never null in JSON.
type chunks []chunk

// MarshalJSON returns a list.
func (c chunks) MarshalJSON() ([]byte, error) { return json.Marshal(append([]chunk{}, c...)) }

type chunk struct {
	ID       string   `json:"id" required:"a chunk of the summary needs id"`
	Level    int      `json:"level" required:"a chunk of the summary needs level" minimum:"0"`
	FromTurn int      `json:"from_turn" required:"a chunk of the summary needs from_turn" minimum:"1"`
	ToTurn   int      `json:"to_turn" required:"a chunk of the summary needs to_turn" minimum:"1"`
	Text     string   `json:"text" required:"a chunk of the summary needs text"`
	Sources  []string `json:"sources,omitempty"`
}
