package api

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Problem is an error as a client sees it: a problem document (RFC 9457, application/problem+json).
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail says in a sentence what went wrong here.
	Detail string `json:"detail"`
	// Code names the fault for programs: a flow.Fault, or one of the server's own codes.
	Code string `json:"code"`
	// Pointer is the JSON pointer of the faulty member of the body, "" for the whole body; nil when the fault is not in
	// the body.
	Pointer *string `json:"pointer,omitempty"`
	// Hint says what to do; it may be empty.
	Hint string `json:"hint,omitempty"`
	// Scope is the one that the sender's token lacks.
	Scope access.Scope `json:"scope,omitempty"`

	retryAfter time.Duration
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

// The server's own codes.
const (
	codeInvalid      = string(flow.Invalid)
	codeNotFound     = string(flow.NotFound)
	codeTooLarge     = "too_large"
	codeMediaType    = "unsupported_media_type"
	codeMethod       = "method_not_allowed"
	codeUnauthorized = "unauthorized"
	codeForbidden    = "forbidden"
	codeRate         = "rate_limited"
	codeUnavailable  = "unavailable"
	codeUpgrade      = "upgrade_required"
	codeSlowBody     = "body_timeout"
	codeBusy         = "conversation_busy"
	codeExists       = "conversation_exists"
	codeFull         = "storage_full"
	codeOverloaded   = "overloaded"
	codeReading      = "busy"
	codeStopping     = "stopping"
	codeInternal     = "internal_error"
)

// maxDetail bounds a detail in characters, because it may quote a client's text.
const maxDetail = 1000

func newProblem(status int, code, detail, hint string) *Problem {
	return &Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code, Hint: hint,
	}
}

// unavailable is the problem of a request that needs a store or queue that is away.
func unavailable() *Problem {
	return newProblem(http.StatusServiceUnavailable, codeUnavailable, "the store or the queue cannot be reached",
		"try again").after(5 * time.Second)
}

// stoppingProblem is the problem of a request that begins something while the server stops.
func stoppingProblem() *Problem {
	return newProblem(http.StatusServiceUnavailable, codeStopping, "the server is stopping",
		"try again when it is back").after(5 * time.Second)
}

// at sets the pointer of the faulty member.
func (p *Problem) at(pointer string) *Problem {
	pointer = clip(pointer, maxDetail)
	p.Pointer = &pointer
	return p
}

// after sets the wait after which another attempt may succeed.
func (p *Problem) after(d time.Duration) *Problem {
	p.retryAfter = d
	return p
}

// problemOf returns an error as a client sees it. An unexpected error is an internal one without details, and what a
// model's provider said, or where it is, stays in the log.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	fault, ok := errors.AsType[*flow.Error](err)
	if !ok {
		return newProblem(http.StatusInternalServerError, codeInternal, "the server failed", "its log says why")
	}
	detail := fault.Message
	hint := fault.Hint
	switch {
	case fault.Fault == flow.Model || fault.Fault == flow.TimedOut || fault.Fault == flow.TooLong:
		hint = cmp.Or(hint, "try again; the server's log says why")
	case fault.Err != nil:
		detail += ": " + fault.Err.Error()
	}
	p := newProblem(statusOfFlow(fault.Fault), string(fault.Fault), clip(detail, maxDetail), clip(hint, maxDetail))
	if fault.Fault == flow.Invalid || fault.Pointer != "" {
		p = p.at(fault.Pointer)
	}
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		p.retryAfter = failed.RetryAfter
	}
	return p
}

func statusOfFlow(f flow.Fault) int {
	switch f {
	case flow.Invalid:
		return http.StatusBadRequest
	case flow.NotFound:
		return http.StatusNotFound
	case flow.Over:
		return http.StatusConflict
	case flow.Model:
		return http.StatusBadGateway
	case flow.TimedOut, flow.TooLong:
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}

// givenUp reports whether an error needs no answer because its request has ended: Front hangs up then. A problem is
// always answered: a body that does not arrive ends its request too.
func givenUp(r *http.Request, err error) bool {
	_, known := errors.AsType[*Problem](err)
	return !known && r.Context().Err() != nil
}

// writeProblem answers with a problem document.
func writeProblem(w http.ResponseWriter, p *Problem) {
	if p.retryAfter > 0 {
		setRetryAfter(w.Header(), p.retryAfter)
	}
	writeBody(w, p.Status, "application/problem+json", p)
}
