// Package llm speaks to language models: OpenAI-compatible endpoints, a model scripted in a file, and recorded
// exchanges. It knows nothing of evaluation.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/template"
)

// Model generates the next message of a conversation.
// Implementations are safe for concurrent use. Errors are *Error, or the context's.
type Model interface {
	Generate(ctx context.Context, r Request) (chat.Reply, error)
}

// Request is what a model is given. Nil pointers leave a parameter to the provider.
type Request struct {
	Messages    []chat.Message `json:"messages"`
	Tools       []Tool         `json:"tools,omitempty"`
	ToolChoice  string         `json:"tool_choice,omitempty"` // a tool's name, auto, none or required
	Schema      *Schema        `json:"schema,omitempty"`
	Temperature *float64       `json:"temperature,omitempty"`
	TopP        *float64       `json:"top_p,omitempty"`
	Seed        *int           `json:"seed,omitempty"`
	MaxTokens   int            `json:"max_tokens,omitempty"`
	// Thread is the conversation that the provider keeps; nil for one that is sent whole. Reply.Thread says how it goes
	// on.
	Thread *Thread `json:"thread,omitempty"`
	// Node names the part of an agent that asks. It goes over the wire as a header beside the request, not in it.
	Node string `json:"-"`
	// Conversation is what placeholders stand for, if the model is the target of a conversation. Such a request also
	// bears the conversation's id and trace. Both are beside the request.
	Conversation *template.Values `json:"-"`
}

// Thread is a conversation that a provider keeps.
type Thread struct {
	// State is config.Model's. ID is that of the last answer or of the conversation; empty at its beginning.
	State string `json:"state"`
	ID    string `json:"id,omitempty"`
}

// NodeHeader is the header that carries Request.Node, percent-encoded where a header cannot hold it.
const NodeHeader = "X-Rehearse-Node"

// Tool is a function that a model may call. Parameters is a JSON Schema.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	// Menu is what one of the arguments is chosen from, for models that don't read the parameters. It stays inside the
	// program.
	Menu *Menu `json:"-"`
}

// Schema asks for a reply that is JSON of this shape, where the provider can promise that.
type Schema struct {
	Name string          `json:"name"`
	JSON json.RawMessage `json:"json"`
}

// Fault classifies what went wrong with a call.
type Fault string

// The faults. Unreachable, RateLimited, Unavailable and TimedOut are worth another attempt.
const (
	Unreachable  Fault = "unreachable"  // no connection, or it broke before the reply was complete
	Unauthorized Fault = "unauthorized" // 401, 403
	RateLimited  Fault = "rate_limited" // 429
	Unavailable  Fault = "unavailable"  // 408 and 5xx
	TimedOut     Fault = "timed_out"    // no answer within the time allowed for one call
	Refused      Fault = "refused"      // another 4xx: the request itself is not accepted
	Malformed    Fault = "malformed"    // the answer is not what the protocol says
	Unrecorded   Fault = "unrecorded"   // a cassette does not hold this exchange
)

// Error is a failed call in one sentence: what, where, and what to do. It never holds a secret.
type Error struct {
	Fault Fault
	// Model is the "provider:model" that was asked, At its address or file.
	Model, At string
	Status    int
	Message   string
	Hint      string
	// RetryAfter is what the server asked to wait; 0 when it did not say.
	RetryAfter time.Duration
	// Attempts counts the tries that were made.
	Attempts int
	// Err is the cause, if any.
	Err error
}

// Error returns "model at address: message (hint)".
func (e *Error) Error() string {
	s := e.Model
	if e.At != "" {
		s += " at " + e.At
	}
	s += ": " + e.Message
	if e.Attempts > 1 {
		s += fmt.Sprintf(", after %d attempts", e.Attempts)
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Logged returns the error without what the server said, which may repeat the conversation.
func (e *Error) Logged() string {
	plain := *e
	plain.Message = strings.ReplaceAll(string(e.Fault), "_", " ")
	if e.Status != 0 {
		plain.Message += fmt.Sprintf(" (%d)", e.Status)
	}
	return plain.Error()
}

// Unwrap returns the cause. A timeout is also context.DeadlineExceeded.
func (e *Error) Unwrap() error {
	if e.Fault == TimedOut && e.Err == nil {
		return context.DeadlineExceeded
	}
	return e.Err
}

// Tries returns Attempts, for those who do not know this package.
func (e *Error) Tries() int { return e.Attempts }

// Worked reports whether the model may have worked for the failed call, so that what it cost is not known: the time was
// up, or an answer came that broke off or cannot be used.
func (e *Error) Worked() bool {
	return e.Fault == TimedOut || e.Fault == Malformed || e.Fault == Unreachable && e.Message == brokenOff
}

// Worked reports whether a model may have worked for a call that failed with err: the call was given up, or
// Error.Worked says so.
func Worked(err error) bool {
	e, ok := asError(err)
	return ok && e.Worked() || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// Transient reports whether another attempt may succeed.
func (e *Error) Transient() bool {
	return e.Fault == Unreachable || e.Fault == RateLimited || e.Fault == Unavailable || e.Fault == TimedOut
}
