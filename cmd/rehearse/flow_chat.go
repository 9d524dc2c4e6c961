package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/app/chatsession"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
)

func newFlowChat(env *Env) *cobra.Command {
	var model, node, configFile string
	var verbose bool
	c := &cobra.Command{
		Use:   "chat FILE[#ID]",
		Short: "Talk to a flow in the terminal",
		Long: `Talk to a flow in the terminal, or send it the lines of standard input.
/state shows where the flow stands and what it remembers, /reset starts again, /quit ends; the end of the flow ends it too.`,
		Example: `  rehearse flow chat support.flow.yaml
  rehearse flow chat support.flow.yaml --model openai:gpt-5-mini --verbose
  printf 'hello\nwhere is my parcel?\n' | rehearse flow chat support.flow.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := env.open(wire.Options{Config: configFile})
			if err != nil {
				return outcome(err)
			}
			defer env.closed(s)
			talk := &flowChat{env: env, node: node, verbose: verbose}
			if err := talk.open(s, args[0], model); err != nil {
				return outcome(err)
			}
			return talk.run(c.Context())
		},
	}
	c.Flags().StringVar(&model, "model", "", "model that chooses and answers: a name from rehearse.yaml, "+
		"or PROVIDER:MODEL (default: that of the flow's target there, or lexical)")
	c.Flags().StringVar(&configFile, "config", "",
		"configuration file (default: the nearest rehearse.yaml at or above the flow)")
	c.Flags().StringVar(&node, "node", "", "node to begin at (default: the flow's start)")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "show how the flow moves, and its tool calls")
	return c
}

// flowChat is one conversation in a terminal.
type flowChat struct {
	env    *Env
	engine *flow.Engine
	flow   *flow.Flow
	// settings are what the configured target of the flow says about its turns.
	settings target.FlowSettings
	node     string
	verbose  bool
	session  *flow.Session
}

// open opens the flow as the configured target of it would be: with its knowledge bases, memory and limits. A model
// that is named goes before the target's.
func (c *flowChat) open(s *wire.Setup, name, model string) error {
	f, err := flowNamed(name)
	if err != nil {
		return err
	}
	if s, err = s.At(filepath.Dir(f.File)); err != nil {
		return err
	}
	m, settings := s.TargetOf(f)
	if model != "" {
		if m, err = s.ModelNamed(model, "model", wire.Names(s.Config().Models)); err != nil {
			return err
		}
	}
	c.settings = settings.Settings()
	c.engine, c.flow, err = s.Flow(m, settings)
	return err
}

func (c *flowChat) run(ctx context.Context) error {
	return outcome(converse(ctx, c.env, chatsession.Terminal{Send: c.say, State: c.state, Reset: c.reset}))
}

func (c *flowChat) reset(context.Context) error {
	var err error
	if c.session, err = c.engine.Begin(c.flow, c.seed()); err != nil {
		return outcome(source.AsInvalid(err))
	}
	// A state machine speaks first: its state is a message already.
	if at, _ := c.flow.Node(c.session.Context().CurrentNodeID); c.flow.Machine && at.Prompt != "" {
		fmt.Fprintln(c.env.Stdout, at.Prompt)
	}
	return nil
}

// seed is where the conversation begins.
func (c *flowChat) seed() flow.Seed {
	return flow.Seed{
		Node: c.node, KnowledgeBases: c.settings.KnowledgeBases, Pipeline: c.settings.Pipeline,
		Limits: c.settings.Limits,
	}
}

// say takes one turn of the flow; over is true when the flow has come to its end.
func (c *flowChat) say(ctx context.Context, text string) (over bool, err error) {
	r, err := c.session.Send(ctx, text, flow.Options{Sink: c.show})
	if err != nil {
		return false, outcome(err)
	}
	fmt.Fprintln(c.env.Stdout)
	if c.verbose {
		fmt.Fprintf(c.env.Stderr, "  [%s %s → %s]\n", r.Transition.Kind, r.PreviousNodeID, nodeName(r.NextNodeID))
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(c.env.Stderr, "  [warning: %s]\n", w)
	}
	if r.FlowCompleted {
		fmt.Fprintln(c.env.Stderr, "  [the flow is completed]")
	}
	return r.FlowCompleted, nil
}

func nodeName(id *string) string {
	if id == nil {
		return "end"
	}
	return *id
}

// show prints the answer while it is given.
func (c *flowChat) show(e flow.Event) {
	if e.Tool == nil {
		fmt.Fprint(c.env.Stdout, e.Token)
		return
	}
	if c.verbose {
		fmt.Fprintf(c.env.Stderr, "  [%s %s]\n", e.Tool.Name, e.Tool.Args)
	}
}

func (c *flowChat) state(context.Context) error {
	at := c.session.Context()
	return printJSON(c.env.Stderr, map[string]any{"node": at.CurrentNodeID, "memory": at.Memory})
}

func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
