package target_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// held is the record of a conversation of two answered turns.
func held() *result.Test {
	return &result.Test{
		SessionID: "s-1", Verdict: result.Pass,
		Scores: []result.Score{{Name: "turn-1"}, {Name: "turn-2"}, {Name: "assertions"}},
		Output: []chat.Message{
			chat.NewMessage(chat.User, "before"), chat.NewMessage(chat.User, "one"),
			chat.NewMessage(chat.Assistant, "1"), chat.NewMessage(chat.User, "two"),
			chat.NewMessage(chat.Assistant, ""),
		},
		Turns: []result.Turn{
			{
				Index: 1, Input: chat.Content{Text: "one"}, Output: "1", LatencyMS: 12.345, Attempts: 3,
				ToolCalls: []chat.ToolCall{{Name: "find", Args: json.RawMessage(`{}`)}},
				Node:      "n", State: json.RawMessage(`{"a":1}`), Usage: chat.Usage{InputTokens: 1, OutputTokens: 2},
				Cost: chat.Cost{USD: 0.5}, TraceID: "t", FinishReason: "length", FirstTextMS: 1.5, Requests: 2,
			},
			{
				Index: 2, Input: chat.Content{Text: "two"}, Attempts: 1, Usage: chat.Usage{Unknown: true},
				Cost: chat.Cost{Unknown: true},
			},
		},
	}
}

// classifierRequest is the test that the record is of.
func classifierRequest() *suite.Test {
	return &suite.Test{
		Conversation: true,
		Input:        []chat.Message{chat.NewMessage(chat.System, "S"), chat.NewMessage(chat.User, "before")},
		Turns:        []suite.Turn{{Input: chat.Content{Text: "one"}}, {Input: chat.Content{Text: "two"}}},
	}
}

func open(t *testing.T, of *result.Test, test *suite.Test) (runner.Session, error) {
	t.Helper()
	r := &target.Recorded{Of: of, Run: "r-1", Mask: func(data []byte) []byte {
		return bytes.ReplaceAll(data, []byte("secret"), []byte("[redacted X]"))
	}}
	return r.Open(t.Context(), runner.Opening{Test: test})
}

