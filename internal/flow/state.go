package flow

// StateType is the type of a state of a state machine.
type StateType string

// The state types.
const (
	Question       StateType = "question"
	Confirmation   StateType = "confirmation"
	DataCollection StateType = "data_collection"
	AIResponse     StateType = "ai_response"
	End            StateType = "end"
)

// State is what a node of a state machine has besides its message and transitions.
type State struct {
	Type StateType
	// Field is where the answer to this state is kept; empty when it is not kept.
	Field string
	// Validation is what the answer must satisfy before the conversation leaves the state; nil accepts everything.
	Validation *Validation
	// Actions run when the conversation enters the state.
	Actions []Action
	// Skip leaves the state out when one of its conditions holds.
	Skip []*Condition
	// Progress is how far through the flow the state stands, from 0 to 1; negative when not said.
	Progress     float64
	QuickReplies []string
	Buttons      []Button
}

// Button is something that the user may tap instead of writing.
type Button struct {
	Label string `json:"label"`
	Value string `json:"value,omitempty"`
}

// ActionType is what an action does.
type ActionType string

// The action types.
const (
	SetField ActionType = "set_field"
	Validate ActionType = "validate"
	LogEvent ActionType = "log_event"
	CallAPI  ActionType = "call_api"
	Redirect ActionType = "redirect"
)

// Action is one step that a state or transition takes beside talking.
type Action struct {
	Type ActionType
	// Target is the field, event, API or state that the action is about.
	Target string
	// Value is what set_field stores, a template; empty stores the user's message.
	Value string
	// Validation is what validate checks Target against.
	Validation *Validation

	node *Node // of a redirect
}
