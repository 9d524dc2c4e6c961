package flow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Config is what an Engine uses. Only Model is required.
type Config struct {
	Model llm.Model
	// Named returns the model that a context names; if Named is nil, Model answers.
	Named func(name string) (llm.Model, error)
	// Parameters are the sampling parameters of every request; the rest of the request is ignored.
	Parameters llm.Request
	// Flows are the flows to which contexts may refer.
	Flows *Library
	// Knowledge is searched by the tool search_knowledge_bases.
	Knowledge Knowledge
	// Remote carries out what flows call over HTTP; nil calls nothing, and each call is an error of its turn.
	Remote Caller
	// Log gets failures that do not fail the turn; nil discards them.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Engine takes turns. It keeps nothing of them and is safe for concurrent use.
type Engine struct {
	Config
	told refusals
}

// New returns an engine.
func New(c Config) *Engine {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Engine{Config: c}
}

// Options are the settings of one turn.
type Options struct {
	// Trusted honours the context's model parameters and its wish for tracing.
	Trusted bool
	// TraceID names the turn in results and logs: 32 hexadecimal digits, as in W3C Trace Context. Empty means a random
	// one.
	TraceID string
	// Stubs go before those of the context, for this turn of a session.
	Stubs Stubs
	// Sink gets events as they happen. One goroutine at a time calls it.
	Sink func(Event)
}

// Event is something that happened during a turn: a piece of the answer, or a tool call that is done.
type Event struct {
	Token string
	Tool  *ToolTrace
}

// Bounds of the limits that a context may set.
const (
	defaultIterations = 8
	maxIterations     = 64
	// DefaultTurnTimeout bounds a turn whose context has no limit; no context may ask for more than MaxTurnTimeout.
	DefaultTurnTimeout = time.Minute
	MaxTurnTimeout     = 10 * time.Minute
)

// Execute takes one turn. It does not change the context, and an error leaves no effect. The error is an *Error.
func (e *Engine) Execute(ctx context.Context, c *Context, o Options) (*Result, error) {
	f, err := e.resolve(c.Flow)
	if err != nil {
		return nil, err
	}
	r, exchange, err := e.turn(ctx, f, c, o)
	if err != nil {
		return nil, err
	}
	r.History = c.History
	if !c.DryRun {
		r.History = slices.Concat(c.History, exchange)
	}
	return r, nil
}

// turn takes one turn and returns the two messages that it adds. The caller sets the result's history.
func (e *Engine) turn(ctx context.Context, f *Flow, c *Context, o Options) (*Result, []Message, error) {
	t, err := e.begin(f, c, o)
	if err != nil {
		return nil, nil, err
	}
	limit := turnTimeout(c.Limits)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTurnTimeout)
	defer cancel()
	text, err := t.talk(ctx)
	if err == nil {
		err = ctx.Err() // what an action was cut off from did not fail the turn
	}
	if err != nil {
		failed := turnError(ctx, limit, err)
		failed.Usage = t.usage
		return nil, nil, failed
	}
	r, exchange := t.close(ctx, text)
	return r, exchange, nil
}

var errTurnTimeout = errors.New("the turn took too long")

func turnTimeout(l Limits) time.Duration {
	if l.TurnTimeoutMS <= 0 {
		return DefaultTurnTimeout
	}
	most := int(MaxTurnTimeout.Milliseconds())
	return time.Duration(min(l.TurnTimeoutMS, most)) * time.Millisecond
}

// turnError returns the *Error of a turn that failed.
func turnError(ctx context.Context, limit time.Duration, err error) *Error {
	var failed *llm.Error
	switch {
	case errors.Is(context.Cause(ctx), errTurnTimeout):
		if !errors.Is(err, context.DeadlineExceeded) { // whoever was cut off has called it something else
			err = context.DeadlineExceeded
		}
		return &Error{
			Fault: TooLong, Message: fmt.Sprintf("the turn took longer than %s", limit),
			Hint: "raise limits.turn_timeout_ms", Err: err,
		}
	case errors.As(err, &failed) && failed.Fault == llm.TimedOut:
		return &Error{Fault: TimedOut, Message: "the model did not answer in time", Err: err}
	}
	return &Error{Fault: Model, Message: "the model failed", Err: err}
}

// resolve finds or loads the context's flow.
func (e *Engine) resolve(s Source) (*Flow, error) {
	if s.Inline == nil {
		return e.Flows.Find(s.Ref)
	}
	f, err := LoadInline(s.Inline)
	var problems source.Problems
	if errors.As(err, &problems) && len(problems) > 0 {
		p := problems[0]
		return nil, &Error{Fault: Invalid, Pointer: pointer(p.Path), Message: p.Message, Hint: p.Hint}
	}
	return f, err
}

// pointer writes a path such as flow.nodes[3].options[1] as a JSON pointer.
func pointer(path string) string {
	if path == "" {
		return ""
	}
	return "/" + strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(path)
}

// NewTraceID returns 16 random bytes in hexadecimal, as W3C Trace Context writes them.
func NewTraceID() string {
	return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64())
}
