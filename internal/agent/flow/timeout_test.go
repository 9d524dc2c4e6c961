package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// slowly is a model whose calls take a time each: in the loop, and for the memory. It calls a tool once.
type slowly struct{ loop, memory time.Duration }

func (s slowly) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	took := s.loop
	if r.Tools == nil {
		took = s.memory
	}
	select {
	case <-ctx.Done():
		return chat.Reply{}, ctx.Err()
	case <-time.After(took):
	}
	switch {
	case r.Schema != nil:
		return chat.Reply{Text: `{"facts":[]}`}, nil
	case r.ToolChoice == "process_node":
		return chat.Reply{ToolCalls: []chat.ToolCall{
			move("ask", "-1"), call("search_knowledge_bases", `{"query":"x"}`),
		}}, nil
	}
	return chat.Reply{Text: "Well."}, nil
}

// slowShelf is a knowledge base that takes its time.
type slowShelf time.Duration

func (s slowShelf) Search(ctx context.Context, _ flow.Query) ([]flow.Passage, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Duration(s)):
		return nil, nil
	}
}

// turn_timeout_ms bounds the whole turn: model calls, tools and memory together. What is under way is cut off; memory
// alone never fails a turn.
func TestTurnTimeout(t *testing.T) {
	for name, tc := range map[string]struct {
		model  slowly
		shelf  time.Duration
		took   time.Duration
		failed bool
		stage  flow.StageStatus
	}{
		"in time": {
			slowly{100 * time.Millisecond, 100 * time.Millisecond}, 100 * time.Millisecond, 400 * time.Millisecond,
			false, flow.StageOK,
		},
		"the first call":     {slowly{2 * time.Second, 0}, 0, time.Second, true, ""},
		"the calls together": {slowly{600 * time.Millisecond, 0}, 0, time.Second, true, ""},
		"a tool":             {slowly{100 * time.Millisecond, 0}, time.Hour, time.Second, true, ""},
		"the memory alone":   {slowly{100 * time.Millisecond, time.Hour}, 0, time.Second, false, flow.StageError},
		"calls and then memory": {
			slowly{450 * time.Millisecond, 200 * time.Millisecond}, 0, time.Second, false, flow.StageError,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := flow.New(flow.Config{
					Model: tc.model, Knowledge: slowShelf(tc.shelf),
				}).Begin(loadFlow(t, small), flow.Seed{
					Node: "ask", KnowledgeBases: []string{"docs"}, Limits: flow.Limits{TurnTimeoutMS: 1000},
					Pipeline: &flow.MemoryPipeline{Enabled: true, Stages: []flow.Stage{flow.FactsStage}},
				})
				if err != nil {
					t.Fatal(err)
				}
				before, _ := json.Marshal(s.Context())
				start := time.Now()
				r, err := s.Send(t.Context(), "hello", flow.Options{})
				if took := time.Since(start); took != tc.took {
					t.Errorf("took %s", took)
				}
				failed, ok := errors.AsType[*flow.Error](err)
				if ok != tc.failed ||
					ok && (failed.Fault != flow.TooLong || !errors.Is(err, context.DeadlineExceeded)) {
					t.Fatalf("%v", err)
				}
				if after, _ := json.Marshal(s.Context()); tc.failed && string(after) != string(before) {
					t.Errorf("the state has changed: %s", after)
				}
				if !tc.failed && (r.AssistantMessage != "Well." || r.MemoryDelta.Stages[flow.FactsStage] != tc.stage ||
					r.Memory.TurnIndex != 1) {
					t.Errorf("%q, stages %v", r.AssistantMessage, r.MemoryDelta.Stages)
				}
			})
		})
	}
}
