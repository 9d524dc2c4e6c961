package flow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// failing takes steps as the lexical model does, and fails at what the memory asks.
type failing struct {
	llm.Lexical
	err error
}

func (f failing) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	if r.Node == "summarize" && f.err != nil {
		return chat.Reply{}, f.err
	}
	return f.Lexical.Generate(ctx, r)
}

// A model without language cannot summarise. That is said to the log once for each flow, and in the result of each
// turn; what a provider refuses is said each time.
func TestRefusalsAreToldOnce(t *testing.T) {
	var history []map[string]any
	for turn := 1; turn <= 9; turn++ {
		history = append(history, map[string]any{"role": "user", "content": "q", "turn": turn}, map[string]any{
			"role": "assistant", "content": "a", "turn": turn,
		})
	}
	past, err := json.Marshal(history)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		err  error
		want int // warnings of six turns, three in each of two flows
	}{
		"lexical":  {nil, 2},
		"provider": {&llm.Error{Fault: llm.Refused, Status: 400, Model: "openai:m", Message: "no"}, 6},
		"timeout":  {context.DeadlineExceeded, 6},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			engine := flow.New(flow.Config{Model: failing{err: tc.err}, Log: slog.New(slog.NewTextHandler(&log, nil))})
			for i := range 6 {
				c := inContext(t, "ask", "memory_pipeline", `{"enabled":true}`, "memory", `{"turn_index":9}`, "history",
					string(past))
				c.Flow.Inline = bytes.Replace(c.Flow.Inline, []byte(`"small"`), fmt.Appendf(nil, `"small-%d"`, i%2), 1)
				r, err := engine.Execute(t.Context(), c, flow.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if r.MemoryDelta.Stages[flow.SummarizeStage] != flow.StageError ||
					!slices.Contains(r.Warnings, flow.MemoryFailed) {
					t.Errorf("turn %d: stages %v, warnings %v", i, r.MemoryDelta.Stages, r.Warnings)
				}
			}
			if got := strings.Count(log.String(), "level=WARN"); got != tc.want {
				t.Errorf("%d warnings, want %d:\n%s", got, tc.want, log.String())
			}
		})
	}
}
