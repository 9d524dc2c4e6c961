package wire

import (
	"context"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// ServedOptions say what a server of agents serves.
type ServedOptions struct {
	// Model talks in flows: a name of the configuration, or PROVIDER:MODEL.
	Model string
	// Flows is a file or folder of flows, or empty: then there are none of the server's own. Knowledge is their folder
	// of knowledge bases; empty means that beside the flows.
	Flows, Knowledge string
	// Sites are the chatbots; without a Dir there are none.
	Sites chatbot.Options
	// Events is the address of the store that logged events go to, sqlite:PATH or postgres://…; empty means none.
	Events string
	// LogTurns has the turns of visitors logged as events in that store.
	LogTurns bool
}

// Served is what a server of agents serves. Close it before its Setup, which holds the rest.
type Served struct {
	Engine *flow.Engine
	// Sites is nil without chatbots, History without a store of events.
	Sites   *chatbot.Sites
	History *storage.History
	// stopLog ends the log of visitors' turns; nil without one.
	stopLog func()
}

// Served opens what a server of agents serves.
func (s *Setup) Served(ctx context.Context, o ServedOptions) (*Served, error) {
	engine, err := s.servedFlows(o)
	if err != nil {
		return nil, err
	}
	served := &Served{Engine: engine}
	if o.Sites.Dir != "" {
		if served.Sites, err = s.Sites(ctx, o.Sites); err != nil {
			return nil, err
		}
	}
	if o.Events != "" {
		if served.History, err = storage.OpenHistory(ctx, o.Events); err != nil {
			return nil, err
		}
		if served.Sites != nil {
			served.stopLog = served.Sites.SetHistory(served.History, o.LogTurns)
		}
	}
	return served, nil
}

// Close ends the log of turns and closes the store of events.
func (s *Served) Close() error {
	if s.History == nil {
		return nil
	}
	if s.stopLog != nil {
		s.stopLog()
	}
	return s.History.Close()
}

// servedFlows opens an engine of the flows that are served. A request may bring along a flow of its own.
func (s *Setup) servedFlows(o ServedOptions) (*flow.Engine, error) {
	first, err := s.ModelNamed(o.Model, "model", Names(s.config.Models))
	if err != nil {
		return nil, err
	}
	model, siblings, err := s.Siblings(first)
	if err != nil {
		return nil, err
	}
	var library *flow.Library
	if o.Flows != "" {
		if library, err = flow.OpenLibrary(source.Files{}, o.Flows); err != nil {
			return nil, source.AsInvalid(err)
		}
		for _, f := range library.Flows() {
			s.Log.Info("flow", "id", f.ID, "version", f.Version, "nodes", len(f.Nodes), "warnings", len(f.Warnings),
				"file", f.File)
		}
	}
	return s.Engine(
		target.FlowConfig{Path: o.Flows, Knowledge: o.Knowledge},
		flow.Config{Model: model, Named: siblings.Model, Parameters: llm.ParametersOf(first), Flows: library},
	)
}
