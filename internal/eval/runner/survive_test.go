package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// hostile is a target with its session, a grading and a grader. It does something bad at one place.
type hostile struct {
	at     string
	bad    func()
	closed atomic.Int32
}

func (h *hostile) reach(place string) {
	if place == h.at {
		h.bad()
	}
}

func (h *hostile) Open(context.Context, runner.Opening) (runner.Session, error) {
	h.reach("open")
	return h, nil
}

func (h *hostile) Earlier() []chat.Message {
	h.reach("earlier")
	return nil
}

func (h *hostile) Send(context.Context, chat.Content) (chat.Reply, error) {
	h.reach("send")
	return chat.Reply{Text: "fine"}, nil
}

func (h *hostile) Close() error {
	h.closed.Add(1)
	h.reach("close")
	return nil
}

func (h *hostile) Check(a suite.Assertion) (runner.Check, error) {
	h.reach("check")
	return runner.Check{Assertion: a, Grader: h}, nil
}

func (h *hostile) Grade(_ context.Context, x *runner.Exchange) (result.Grade, error) {
	if x.Turn > 0 {
		h.reach("grade")
	} else {
		h.reach("grade whole")
	}
	return result.Grade{Score: 1, Assertions: []result.Assertion{{Text: "fine", Passed: true}}}, nil
}

const twoTurns = "id: x\nmode: conversation\nturns: [{input: a, assertions: [yes]}, {input: b, assertions: [yes]}]\n" +
	"assertions: [whole]"

// TestPanicStaysInItsTest holds that whatever panics, the test has a record with the cause in a sentence; the stack
// stands in the log alone.
func TestPanicStaysInItsTest(t *testing.T) {
	for place, want := range map[string]struct {
		verdict result.Verdict
		items   string
	}{
		"open":        {result.Error, "error skip skip"},
		"earlier":     {result.Error, "error skip skip"},
		"send":        {result.Error, "error skip skip"},
		"check":       {result.Error, "skip skip"},
		"grade":       {result.Error, "error error pass"},
		"grade whole": {result.Error, "pass pass error"},
		"close":       {result.Pass, "pass pass pass"},
	} {
		t.Run(place, func(t *testing.T) {
			var log bytes.Buffer
			h := &hostile{at: place, bad: func() { panic("boom\nat once") }}
			got, err := runner.Run(t.Context(), runner.Conversation{
				Test: loadOne(t, twoTurns), Target: h, Grading: h,
				Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			})
			if err != nil {
				t.Fatal(err)
			}
			var items []string
			for _, s := range got.Scores {
				items = append(items, string(s.Verdict))
			}
			if got.Verdict != want.verdict || strings.Join(items, " ") != want.items ||
				(want.verdict == result.Error) != (len(got.Failures) > 0) {
				t.Errorf("%s %v, failures %v; want %s %s", got.Verdict, items, got.Failures, want.verdict, want.items)
			}
			for _, f := range got.Failures {
				if !strings.Contains(f.Message, "boom at once") || strings.Contains(f.Message, "goroutine") {
					t.Errorf("failure %q", f.Message)
				}
			}
			if !strings.Contains(log.String(), "survive_test.go") {
				t.Errorf("the log has no stack: %s", log.String())
			}
		})
	}
}

// TestHangStaysInItsTest holds that code which does not end with its context is given up after a while, and that a
// session is closed once it comes back.
func TestHangStaysInItsTest(t *testing.T) {
	for place, verdict := range map[string]result.Verdict{
		"open": result.Error, "earlier": result.Error, "send": result.Error, "grade": result.Error,
		"grade whole": result.Error, "close": result.Pass,
	} {
		t.Run(place, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test := loadOne(t, twoTurns)
				test.Execution.ConversationTimeout = 10 * time.Second
				h := &hostile{at: place, bad: func() { time.Sleep(time.Hour) }}
				began := time.Now()
				got, err := runner.Run(t.Context(), runner.Conversation{Test: test, Target: h, Grading: h})
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 30*time.Second {
					t.Errorf("took %s", took)
				}
				if got.Verdict != verdict {
					t.Errorf("%s, want %s", got.Verdict, verdict)
				}
				for _, f := range got.Failures {
					if f.Code != result.Timeout ||
						f.Message != "the conversation took longer than its time limit (10s)" {
						t.Errorf("failure %+v", f)
					}
				}
				if (verdict == result.Error) != (len(got.Failures) > 0) {
					t.Errorf("failures %v", got.Failures)
				}
				time.Sleep(3 * time.Hour)
				if h.closed.Load() != 1 {
					t.Errorf("the session was closed %d times, want once", h.closed.Load())
				}
			})
		})
	}
}

// TestUndecidedItem holds that an item which a grader could not decide has no score, and that every other grade stands.
func TestUndecidedItem(t *testing.T) {
	test := loadOne(t, "id: x\nmode: conversation\nturns: [{input: a, assertions: [{type: contains, value: one}, "+
		"{type: contains, value: two}]}, {input: b, assertions: [{type: contains, value: one}]}]")
	calls := 0
	got, err := runner.Run(t.Context(), runner.Conversation{
		Test: test, Target: echo(), Grading: graderFunc(func(x *runner.Exchange) (result.Grade, error) {
			if calls++; calls == 1 {
				return result.Grade{}, errors.New("the grader is ill")
			}
			return result.Grade{
				Score: 0.25, Code: result.AssistantContent, Assertions: []result.Assertion{{Text: "it is there"}},
			}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	undecided, decided := got.Scores[0], got.Scores[1]
	data, err := json.Marshal(undecided)
	if err != nil || !strings.Contains(string(data), `"score":null`) || undecided.Verdict != result.Error {
		t.Errorf("the undecided turn: %s, %v", data, err)
	}
	if len(undecided.Assertions) != 1 || len(undecided.Failures) != 2 {
		t.Errorf("what the other grader found is lost: %+v", undecided)
	}
	if decided.Verdict != result.Fail || decided.Score != 0.25 || got.Verdict != result.Error || got.Score != 0 ||
		got.ExecutionStatus != result.ExecutionError {
		t.Errorf("turn 2 %s %v, test %s %v %s", decided.Verdict, decided.Score, got.Verdict, got.Score,
			got.ExecutionStatus)
	}
}

// TestCompleteWhenStopped holds that a conversation which was complete when its caller gave up has its record.
func TestCompleteWhenStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got, err := runner.Run(ctx, runner.Conversation{
		Test: loadOne(t, twoTurns), Target: echo(), Grading: graderFunc(func(x *runner.Exchange) (result.Grade, error) {
			if x.Turn == 0 {
				cancel()
			}
			return result.Grade{Score: 1}, nil
		}),
	})
	if err != nil || got.Verdict != result.Pass {
		t.Errorf("Hold = %+v, %v", got, err)
	}
}