// A recorded conversation is played as it was, and what is not known stays unknown.
func TestRecordedPlays(t *testing.T) {
	s, err := open(t, held(), classifierRequest())
	if err != nil {
		t.Fatal(err)
	}
	var got []chat.Reply
	for _, turn := range classifierRequest().Turns {
		reply, err := s.Send(t.Context(), turn.Input)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, reply)
	}
	want := []chat.Reply{
		{
			Text: "1", Latency: 12345 * time.Microsecond, Attempts: 3, ToolCalls: held().Turns[0].ToolCalls, Node: "n",
			State: json.RawMessage(`{"a":1}`), Usage: chat.Usage{InputTokens: 1, OutputTokens: 2},
			Cost: chat.Cost{USD: 0.5}, TraceID: "t", FinishReason: "length", FirstText: 1500 * time.Microsecond,
			Requests: 2,
		},
		{Latency: time.Nanosecond, Attempts: 1, Usage: chat.Usage{Unknown: true}, Cost: chat.Cost{Unknown: true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("replies (-want +got):\n%s", diff)
	}
	withheld := held()
	withheld.Turns[0].Output, withheld.Turns[0].ToolCalls = "", nil
	if s, err := open(t, withheld, classifierRequest()); err != nil {
		t.Error(err)
	} else if _, err := s.Send(t.Context(), classifierRequest().Turns[0].Input); err == nil ||
		!strings.Contains(err.Error(), "finish reason length") {
		t.Errorf("a reply that was cut to nothing: %v", err)
	}
	if diff := cmp.Diff(classifierRequest().Input, s.(runner.Historian).Earlier()); diff != "" {
		t.Errorf("before the first turn (-want +got):\n%s", diff)
	}
	if id := s.(runner.Identified).SessionID(); id != "s-1" {
		t.Errorf("session id %q", id)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// The agent that ended a conversation ends it again, with the same reply.
func TestRecordedEnds(t *testing.T) {
	of, test := held(), classifierRequest()
	of.EndedByAgent = true
	of.Scores = append(of.Scores, result.Score{Name: "turn-3"})
	test.Turns = append(test.Turns, suite.Turn{Input: chat.Content{Text: "never said"}})
	s, err := open(t, of, test)
	if err != nil {
		t.Fatal(err)
	}
	for i, ended := range []bool{false, true} {
		if reply, err := s.Send(t.Context(), chat.Content{}); err != nil || reply.Ended != ended {
			t.Errorf("turn %d: ended %v, %v", i+1, reply.Ended, err)
		}
	}
}

// What the record does not have is a failure, never a reply.
func TestRecordedRefuses(t *testing.T) {
	engine := result.Failure{Code: result.Timeout, Source: "orchestrator", Turn: 2, Message: "no answer within 1s"}
	unanswered := func(r *result.Test) {
		r.Output = r.Output[:4]
		r.Scores[1].Failures = []result.Failure{engine}
	}
	for _, tc := range []struct {
		name   string
		change func(*result.Test, *suite.Test)
		// turn is where it fails, and code how; sends is how many replies come before.
		code        result.Code
		turn, sends int
	}{
		{"an answered conversation", func(*result.Test, *suite.Test) {}, "", 0, 2},
		{"a secret that is masked in the record", func(r *result.Test, s *suite.Test) {
			r.Turns[0].Input.Text, s.Turns[0].Input.Text = "my [redacted X]", "my secret"
		}, "", 0, 2},
		{"an unanswered turn", func(r *result.Test, _ *suite.Test) { unanswered(r) }, result.Timeout, 2, 1},
		{
			"an unanswered turn without a reason", func(r *result.Test, _ *suite.Test) { r.Output = r.Output[:4] },
			result.EngineError, 2, 1,
		},
		{"a conversation that was not begun", func(r *result.Test, _ *suite.Test) {
			r.Turns, r.Output, r.Failures = nil, nil, []result.Failure{engine}
		}, result.Timeout, 2, 0},
		{
			"another message", func(_ *result.Test, s *suite.Test) { s.Turns[1].Input.Text = "Two" },
			result.SpecInvalid, 2, 0,
		},
		{"another message in a turn that was not answered", func(r *result.Test, s *suite.Test) {
			unanswered(r)
			s.Turns[1].Input.Text = "Two"
		}, result.SpecInvalid, 2, 0},
		{"blocks for text", func(_ *result.Test, s *suite.Test) {
			s.Turns[1].Input = chat.Content{Blocks: []chat.Block{{Type: "text", Value: "two"}}}
		}, result.SpecInvalid, 2, 0},
		{
			"one more turn", func(_ *result.Test, s *suite.Test) { s.Turns = append(s.Turns, s.Turns[0]) },
			result.SpecInvalid, 3, 0,
		},
		{"one turn less", func(_ *result.Test, s *suite.Test) { s.Turns = s.Turns[:1] }, result.SpecInvalid, 2, 0},
		{"one turn less, by scores that were cut as well", func(r *result.Test, s *suite.Test) {
			r.Scores, s.Turns = r.Scores[:1], s.Turns[:1]
		}, result.SpecInvalid, 2, 0},
		{
			"other messages before", func(_ *result.Test, s *suite.Test) { s.Input[1].Content.Text = "after" },
			result.SpecInvalid, 1, 0,
		},
		{"no messages before", func(_ *result.Test, s *suite.Test) { s.Input = nil }, result.SpecInvalid, 1, 0},
		{"a history", func(_ *result.Test, s *suite.Test) {
			s.Start.History = json.RawMessage(`[{"role":"user","content":"hi"}]`)
		}, result.SpecInvalid, 1, 0},
		{
			"a transcript that lacks messages", func(r *result.Test, _ *suite.Test) { r.Output = nil },
			result.SpecInvalid, 1, 0,
		},
		{"a reply without its secret", func(r *result.Test, _ *suite.Test) {
			r.Turns[1].Output = "it is [redacted Y]"
		}, result.SpecInvalid, 2, 0},
		{"a tool call without its secret", func(r *result.Test, _ *suite.Test) {
			r.Turns[0].ToolCalls[0].Args = json.RawMessage(`{"key":"[redacted password of TARGET_URL]"}`)
		}, result.SpecInvalid, 1, 0},
		{"a conversation that stopped early", func(r *result.Test, _ *suite.Test) {
			r.Output, r.Turns = r.Output[:3], r.Turns[:1]
		}, result.SpecInvalid, 2, 1},
	} {
		of, test := held(), classifierRequest()
		tc.change(of, test)
		s, err := open(t, of, test)
		sent := 0
		for err == nil && sent < len(test.Turns) {
			if _, err = s.Send(t.Context(), test.Turns[sent].Input); err == nil {
				sent++
			}
		}
		var failed runner.FailureError
		if known, ok := errors.AsType[*runner.FailureError](err); ok {
			failed = *known
		} else if err != nil {
			t.Errorf("%s: %v is no failure", tc.name, err)
		}
		if f := failed.Failure; f.Code != tc.code || f.Turn != tc.turn || sent != tc.sends ||
			(f.Message == "") != (tc.code == "") {
			t.Errorf("%s: %d replies, then %+v; want %d and %s in turn %d", tc.name, sent, f, tc.sends,
				tc.code, tc.turn)
		}
	}
}
