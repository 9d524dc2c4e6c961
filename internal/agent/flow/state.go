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

// State has the parts of a state machine's node besides its message and transitions.
type State struct {
	Type StateType `key:"type" enum:"question,confirmation,data_collection,ai_response,end" doc:"what the state does"`
	// Field stores the answer to this state; empty stores nothing.
	Field string `key:"field" doc:"the field that stores the user's answer"`
	// Validation is what the answer must satisfy before the conversation leaves the state; nil accepts any answer.
	Validation *Validation `key:"validation" doc:"what the answer must satisfy"`
	// Actions run when the conversation enters the state.
	Actions []Action `key:"actions" doc:"actions on entering the state"`
	// Skip are conditions. When one of them holds, the state is left out.
	Skip []*Condition
	// Progress is the place of the state in the flow, from 0 to 1; negative when unknown.
	Progress     float64
	QuickReplies []string
	Buttons      []Button
}

// Button is something that the user may tap instead of writing.
type Button struct {
	Label string `json:"label" alias:"text,title" doc:"the button's label"`
	Value string `json:"value,omitempty" alias:"id,payload" doc:"the message that the button sends"`
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

// Action is something that a state or transition does besides talking.
type Action struct {
	Type ActionType `key:"type" enum:"set_field,validate,log_event,call_api,redirect" doc:"what the action does"`
	// Target is the field, event, API or state that the action is about.
	Target string `key:"target" alias:"field,event,name,to,state,endpoint,url" doc:"the field, event, API or state"`
	// Value is what set_field stores, a template; empty stores the user's message.
	Value string `key:"value" doc:"the value for set_field (default: the user's answer)"`
	// Validation is what validate checks Target against.
	Validation *Validation `key:"validation" alias:"rules" doc:"what validate checks"`

	node *Node // of a redirect
}
