package target_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// slow is a model whose every call takes a while and uses tokens. The first calls may take longer.
type slow struct {
	llm.Model
	pause, first time.Duration
	late, calls  int
}

func (m *slow) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	pause := m.pause
	if m.calls++; m.calls <= m.late {
		pause = m.first
	}
	if err := llm.Sleep(ctx, pause); err != nil {
		return chat.Reply{}, err
	}
	reply, err := m.Model.Generate(ctx, r)
	reply.Usage, reply.Cost = chat.Usage{InputTokens: 10, OutputTokens: 1}, chat.Cost{USD: 0.5}
	return reply, err
}

func openTurns(t *testing.T, tt runner.Target) runner.Session {
	t.Helper()
	s, err := tt.Open(t.Context(), runner.Opening{Test: &suite.Test{ID: "a", Suite: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFlowTimeoutBoundsTheTurn holds that the time limit of a test bounds a turn with all of its calls, and that each
// attempt has it anew.
func TestFlowTimeoutBoundsTheTurn(t *testing.T) {
	for name, tc := range map[string]struct {
		pause, first time.Duration
		late         int
		took         time.Duration
		calls        int
		unknown      bool
		fails        bool
	}{
		"within the limit":         {200 * time.Millisecond, 0, 0, 400 * time.Millisecond, 2, false, false},
		"each call, not the turn":  {400 * time.Millisecond, 0, 0, 1500 * time.Millisecond, 6, true, true},
		"the first attempt is cut": {100 * time.Millisecond, time.Hour, 1, 700 * time.Millisecond, 3, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				engine, f := echo(t)
				model := &slow{Model: engine.Model, pause: tc.pause, first: tc.first, late: tc.late}
				engine.Model = model
				s := openTurns(t, &target.Flow{Engine: engine, Flow: f, FlowSettings: memoryOff, Turns: target.Turns{
					Timeout: 500 * time.Millisecond, Retries: 2,
				}})
				began := time.Now()
				reply, err := s.Send(t.Context(), chat.Content{Text: "hello"})
				if (err != nil) != tc.fails || model.calls != tc.calls || reply.Attempts != tc.calls ||
					reply.Usage.Unknown != tc.unknown || reply.Cost.Unknown != tc.unknown {
					t.Errorf("%d calls, %d attempts, usage %+v, cost %+v, %v", model.calls, reply.Attempts, reply.Usage,
						reply.Cost, err)
				}
				if took := time.Since(began); took < tc.took || took > tc.took+time.Second {
					t.Errorf("took %s, want some %s", took, tc.took)
				}
				if tc.fails {
					if want := "flow echo: no answer within 500ms, after 3 attempts (raise timeout if it needs " +
						"longer)"; err.Error() != want || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("error %q, want %q", err, want)
					}
					return
				}
				if reply.Text != "you said hello" {
					t.Errorf("reply %q", reply.Text)
				}
			})
		})
	}
}

// TestFailedFlowTurnHasUsage holds that a turn which failed still has what its calls took.
func TestFailedFlowTurnHasUsage(t *testing.T) {
	engine, f := echo(t)
	fail := errors.New("broken")
	engine.Model = &failing{
		Model: &slow{Model: engine.Model}, after: 1, err: &llm.Error{Fault: llm.Refused, Attempts: 3, Err: fail},
	}
	reply, err := openTurns(t, &target.Flow{
		Engine: engine, Flow: f, FlowSettings: memoryOff,
	}).Send(t.Context(), chat.Content{Text: "hello"})
	if !errors.Is(err, fail) || reply.Attempts != 4 || reply.Usage != (chat.Usage{InputTokens: 10, OutputTokens: 1}) ||
		reply.Cost != (chat.Cost{USD: 0.5}) {
		t.Errorf("%d attempts, usage %+v, cost %+v, %v", reply.Attempts, reply.Usage, reply.Cost, err)
	}
}

// failing is a model that fails after so many calls.
type failing struct {
	llm.Model
	after int
	err   error
}

func (m *failing) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	if m.after--; m.after < 0 {
		return chat.Reply{}, m.err
	}
	return m.Model.Generate(ctx, r)
}

