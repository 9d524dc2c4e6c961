package target

import (
	"cmp"
	"context"
	"maps"
	"slices"
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

// FlowConfigOf returns what a target says of the flow that it follows, here or at a server; the zero value of one that follows none.
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
	return Kind{Name: "flow", Doc: "a flow, run in the program", Short: "flow:FILE[#ID]", read: readFlow, prefix: "flow", short: shortFlow}
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
	m, c := lexical(), FlowConfig{}
	fields := c.fields(at)
	fields["model"] = func(n source.Node) { m = at.Model(n) }
	fields["retries"] = func(n source.Node) { c.Retries = new(n.Int(0)) }
	fields["timeout"] = func(n source.Node) { c.TurnTimeout = n.Duration() }
	fields["knowledge"] = func(n source.Node) { c.Knowledge = at.Path(n.Text()) }
	n.Read(fields)
	if !n.Has("flow") {
		n.Report("add `flow:` with the file of the flow, or a folder and `flow_id:`", "a flow target needs a flow")
	}
	return OfFlow(m, c)
}

// fields reads the fields of a flow, wherever it runs.
func (c *FlowConfig) fields(at config.Location) map[string]func(source.Node) {
	return map[string]func(source.Node){
		"kind":            func(source.Node) {},
		"flow":            func(n source.Node) { c.Path = at.Path(n.Text()) },
		"flow_id":         func(n source.Node) { c.ID = n.Text() },
		"start":           func(n source.Node) { c.Start = n.Text() },
		"knowledge_bases": func(n source.Node) { c.KnowledgeBases = n.Texts() },
		"memory":          func(n source.Node) { c.Memory = readMemory(n) },
		"limits": func(n source.Node) {
			n.Read(map[string]func(source.Node){
				"max_tool_iterations":     func(n source.Node) { c.MaxToolIterations = n.Int(1) },
				"history_window_messages": func(n source.Node) { c.WindowMessages = n.Int(1) },
				"history_window_tokens":   func(n source.Node) { c.WindowTokens = n.Int(1) },
				"turn_timeout":            func(n source.Node) { c.TurnTimeout = n.Duration() },
			})
		},
	}
}

// readMemory reads true, false, or {enabled, stages}.
func readMemory(n source.Node) *MemoryConfig {
	if n.Kind == source.Bool {
		return &MemoryConfig{Enabled: n.Bool()}
	}
	m := &MemoryConfig{Enabled: true}
	n.Read(map[string]func(source.Node){
		"enabled": func(n source.Node) { m.Enabled = n.Bool() },
		"stages": func(n source.Node) {
			m.Stages = []string{}
			for _, item := range n.List() {
				m.Stages = append(m.Stages, item.OneOf("facts", "summarize", "resummarize"))
			}
		},
	})
	return m
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

// TurnKeys are the keys of a flow's turns, which a variant may have, too; they are read into c.
func (c *FlowConfig) TurnKeys() map[string]func(source.Node) {
	fields := c.fields(config.Location{})
	maps.DeleteFunc(fields, func(name string, _ func(source.Node)) bool {
		return name != "knowledge_bases" && name != "memory" && name != "limits"
	})
	return fields
}

// Over returns the settings with what a variant says of its flow's turns, the TurnKeys of a JSON object, in place of their own. Other keys are
// passed over.
func (c FlowConfig) Over(object []byte) (FlowConfig, error) {
	value, err := source.ParseJSON("flow_config", object, 1)
	if err != nil {
		return c, err
	}
	reader := &source.Reader{File: "flow_config"}
	of := FlowConfig{}
	keys := of.TurnKeys()
	said, _ := lifted(reader.Node(value, ""), slices.Collect(maps.Keys(keys))...)
	said.Read(keys)
	if err := reader.Problems.Err(); err != nil {
		return c, err
	}
	if said.Has("knowledge_bases") {
		c.KnowledgeBases = of.KnowledgeBases
	}
	if said.Has("memory") {
		c.Memory = of.Memory
	}
	if said.Has("limits") {
		c.MaxToolIterations, c.WindowMessages, c.WindowTokens, c.TurnTimeout = of.MaxToolIterations, of.WindowMessages, of.WindowTokens, of.TurnTimeout
	}
	return c, nil
}
