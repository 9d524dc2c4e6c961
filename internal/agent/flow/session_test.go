package flow_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// loop is a flow in which a conversation can go on for ever.
const loop = `
id: loop
start: begin
nodes:
  - {id: begin, type: start, prompt: Greet., next: [ask]}
  - id: ask
    type: conversation
    prompt: Ask for tea or coffee.
    options:
      - {id: again, label: More tea, when: wants more, examples: [another cup, more please], next: ask}
      - {id: done, label: Enough, when: has enough, examples: [no thanks], next: bye}
  - {id: bye, type: stop, prompt: Say goodbye.}
`

const looping = `
rules:
  - {when: {after: tool}, reply: Here you are.}
  - {when: {args: {current_node_id: begin}}, tool_calls: [{name: process_node, args: {current_node_id: begin, next_node_id: ask}}]}
  - {when: {user: enough}, tool_calls: [{name: process_node, args: {current_node_id: ask, option_id: done}}]}
default: {tool_calls: [{name: process_node, args: {current_node_id: ask, option_id: again}}]}
`

func loopFlow(t testing.TB) *flow.Flow {
	t.Helper()
	flows, err := flow.Load("loop.yaml", []byte(loop))
	if err != nil {
		t.Fatal(err)
	}
	return flows[0]
}

func loopModel(t testing.TB) llm.Model {
	t.Helper()
	model, err := llm.LoadScript("looping.yaml", []byte(looping))
	if err != nil {
		t.Fatal(err)
	}
	return model
}

var memoryOff = &flow.MemoryPipeline{}