// TestSitebotTimeoutBoundsTheTurn holds the same of chatbots. A turn that was cut off leaves the session as it was.
func TestSitebotTimeoutBoundsTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, late := range []bool{true, false} {
			bot := newSitebot(t)
			model := &hanging{}
			bot.Bot.Models = model.instead(bot.Bot.Models)
			bot.Turns = target.Turns{Timeout: 3 * time.Second, Retries: 1}
			s := openTurns(t, bot)
			if _, err := s.Send(t.Context(), chat.Content{Text: "one"}); err != nil {
				t.Fatal(err)
			}
			model.hangs = 1
			if late {
				model.hangs = 1000
			}
			reply, err := s.Send(t.Context(), chat.Content{Text: "two"})
			model.hangs = 0
			if late {
				if err == nil || !strings.Contains(err.Error(), "no answer within 3s, after 2 attempts") ||
					!reply.Usage.Unknown {
					t.Errorf("reply %+v, %v", reply, err)
				}
				reply, err = s.Send(t.Context(), chat.Content{Text: "two"})
			}
			if err != nil || !strings.Contains(string(reply.State), `"turn_number":2`) ||
				!strings.Contains(reply.Text, "two") {
				t.Errorf("after a turn that was cut off: %+v, %v", reply, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestExecuteTimeout holds that a server which is too slow, with its header or its body, is named with the limit.
func TestExecuteTimeout(t *testing.T) {
	for _, body := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			e := &target.Execute{URL: "http://flows.example/execute", Flow: flow.Source{
				Ref: "echo",
			}, Retries: 1, Timeout: 2 * time.Second, Client: &http.Client{
				Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					calls++
					if body {
						return &http.Response{StatusCode: http.StatusOK, Body: endless{r.Context()}, Request: r}, nil
					}
					<-r.Context().Done()
					return nil, r.Context().Err()
				}),
			}}
			_, err := openTurns(t, e).Send(t.Context(), chat.Content{Text: "hi"})
			if err == nil || !strings.Contains(err.Error(), "http://flows.example/execute: no answer within 2s") ||
				!errors.Is(err, context.DeadlineExceeded) || calls != 2 {
				t.Errorf("%d calls, %v", calls, err)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// endless is a body that sends nothing until its request ends.
type endless struct{ ctx context.Context }

func (e endless) Read([]byte) (int, error) {
	<-e.ctx.Done()
	return 0, errors.Join(io.ErrUnexpectedEOF, e.ctx.Err())
}

func (endless) Close() error { return nil }

// caller is a model that calls tools with each of its first replies.
type caller struct {
	parrot
	calls [][]chat.ToolCall
}

func (c *caller) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	reply, err := c.parrot.Generate(ctx, r)
	if len(c.calls) > 0 {
		reply.ToolCalls, c.calls = c.calls[0], c.calls[1:]
	}
	return reply, err
}

// TestEveryCallHasAResult holds that a request never has a call without a tool message for it, and that recorded
// results stay as they are.
func TestEveryCallHasAResult(t *testing.T) {
	call := func(id string) chat.ToolCall { return chat.ToolCall{ID: id, Name: "find"} }
	said := func(ids ...string) chat.Message {
		m := chat.Message{Role: chat.Assistant}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, call(id))
		}
		return m
	}
	tool := func(id, text string) chat.Message {
		return chat.Message{Role: chat.Tool, ToolCallID: id, Content: chat.Content{Text: text}}
	}
	none := func(id string) chat.Message { return tool(id, `{"error":"the tool find was not carried out"}`) }
	user := func(text string) chat.Message { return chat.NewMessage(chat.User, text) }
	model := &caller{
		calls: [][]chat.ToolCall{{call("c"), call("d")}, {{ID: "e", Name: "find", Result: []byte(`{"n":1}`)}}},
	}
	s, err := (&target.Model{Model: model}).Open(t.Context(), runner.Opening{Test: &suite.Test{Input: []chat.Message{
		user("before"), said("a", "b"), tool("b", "kept"), user("then"), said("z"),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two", "three"} {
		if _, err := s.Send(t.Context(), chat.Content{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	first, second := said("c", "d"), said("e")
	first.Content.Text, second.Content.Text = "one (8)", "two (12)"
	want := []chat.Message{
		user("before"), said("a", "b"), tool("b", "kept"), none("a"), user("then"), said("z"), none("z"),
		user("one"), first, none("c"), none("d"), user("two"), second, tool("e", `{"n":1}`), user("three"),
	}
	if diff := cmp.Diff(want, model.classifierRequest[2].Messages); diff != "" {
		t.Errorf("the third request (-want +got):\n%s", diff)
	}
}

// hanging makes calls of a chatbot's models hang until their context ends.
type hanging struct {
	mu    sync.Mutex
	hangs int
}

func (h *hanging) instead(open func(*site.Site) (sitebot.Models, error)) func(*site.Site) (sitebot.Models, error) {
	return func(s *site.Site) (sitebot.Models, error) {
		m, err := open(s)
		return sitebot.Models{Default: waiting{h, m.Default}, Fast: waiting{h, m.Fast}}, err
	}
}

type waiting struct {
	*hanging
	model llm.Model
}

func (w waiting) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	w.mu.Lock()
	hang := w.hangs > 0 && r.Node == "answer_writer"
	if hang {
		w.hangs--
	}
	w.mu.Unlock()
	if hang {
		<-ctx.Done()
		return chat.Reply{}, ctx.Err()
	}
	return w.model.Generate(ctx, r)
}
