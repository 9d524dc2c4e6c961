package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// rememberInput is the input of the memory pipeline after a turn.
type rememberInput struct {
	Model llm.Model
	// Parameters are the sampling parameters of every request.
	Parameters llm.Request
	// Pipeline turns stages off; nil runs all of them.
	Pipeline *MemoryPipeline
	// History is numbered and ends with this turn's messages. The pipeline reads only its tail.
	History []Message
	// Memory's TurnIndex is this turn. The pipeline changes neither it nor what it points to.
	Memory Memory
}

// remembered is what the memory pipeline has made of a turn.
type remembered struct {
	Memory   Memory
	Delta    MemoryDelta
	Usage    Usage
	Warnings []Warning
	// Faults are for the log.
	Faults []error
}

// remember runs the memory pipeline after a turn. It never fails: a failed stage leaves the memory
// unchanged, and the delta says so.
func remember(ctx context.Context, in rememberInput) remembered {
	p := &pipeline{rememberInput: in, delta: emptyDelta()}
	p.Memory.raw = nil
	p.delta.Stages = make(map[Stage]StageStatus, 3)
	p.run(ctx, FactsStage, p.learnFacts)
	p.run(ctx, SummarizeStage, p.summarize)
	p.run(ctx, ResummarizeStage, p.resummarize)
	return remembered{p.Memory, p.delta, p.usage, p.warnings, p.faults}
}

// emptyDelta has empty lists instead of absent ones, as published.
func emptyDelta() MemoryDelta {
	return MemoryDelta{FactsAdded: []Fact{}, FactsUpdated: []Fact{}, FactsDeleted: []Fact{}, ChunksAdded: []Chunk{}}
}

// pipeline is one run. Its Memory becomes the new one: stages replace lists and never write into them.
type pipeline struct {
	rememberInput
	// stage is the running stage.
	stage    Stage
	delta    MemoryDelta
	usage    Usage
	faults   []error
	warnings []Warning
}

// run runs a stage and records its status. The stage returns whether anything was due.
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

// ask sends the model instructions and, in a message of its own, data as JSON.
func (p *pipeline) ask(ctx context.Context, instructions string, data any, schema *llm.Schema) (string, error) {
	if p.Model == nil {
		return "", errNoModel
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	r := p.Parameters
	r.Messages = []chat.Message{
		chat.NewMessage(chat.System, instructions), chat.NewMessage(chat.User, string(compact(data))),
	}
	r.Tools, r.ToolChoice, r.Schema, r.Node = nil, "", schema, string(p.stage)
	reply, err := p.Model.Generate(ctx, r)
	p.usage.count(reply, err)
	return reply.Text, err
}