// TestSessionEqualsExecute holds the conversation kept in the process to the stateless engine, turn by turn.
func TestSessionEqualsExecute(t *testing.T) {
	engine := flow.New(flow.Config{Model: loopModel(t)})
	f := loopFlow(t)
	s, err := engine.Begin(f, flow.Seed{Pipeline: memoryOff})
	if err != nil {
		t.Fatal(err)
	}
	definition, err := f.Definition()
	if err != nil {
		t.Fatal(err)
	}
	c := flow.Context{Flow: flow.Source{Inline: definition}, CurrentNodeID: "begin", MemoryPipeline: memoryOff}
	for _, said := range []string{"hello", "more", "more", "enough"} {
		kept, err := s.Send(t.Context(), said, flow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.LatestUserMessage = said
		stateless, err := engine.Execute(t.Context(), &c, flow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		different := cmp.Options{
			cmpopts.IgnoreFields(flow.Result{}, "TraceID"), cmpopts.IgnoreFields(flow.Usage{}, "LatencyMS"),
			cmpopts.IgnoreFields(flow.ToolTrace{}, "LatencyMS"), cmpopts.IgnoreFields(flow.Message{}, "Debug"),
			cmpopts.IgnoreUnexported(flow.Message{}, flow.Memory{}),
		}
		if d := cmp.Diff(stateless, kept, different); d != "" {
			t.Fatalf("%s: session and engine differ (-engine +session):\n%s", said, d)
		}
		c.History, c.Memory, c.CurrentNodeID = stateless.History, stateless.Memory, *stateless.CurrentNodeID
	}
	var failed *flow.Error
	if _, err = s.Send(t.Context(), "and then?", flow.Options{}); !errors.As(err, &failed) ||
		failed.Fault != flow.Over {
		t.Errorf("a completed flow goes on: %v", err)
	}
}

func TestWindow(t *testing.T) {
	long := strings.Repeat("wörd ", 4000)
	for _, tc := range []struct {
		name    string
		history []string // u… or a…
		limits  string
		want    []string
	}{
		{"all of a short history", []string{"u1", "a1", "u2", "a2"}, `{}`, []string{"u1", "a1", "u2", "a2"}},
		{"begins with a user", []string{"u1", "a1", "u2", "a2"}, `{"history_window_messages":3}`, []string{"u2", "a2"}},
		{
			"at least the last pair", []string{"u1", "a1", "u2", "a2"},
			`{"history_window_messages":1,"history_window_tokens":1}`, []string{"u2", "a2"},
		},
		{"tokens", []string{"u1", "a1", "u" + long, "a2", "u3", "a3"}, `{}`, []string{"u3", "a3"}},
		{"greeting first", []string{"a0", "u1", "a1"}, `{}`, []string{"u1", "a1"}},
		{"user twice", []string{"u1", "u2"}, `{"history_window_messages":1}`, []string{"u1", "u2"}},
		{"empty", nil, `{}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			model := &actor{replies: []any{move("ask", "-1"), "Again?"}}
			c := inContext(t, "ask", "limits", tc.limits)
			for _, said := range tc.history {
				role := chat.User
				if said[0] == 'a' {
					role = chat.Assistant
				}
				c.History = append(c.History, flow.Message{Role: role, Content: said})
			}
			if _, err := execute(t, model, c); err != nil {
				t.Fatal(err)
			}
			var got []string
			sent := model.requests[0].Messages
			for _, m := range sent[1 : len(sent)-1] {
				got = append(got, m.Content.Text)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("window (-want +got):\n%s", d)
			}
		})
	}
}

// TestLongMessageIsCut keeps the beginning and the end of the last exchange's messages.
func TestLongMessageIsCut(t *testing.T) {
	model := &actor{replies: []any{move("ask", "-1"), "Again?"}}
	c := inContext(t, "ask")
	c.History = []flow.Message{
		{Role: chat.User, Content: "BEGIN" + strings.Repeat("ö", 20_000) + "END"},
		{Role: chat.Assistant, Content: "a"},
	}
	if _, err := execute(t, model, c); err != nil {
		t.Fatal(err)
	}
	got := model.requests[0].Messages[1].Content.Text
	if n := len([]rune(got)); n != (2000-4)*4 || !strings.HasPrefix(got, "BEGIN") || !strings.HasSuffix(got, "END") {
		t.Errorf("%d characters: %.20s … %s", n, got, got[len(got)-20:])
	}
}

func TestFullHistory(t *testing.T) {
	var history []flow.Message
	for i := range 300 {
		history = append(history, flow.Message{Role: chat.User, Content: fmt.Sprintf("Q%d", i+1)}, flow.Message{
			Role: chat.Assistant, Content: fmt.Sprintf("A%d", i+1),
		})
	}
	for _, tc := range []struct {
		args     string
		messages int
		part     string
		whole    bool
	}{
		{
			`{"from_turn":2,"to_turn":3}`, 4,
			`[{"turn":2,"role":"user","content":"Q2"},{"turn":2,"role":"assistant","content":"A2"},{"turn":3`, true,
		},
		{`{"contains":"q299"}`, 1, `{"turn":299,"role":"user","content":"Q299"}`, true},
		{`{}`, 200, `"truncated":true`, false},
		{``, 200, `"truncated":true`, false},
	} {
		c := inContext(t, "ask")
		c.History = history
		r, err := execute(t, &actor{replies: []any{move("ask", "-1"), call("get_full_history", tc.args), "Ok."}}, c)
		if err != nil {
			t.Fatal(err)
		}
		got := string(r.ToolCalls[1].Result)
		if n := strings.Count(got, `"turn":`); n != tc.messages || !strings.Contains(got, tc.part) ||
			(got[0] == '[') != tc.whole {
			t.Errorf("%s: %d messages: %.200s", tc.args, n, got)
		}
	}
}

// BenchmarkTurn is one turn of a conversation kept in the process, with two calls of the scripted model and the memory
// off. The goal is 20,000 turns a second on two cores, whatever was said before.
func BenchmarkTurn(b *testing.B) {
	for _, before := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("after %d turns", before), func(b *testing.B) {
			engine := flow.New(flow.Config{Model: loopModel(b)})
			f := loopFlow(b)
			history := make([]flow.Message, 0, 2*before)
			for i := range before {
				history = append(history, flow.Message{Role: chat.User, Content: "more tea please", Turn: i + 1},
					flow.Message{Role: chat.Assistant, Content: "Here you are.", Turn: i + 1})
			}
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				s, err := engine.Begin(f, flow.Seed{
					Node: "ask", History: history, Memory: flow.Memory{TurnIndex: before}, Pipeline: memoryOff,
				})
				for err == nil && pb.Next() {
					_, err = s.Send(b.Context(), "more tea please", flow.Options{})
				}
				if err != nil {
					b.Error(err)
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
		})
	}
}

// BenchmarkConversations holds 1,000 conversations at once, 20 turns each, and reports the heap that they hold.
func BenchmarkConversations(b *testing.B) {
	const conversations, turns = 1000, 20
	engine := flow.New(flow.Config{Model: loopModel(b)})
	f := loopFlow(b)
	for b.Loop() {
		sessions := make([]*flow.Session, conversations)
		for i := range sessions {
			sessions[i], _ = engine.Begin(f, flow.Seed{Node: "ask", Pipeline: memoryOff})
		}
		for range turns {
			for _, s := range sessions {
				if _, err := s.Send(b.Context(), "more tea please", flow.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapInuse)/(1<<20), "MB")
		runtime.KeepAlive(sessions)
	}
}
