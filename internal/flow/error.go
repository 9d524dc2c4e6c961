package flow

import "fmt"

// Fault says why a turn could not be taken. The context's state is unchanged.
type Fault string

// The faults.
const (
	Invalid  Fault = "invalid_context"        // the context does not follow the schema, or its flow is broken
	NotFound Fault = "not_found"              // an unknown flow or node
	Over     Fault = "flow_already_completed" // the current node is a stop
	Model    Fault = "model_error"            // the model failed
	TimedOut Fault = "timeout"                // the turn exceeded its time limit
)

// Error is a turn that could not be taken, in one sentence.
type Error struct {
	Fault Fault
	// Pointer is the JSON pointer into the context, where that helps.
	Pointer string
	Message string
	Hint    string
	Err     error
}

// Error returns "message (hint)".
func (e *Error) Error() string {
	s := e.Message
	if e.Pointer != "" {
		s = e.Pointer + ": " + s
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func notFound(pointer, hint, format string, args ...any) *Error {
	return &Error{Fault: NotFound, Pointer: pointer, Message: fmt.Sprintf(format, args...), Hint: hint}
}
