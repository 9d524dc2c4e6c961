package flow

import (
	"context"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// close makes the result of an answered turn, and the two messages that the turn adds to the history.
// It never fails: a failure of the memory is a warning.
func (t *turn) close(ctx context.Context, text string) (*Result, []Message) {
	r := &Result{
		AssistantMessage: text, PreviousNodeID: t.node.ID, Transition: Transition{Kind: t.step.kind},
		FlowCompleted: t.step.ends(), DryRun: t.in.DryRun, ToolCalls: t.trace, TraceID: t.traceID,
	}
	if o := t.step.option; o != nil && t.node.Type != Start {
		r.Transition.OptionID = &o.ID
	}
	at := t.node.ID
	if next := t.step.next; next != nil {
		at = next.ID
		r.NextNodeID, r.CurrentNodeID, r.NextNodeDescriptor = &next.ID, &next.ID, t.descriptor(next)
	}
	exchange := t.exchange(text, at)
	t.remember(ctx, r, exchange)
	if next := t.step.next; next != nil && next.conditional { // by the facts of the next turn
		r.NextNodeDescriptor = t.flow.offerOf(next, r.Memory).descriptor
	}
	if t.in.DryRun {
		r.CurrentNodeID, r.Memory = &t.node.ID, t.in.Memory
	}
	t.usage.LatencyMS = float64(t.Now().Sub(t.started).Microseconds()) / 1000
	r.Usage = t.usage
	r.Warnings = append([]Warning{}, t.warnings...)
	if r.ToolCalls == nil {
		r.ToolCalls = []ToolTrace{}
	}
	if t.options.Trusted && t.in.Model != nil && t.in.Model.EnableTracing {
		r.PromptSnapshot = t.messages
	}
	return r, exchange
}

func (t *turn) exchange(text, node string) []Message {
	debug := &Debug{
		TraceID: t.traceID, ConversationID: t.in.ConversationID, TestCaseID: t.in.TestCaseID,
		Stayed: t.step.kind == Stayed,
	}
	return []Message{
		{Role: chat.User, Content: t.in.LatestUserMessage, Turn: t.number, number: t.number},
		{Role: chat.Assistant, Content: text, Turn: t.number, NodeID: node, Debug: debug, number: t.number},
	}
}

// remember advances the memory by the turn and runs the memory pipeline.
func (t *turn) remember(ctx context.Context, r *Result, exchange []Message) {
	memory := t.in.Memory
	memory.raw, memory.TurnIndex = nil, t.number
	var collected MemoryDelta
	if len(t.collected) > 0 {
		memory.Facts, collected = mergeFacts(memory.Facts, t.collected, t.number)
	}
	in := rememberInput{
		Model: t.model, Parameters: t.params, Pipeline: t.pipeline(), Memory: memory,
	}
	in.History = append(unsummarised(t.history, memory, in.Pipeline), exchange...)
	after := remember(ctx, in)
	r.Memory, r.MemoryDelta = after.Memory, after.Delta
	r.MemoryDelta.FactsAdded = slices.Insert(r.MemoryDelta.FactsAdded, 0, collected.FactsAdded...)
	r.MemoryDelta.FactsUpdated = slices.Insert(r.MemoryDelta.FactsUpdated, 0, collected.FactsUpdated...)
	r.MemoryDelta.FactsDeleted = slices.Insert(r.MemoryDelta.FactsDeleted, 0, collected.FactsDeleted...)
	t.usage.merge(after.Usage)
	for _, w := range after.Warnings {
		t.warn(w)
	}
	if (t.in.DryRun || t.flow.Machine) && t.in.MemoryPipeline == nil {
		for stage := range r.MemoryDelta.Stages {
			r.MemoryDelta.Stages[stage] = StageSkipped
		}
	}
	for _, err := range after.Faults {
		t.warn(MemoryFailed)
		t.Log.Log(ctx, t.told.level(t.flow.ID, err), "memory pipeline", "error", err, "flow", t.flow.ID, "trace_id",
			t.traceID, "conversation_id", t.in.ConversationID)
	}
}

// pipeline returns the stages of the memory pipeline that this turn runs.
// A dry run, and a state machine, whose rules collect the facts, run it only when the context asks for it.
func (t *turn) pipeline() *MemoryPipeline {
	if t.in.MemoryPipeline == nil && (t.in.DryRun || t.flow.Machine) {
		return &MemoryPipeline{Enabled: true, Stages: []Stage{}}
	}
	return t.in.MemoryPipeline
}

// unsummarised returns a copy of the end of a numbered history that the memory pipeline may need: the turns since the
// last summary, and at least the messages that facts are learned from. Copying the whole history would make a turn's
// cost grow with the conversation.
func unsummarised(history []Message, m Memory, p *MemoryPipeline) []Message {
	from := len(history) - factsWindow
	if p.runs(SummarizeStage) {
		last := 0
		if m.Summary != nil {
			last = m.Summary.LastSummarizedTurn
		}
		from = min(from, firstAfter(history, last))
	}
	return slices.Clone(history[max(0, from):])
}
