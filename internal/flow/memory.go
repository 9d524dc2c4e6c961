package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"rehearse/internal/chat"
	"rehearse/internal/llm"
)

// rememberInput is what the memory pipeline has to work with after a turn.
type rememberInput struct {
	Model llm.Model
	// Parameters are the sampling parameters of every request.
	Parameters llm.Request
	// Pipeline turns stages off; nil runs all of them.
	Pipeline *MemoryPipeline
	// History ends with this turn's messages. Only its tail is looked at.
	History []Message
	// Memory has its TurnIndex advanced to this turn. It is never changed, and neither is what it points to.
	Memory Memory
}

// memoryUsage is what the pipeline's model calls took. Calls that failed count too.
type memoryUsage struct {
	Calls   int
	Usage   chat.Usage
	CostUSD float64
}

// remember runs the memory pipeline after a turn (flow-engine.md 3.7). It returns the memory as it now is, what changed and the
// errors for the log. It never fails: a stage that does leaves the memory alone and says so in the delta.
func remember(ctx context.Context, in rememberInput) (Memory, MemoryDelta, memoryUsage, []error) {
	p := &pipeline{rememberInput: in, delta: emptyDelta()}
	p.Memory.raw = nil
	p.delta.Stages = make(map[Stage]StageStatus, 3)
	p.run(ctx, FactsStage, p.learnFacts)
	p.run(ctx, SummarizeStage, p.summarize)
	p.run(ctx, ResummarizeStage, p.resummarize)
	return p.Memory, p.delta, p.usage, p.faults
}

// emptyDelta has empty lists, not absent ones, as they are published.
func emptyDelta() MemoryDelta {
	return MemoryDelta{FactsAdded: []Fact{}, FactsUpdated: []Fact{}, FactsDeleted: []Fact{}, ChunksAdded: []Chunk{}}
}

// pipeline is one run. Its Memory becomes the new one: stages replace its lists and never write into them.
type pipeline struct {
	rememberInput
	// stage is the one that runs.
	stage  Stage
	delta  MemoryDelta
	usage  memoryUsage
	faults []error
}

// run runs a stage, which tells whether anything was due.
func (p *pipeline) run(ctx context.Context, name Stage, stage func(context.Context) (due bool, err error)) {
	if !p.Pipeline.runs(name) {
		p.delta.Stages[name] = StageDisabled
		return
	}
	p.stage = name
	due, err := stage(ctx)
	switch {
	case err != nil:
		p.delta.Stages[name] = StageError
		p.faults = append(p.faults, fmt.Errorf("memory stage %s, turn %d: %w", name, p.Memory.TurnIndex, err))
	case due:
		p.delta.Stages[name] = StageOK
	default:
		p.delta.Stages[name] = StageSkipped
	}
}

// runs reports whether a stage is turned on.
func (m *MemoryPipeline) runs(name Stage) bool {
	if m == nil {
		return true
	}
	return m.Enabled && (m.Stages == nil || slices.Contains(m.Stages, name))
}

var errNoModel = errors.New("there is no model to ask; turn memory_pipeline off, or give the engine a model")

// ask gives the model instructions and, apart from them, data as JSON.
func (p *pipeline) ask(ctx context.Context, instructions string, data any, schema *llm.Schema) (string, error) {
	if p.Model == nil {
		return "", errNoModel
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	r := p.Parameters
	r.Messages = []chat.Message{chat.Say(chat.System, instructions), chat.Say(chat.User, string(compact(data)))}
	r.Tools, r.ToolChoice, r.Schema, r.Node = nil, "", schema, string(p.stage)
	p.usage.Calls++
	reply, err := p.Model.Generate(ctx, r)
	if err != nil {
		return "", err
	}
	p.usage.Usage = p.usage.Usage.Add(reply.Usage)
	p.usage.CostUSD += reply.CostUSD
	return reply.Text, nil
}
