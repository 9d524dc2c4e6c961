package replayrun

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Variants opens the variants of a store. Use it from one goroutine at a time.
type Variants struct {
	Setup *wire.Setup
	Store replay.Variants
	// Flows is the folder, or the file, of the flows that variants name, among the files of the setup. Prompts is the
	// folder of their prompts on the disk.
	Flows, Prompts string

	library *flow.Library
}

// Open opens the variant of that id. Its flow is opened as a suite, a terminal and a server open it: with the knowledge
// bases, the memory and the limits of its target, where the variant has none of its own. Model and prompt are those of
// the variant. Parameters that it leaves open are those of the configured model.
func (v *Variants) Open(ctx context.Context, id string) (*replay.Opened, error) {
	d, err := replay.Define(ctx, v.Store, id, v.Prompts)
	if err != nil {
		return nil, err
	}
	if len(d.Ignored) > 0 {
		v.Setup.ReportProblem(fmt.Sprintf("variant %s: parameters that no model knows are left out: %s", id,
			strings.Join(d.Ignored, ", ")))
	}
	f, err := v.flow(d.Settings.FlowConfig.FlowID)
	if err != nil {
		return nil, source.Invalid("variant %s: %w", id, err)
	}
	v.Setup.NamesVariables(f.Variables()...)
	if err := v.Setup.Refused(); err != nil {
		return nil, err
	}
	settings, err := d.Fingerprint(v.Setup.Files, f)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(d.Prompt) != "" {
		f = f.WithSystemPrompt(d.Prompt)
	}
	_, c := v.Setup.TargetOf(f)
	if c, err = c.Over(d.Settings.FlowConfig.JSON); err != nil {
		return nil, source.Invalid("variant %s: %w", id, err)
	}
	m, err := v.Setup.ModelNamed(d.Version.Model(), "model", wire.Names(v.Setup.Config().Models))
	if err != nil {
		return nil, err
	}
	model, err := v.Setup.OpenModel(m)
	if err != nil {
		return nil, err
	}
	engine, err := v.Setup.Engine(c, flow.Config{Model: model, Parameters: over(d.Parameters, llm.ParametersOf(m))})
	if err != nil {
		return nil, err
	}
	turns := c.Settings()
	served(settings, turns, llm.ParametersOf(m))
	if m.Provider == config.Lexical {
		turns.Pipeline = &flow.MemoryPipeline{} // it has nothing to learn facts with
	}
	return &replay.Opened{
		Replayed: replay.Replayed{
			ID: id, Name: d.Variant.Name, FlowID: f.ID, Prompt: d.Version.ID, Model: d.Version.Model(), Kind: "flow",
		},
		Agent: &replay.FlowAgent{
			Engine: engine, Flow: f, Pipeline: turns.Pipeline, KnowledgeBases: turns.KnowledgeBases,
			Limits: turns.Limits,
		},
		Settings: settings,
		Resumes:  true,
	}, nil
}

// served adds to a fingerprint what the configuration has of the flow's turns and of the model. What it leaves open
// adds nothing.
func served(settings map[string]any, turns target.FlowSettings, model llm.Request) {
	if !reflect.ValueOf(turns).IsZero() {
		settings["turns"] = turns
	}
	if !reflect.ValueOf(model).IsZero() {
		settings["parameters"] = model
	}
}

// over returns the parameters of a variant, and where it leaves them open those of its model.
func over(own, model llm.Request) llm.Request {
	return llm.Request{
		Temperature: cmp.Or(own.Temperature, model.Temperature), TopP: cmp.Or(own.TopP, model.TopP),
		Seed: cmp.Or(own.Seed, model.Seed), MaxTokens: cmp.Or(own.MaxTokens, model.MaxTokens),
	}
}

// flow finds a flow by its id. All flows are read once.
func (v *Variants) flow(id string) (*flow.Flow, error) {
	if v.library == nil {
		var err error
		if v.library, err = flow.OpenLibrary(v.Setup.Files, v.Flows); err != nil {
			return nil, fmt.Errorf("%w (flows are read from %s; name another folder with --flows)", err, v.Flows)
		}
	}
	f, err := v.library.Find(id)
	if err != nil {
		return nil, fmt.Errorf("%w (flows are read from %s)", err, v.Flows)
	}
	return f, nil
}
