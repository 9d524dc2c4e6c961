package target

import (
	"cmp"
	"context"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// FlowConfig is a flow as a target, run in the process or, as a part of an ExecuteConfig, by a server.
type FlowConfig struct {
	// Path is a file of flows or a folder of them. ID chooses a flow; it may be empty when there is only one.
	// Path is empty when a server has the flow itself.
	Path, ID string
	// Start is the node at which tests that name none begin; empty means the flow's own start.
	Start string
	// Knowledge is a folder of knowledge bases; KnowledgeBases are the ones that the flow may search.
	Knowledge      string
	KnowledgeBases []string
	// Memory configures the memory pipeline; nil leaves it to the flow.
	Memory *MemoryConfig
	// Limits of a turn; 0 means the engine's own.
	MaxToolIterations, WindowMessages, WindowTokens int
	TurnTimeout                                     time.Duration
	// Retries is how often a turn is tried again that took too long, for a flow in the process; nil leaves it to the
	// model.
	Retries *int `json:"-"`
}

// MemoryConfig turns the stages of a flow's memory pipeline on and off.
type MemoryConfig struct {
	Enabled bool
	Stages  []string
}

// FlowOf returns the flow of a target that is defined here, in the process or for a server.
func FlowOf(t config.Target) (FlowConfig, bool) {
	c := FlowConfigOf(t)
	return c, c.Path != ""
}

// FlowConfigOf returns what a target says of the flow that it follows, here or at a server; the zero value of one that
// follows none.
func FlowConfigOf(t config.Target) FlowConfig {
	switch options := t.Options.(type) {
	case FlowConfig:
		return options
	case ExecuteConfig:
		return options.Flow
	}
	return FlowConfig{}
}

func flowKind() Kind {
	return Kind{
		Name: "flow", Doc: "a flow, run in the program", Short: "flow:FILE[#ID]", read: readFlow, prefix: "flow",
		short: shortFlow,
	}
}

func shortFlow(path, name string) config.Target {
	return OfFlow(lexical(), FlowConfig{Path: path, ID: name})
}

// OfFlow returns the target of a flow that asks a model.
func OfFlow(m config.Model, c FlowConfig) config.Target {
	return config.Target{Kind: "flow", Model: m, Options: c}
}

// lexical is the model of flows that name none.
func lexical() config.Model { return config.Model{Provider: config.Lexical, Name: "default"} }

func readFlow(n source.Node, at config.Location) config.Target {
	var k flowTargetKeys
	source.Decode(n, &k)
	m, c := lexical(), k.config(at)
	if k.Model.Kind != source.Null {
		m = at.Model(k.Model)
	}
	c.Retries, c.Knowledge = k.Retries, at.Path(k.Knowledge)
	c.TurnTimeout = cmp.Or(k.Timeout, c.TurnTimeout)
	if !n.Has("flow") {
		n.Report("add `flow:` with the file of the flow, or a folder and `flow_id:`", "a flow target needs a flow")
	}
	return OfFlow(m, c)
}

// TurnKeys are the keys of a flow's turns, which a variant may have, too.
type TurnKeys struct {
	KnowledgeBases []string      `key:"knowledge_bases"`
	Memory         *MemoryConfig `key:"memory" schema:"flow_memory"`
	Limits         limitKeys     `key:"limits"`
}

// limitKeys are the limits of a flow's turn.
type limitKeys struct {
	MaxToolIterations int           `key:"max_tool_iterations" minimum:"1"`
	WindowMessages    int           `key:"history_window_messages" minimum:"1"`
	WindowTokens      int           `key:"history_window_tokens" minimum:"1"`
	TurnTimeout       time.Duration `key:"turn_timeout"`
}

// flowKeys are the keys of a flow, wherever it runs.
type flowKeys struct {
	TurnKeys
	Kind  any    `key:"kind"`
	Flow  string `key:"flow" doc:"a file of flows, or a folder"`
	ID    string `key:"flow_id"`
	Start string `key:"start"`
}

// config returns the flow; its path begins at the configuration's folder.
func (k flowKeys) config(at config.Location) FlowConfig {
	l := k.Limits
	return FlowConfig{
		Path: at.Path(k.Flow), ID: k.ID, Start: k.Start, KnowledgeBases: k.KnowledgeBases, Memory: k.Memory,
		MaxToolIterations: l.MaxToolIterations, WindowMessages: l.WindowMessages, WindowTokens: l.WindowTokens,
		TurnTimeout: l.TurnTimeout,
	}
}

// flowTargetKeys are the keys of a target of the kind flow.
type flowTargetKeys struct {
	flowKeys
	Model     source.Node   `key:"model" schema:"model_or_name"`
	Knowledge string        `key:"knowledge" doc:"a folder of knowledge bases"`
	Retries   *int          `key:"retries" minimum:"0" doc:"how often a turn is tried again that took too long (2)"`
	Timeout   time.Duration `key:"timeout"`
}

// memoryKeys are the keys of a flow's memory.
type memoryKeys struct {
	Enabled bool     `key:"enabled"`
	Stages  []string `key:"stages" enum:"facts,summarize,resummarize"`
}

// DecodeNode reads true, false, or {enabled, stages}.
func (m *MemoryConfig) DecodeNode(n source.Node) {
	if n.Kind == source.Bool {
		m.Enabled = n.Bool()
		return
	}
	k := memoryKeys{Enabled: true}
	source.Decode(n, &k)
	*m = MemoryConfig(k)
	if n.Has("stages") && m.Stages == nil {
		m.Stages = []string{} // none of them
	}
}

func (c FlowConfig) open(m config.Model, p Parts) (runner.Target, error) {
	engine, loaded, err := p.Flow(m, c)
	if err != nil {
		return nil, err
	}
	turns := turnsOf(p, cmp.Or(c.Retries, m.Retries), cmp.Or(c.TurnTimeout, flow.DefaultTurnTimeout))
	f := &Flow{Engine: engine, Flow: loaded, FlowSettings: c.Settings(), Turns: turns}
	f.Limits.TurnTimeoutMS = int(flow.MaxTurnTimeout.Milliseconds()) // Turns has the limit
	return f, nil
}

func (c FlowConfig) asks(_ context.Context, m config.Model, p Parts) (Dependencies, error) {
	return Dependencies{Models: []config.Model{m}, Embeds: p.Knowledge(c) != ""}, nil
}

func (FlowConfig) complete() bool { return false }

// FlowSettings are the configured settings of a flow's turns, wherever the flow runs.
type FlowSettings struct {
	KnowledgeBases []string
	Pipeline       *flow.MemoryPipeline
	Limits         flow.Limits
}

// Settings returns the settings of the flow's turns.
func (c FlowConfig) Settings() FlowSettings {
	s := FlowSettings{KnowledgeBases: c.KnowledgeBases}
	s.Limits.MaxToolIterations, s.Limits.TurnTimeoutMS = c.MaxToolIterations, int(c.TurnTimeout.Milliseconds())
	if c.WindowMessages > 0 {
		s.Limits.WindowMessages = &c.WindowMessages
	}
	if c.WindowTokens > 0 {
		s.Limits.WindowTokens = &c.WindowTokens
	}
	if c.Memory != nil {
		s.Pipeline = &flow.MemoryPipeline{Enabled: c.Memory.Enabled}
		for _, stage := range c.Memory.Stages {
			s.Pipeline.Stages = append(s.Pipeline.Stages, flow.Stage(stage))
		}
		if c.Memory.Stages != nil && s.Pipeline.Stages == nil {
			s.Pipeline.Stages = []flow.Stage{}
		}
	}
	return s
}

// Over returns the settings with those of a variant, the keys of a flow's turns in a JSON object, in place of their
// own. Other keys are ignored.
func (c FlowConfig) Over(object []byte) (FlowConfig, error) {
	value, err := source.ParseJSON("flow_config", object, 1)
	if err != nil {
		return c, err
	}
	reader := &source.Reader{File: "flow_config"}
	var k flowKeys
	own, _ := lifted(reader.Node(value, ""), source.Keys[TurnKeys]()...)
	source.Decode(own, &k.TurnKeys)
	if err := reader.Problems.InOrder().Err(); err != nil {
		return c, err
	}
	of := k.config(config.Location{})
	if own.Has("knowledge_bases") {
		c.KnowledgeBases = of.KnowledgeBases
	}
	if own.Has("memory") {
		c.Memory = of.Memory
	}
	if own.Has("limits") {
		c.MaxToolIterations, c.WindowMessages, c.WindowTokens, c.TurnTimeout = of.MaxToolIterations, of.WindowMessages,
			of.WindowTokens, of.TurnTimeout
	}
	return c, nil
}
