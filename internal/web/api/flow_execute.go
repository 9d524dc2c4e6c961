package api

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// execute is POST /execute: an ExecutionContext in, an ExecutionResult out. The context's model parameters are ignored.
func (s *Flows) execute(w http.ResponseWriter, r *http.Request) { s.executeAs(w, r, false) }

// executeTrusted is POST /internal/agent/test. Unlike execute, it honours the context's sampling parameters and its
// request for tracing.
func (s *Flows) executeTrusted(w http.ResponseWriter, r *http.Request) { s.executeAs(w, r, true) }

func (s *Flows) executeAs(w http.ResponseWriter, r *http.Request, trusted bool) {
	body, err := readJSONBody(w, r)
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	c, err := readContext(r.Context(), body, idsOf(r))
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	setID(w, conversationHeader, c.ConversationID)
	setID(w, testCaseHeader, c.TestCaseID)
	r, span := flowTurn(r, c.ConversationID, c.TestCaseID)
	setID(w, traceHeader, trace.IDOf(r.Context()))
	s.answer(w, r, func(ctx context.Context, sink func(flow.Event)) (_ any, err error) {
		defer func() { spanEnded(span, err) }()
		result, err := s.executeContext(ctx, c, flow.Options{Trusted: trusted, Sink: sink, TraceID: trace.IDOf(ctx)})
		flowTurnEnded(ctx, span, c.Turn(), result)
		if err != nil {
			return nil, err
		}
		return executionView{result, executionUsage{result.Usage, result.Usage.Cost}}, nil
	})
}

// executionView is an ExecutionResult with what the turn cost, null where that is not known.
type executionView struct {
	*flow.Result
	Usage executionUsage `json:"usage"`
}

type executionUsage struct {
	flow.Usage
	CostUSD chat.Cost `json:"cost_usd"`
}

// executeContext takes the turn of a context, and logs it.
func (s *Flows) executeContext(ctx context.Context, c *flow.Context, o flow.Options) (*flow.Result, error) {
	started := time.Now()
	result, err := s.Engine.Execute(ctx, c, o)
	s.logTurn(ctx, cmp.Or(c.Flow.Ref, "inline"), c, started, result, err)
	return result, err
}

// readContext reads a context when the server has a place for it. The ids fill in those that it lacks.
func readContext(ctx context.Context, body []byte, ids turnIDs) (c *flow.Context, err error) {
	err = limited(ctx, func() error {
		c, err = flow.ReadContext(body)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.ConversationID = cmp.Or(c.ConversationID, ids.conversation)
	c.TestCaseID = cmp.Or(c.TestCaseID, ids.testCase)
	return c, nil
}

// The headers that identify a turn, in requests and answers.
const (
	conversationHeader = "X-Conversation-Id"
	testCaseHeader     = "X-Test-Case-Id"
	traceHeader        = "X-Trace-Id"
)

// turnIDs are the caller's names of a conversation and of its test.
type turnIDs struct{ conversation, testCase string }

func idsOf(r *http.Request) turnIDs {
	return turnIDs{clean(r.Header.Get(conversationHeader)), clean(r.Header.Get(testCaseHeader))}
}

// setID sets a header of the answer to an ID if the ID is fit for a header.
func setID(w http.ResponseWriter, name, id string) {
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	if id != "" && len(id) <= maxID && !strings.ContainsFunc(id, odd) {
		w.Header().Set(name, id)
	}
}

// maxID bounds ids in characters.
const maxID = 200

// clean makes a text from outside fit for an ID or the log: one short line.
func clean(id string) string {
	id = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(id, ""))
	return clip(id, maxID)
}

// clip shortens a text to a number of characters.
func clip(text string, most int) string {
	for i := range text {
		if most == 0 {
			return text[:i] + "…"
		}
		most--
	}
	return text
}
