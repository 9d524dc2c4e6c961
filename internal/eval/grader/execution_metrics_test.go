package grader

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TestExecutionMetrics holds that the score is the share of limits that are held, and that what is not known decides
// nothing.
func TestExecutionMetrics(t *testing.T) {
	x := reply("hi")
	x.Reply = chat.Reply{
		Latency: time.Second, Cost: chat.Cost{USD: 0.02}, Usage: chat.Usage{InputTokens: 100, OutputTokens: 20},
		Requests: 2, ToolCalls: []chat.ToolCall{{Name: "a"}, {Name: "b"}, {Name: "a"}},
	}
	unknown := reply("hi")
	unknown.Reply = chat.Reply{Usage: chat.Usage{Unknown: true}, Cost: chat.Cost{Unknown: true}}
	s := New(Config{})
	for _, tc := range []struct {
		yaml  string
		score float64
		says  string
		known bool
	}{
		{"{type: execution-metrics, max_tool_calls: 3, max_llm_calls: 2, max_tokens: 120, max_cost_usd: 0.02, " +
			"max_duration_ms: 1000}", 1, "", false},
		{
			"{type: execution-metrics, max_tool_calls: 2, max_llm_calls: 2}", 0.5,
			"wanted: at most 2 tool calls; got: 3 tool calls", false,
		},
		{
			"{type: execution_metrics, max_llm_calls: 1, max_tokens: 119, max_cost_usd: 0.01, max_duration_ms: 999}", 0,
			"at most 1 model calls; got: 2 model calls", false,
		},
		{"{type: execution_metrics, max_tool_calls: 0, max_duration_ms: 0}", 0, "at most 0 tool calls", true},
	} {
		check := one(t, s, tc.yaml)
		g := grade(t, check, x)
		if g.Score != tc.score || g.Code != result.Budget || !strings.Contains(g.Reason, tc.says) ||
			(g.Reason == "") != (tc.score == 1) {
			t.Errorf("%s: %+v, want score %v and %q", tc.yaml, g, tc.score, tc.says)
		}
		if _, err := check.Grader.Grade(t.Context(), unknown); (err == nil) != tc.known {
			t.Errorf("%s of a reply that reports nothing: %v", tc.yaml, err)
		}
	}
	runProblems(t, []problemCase{
		{"type: execution-metrics", 1, 3, "needs a limit"},
		{"type: execution-metrics\nmax_tokens: -1", 2, 15, "out of range"},
	})
	found := s.Validate(read(t,
		"- {type: execution-metrics, max_tokens: 1, target_exploration_ratio: 0.5, exploration_tolerance: 0.1}", "")[0])
	if faults, warnings := found.Split(); len(faults) != 0 || len(warnings) != 2 || found.Err() != nil {
		t.Errorf("limits of exploration: %v, want two warnings", found)
	}
}

// TestArgsMatchList compares the named args only, by their paths.
func TestArgsMatchList(t *testing.T) {
	s := New(Config{})
	x := reply("hi")
	x.Reply.ToolCalls = []chat.ToolCall{{
		Name: "book", Args: []byte(`{"city": "Oslo", "when": {"day": 3, "hour": 9}, "id": 7}`),
	}}
	for yaml, want := range map[string]float64{
		"[city, when.day]": 1, "[city, when.hour]": 0, "[when]": 0, "[id]": 1, "exact": 0,
	} {
		entry := "{type: tool-trajectory, mode: in_order, expected: [{tool: book, args_match: " + yaml +
			", args: {city: Oslo, when: {day: 3, hour: 8}}}]}"
		if g := grade(t, one(t, s, entry), x); g.Score != want {
			t.Errorf("args_match: %s: score %v, want %v (%s)", yaml, g.Score, want, g.Reason)
		}
	}
	runProblems(t, []problemCase{{
		"type: tool-trajectory\nexpected: [{tool: a, args_match: []}]", 2, 24, "the list is empty",
	}})
	slow := s.Validate(read(t, "- {type: tool-trajectory, expected: [{tool: a, max_duration_ms: 5}]}", "")[0])
	if faults, warnings := slow.Split(); len(faults) != 0 || len(warnings) != 1 {
		t.Errorf("max_duration_ms: %v, want a warning", slow)
	}
}

// TestCodeGraderConfig holds that a code-grader gives its program every key that it does not know, and that a command
// refuses them.
func TestCodeGraderConfig(t *testing.T) {
	s := New(Config{})
	for yaml, want := range map[string]any{
		"{type: code-grader, command: x, fields: [a], strict: true}": map[string]any{
			"fields": []any{"a"}, "strict": true,
		},
		"{type: code_grader, command: x, n: 1, config: {n: 2, m: 3}, weight: 2}":     map[string]any{"n": 2, "m": 3},
		"{type: code-grader, command: x}":                                            nil,
		"{type: command, command: x, config: {n: 2}}":                                map[string]any{"n": 2},
		"{type: code-grader, command: x, config: plain, cwd: sub, timeout: 5, n: 1}": "plain",
	} {
		p, ok := one(t, s, yaml).Grader.(*program)
		if !ok {
			t.Fatalf("%s is no program", yaml)
		}
		if d := cmp.Diff(want, p.config); d != "" {
			t.Errorf("%s: config (-want +got):\n%s", yaml, d)
		}
	}
	faults := s.Validate(read(t, "- {type: command, command: x, fields: [a]}", "")[0])
	if len(faults) != 1 {
		t.Errorf("a command with an unknown key: %v", faults)
	}
}
