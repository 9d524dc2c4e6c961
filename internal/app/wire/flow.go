package wire

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/agent/apicall"
	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/agent/knowledge"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Flow loads the flow of a target and returns it with its engine, which asks m. Suites, the terminal, servers and
// replays all open flows here, so the model, the parameters and the knowledge bases are the same.
func (s *Setup) Flow(m config.Model, c target.FlowConfig) (*flow.Engine, *flow.Flow, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	return s.flow(m, c, Call{})
}

func (s *Setup) flow(m config.Model, c target.FlowConfig, call Call) (*flow.Engine, *flow.Flow, error) {
	f, err := LoadFlow(s.Files, c)
	if err != nil {
		return nil, nil, err
	}
	s.NamesVariables(f.Variables()...)
	if err := s.Refused(); err != nil {
		return nil, nil, err
	}
	model, err := s.open(m, call)
	if err != nil {
		return nil, nil, err
	}
	engine, err := s.engine(c, flow.Config{Model: model, Parameters: llm.ParametersOf(m)})
	return engine, f, err
}

// Engine returns an engine for flows with the knowledge bases of a target. It fills in what f leaves open.
func (s *Setup) Engine(c target.FlowConfig, f flow.Config) (*flow.Engine, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	return s.engine(c, f)
}

func (s *Setup) engine(c target.FlowConfig, f flow.Config) (*flow.Engine, error) {
	library, err := s.library(knowledgeOf(s.Files, c))
	if err != nil {
		return nil, err
	}
	if library != nil {
		f.Knowledge = library
	}
	f.Log, f.Now, f.Remote = s.Log, s.Now, s.callout()
	return flow.New(f), nil
}

// callout returns what carries out the calls of flows. A submitted run opens hosts for its own flows, and private
// addresses where the server does.
func (s *Setup) callout() *apicall.Caller {
	c := apicall.Config{
		Hosts: slices.Concat(s.APIHosts, s.config.APIHosts), Private: s.APIPrivate || s.config.APIPrivate,
		Secret: s.secret, Wrap: s.recording.Transport,
	}
	if s.Submitted != nil {
		c.Hosts, c.Private = s.config.APIHosts, s.Submitted.AllowPrivate
	}
	return apicall.New(c)
}

// TargetOf returns the model and the settings of a flow's configured target, or else the lexical model.
func (s *Setup) TargetOf(f *flow.Flow) (config.Model, target.FlowConfig) {
	for _, name := range Names(s.config.Targets) {
		t := s.config.Targets[name]
		c, ok := t.Options.(target.FlowConfig)
		if !ok || !s.names(c, f) {
			continue
		}
		c.Path, c.ID = f.File, f.ID
		return t.Model, c
	}
	return config.Model{Provider: config.Lexical, Name: "default"}, target.FlowConfig{Path: f.File, ID: f.ID}
}

// names reports whether the configuration of a target names this flow.
func (s *Setup) names(c target.FlowConfig, f *flow.Flow) bool {
	library, err := flow.OpenLibrary(s.Files, c.Path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(library.Flows(), func(one *flow.Flow) bool {
		return sameFile(s.Files, one.File, f.File) && one.ID == f.ID &&
			(c.ID == "" || flow.Slug(c.ID) == flow.Slug(f.ID))
	})
}

func sameFile(files source.Files, a, b string) bool {
	one, err := files.Stat(a)
	if err != nil {
		return false
	}
	two, err := files.Stat(b)
	return err == nil && os.SameFile(one, two)
}

// knowledgeOf returns the folder of a flow's knowledge bases: its own, or the one beside the file or folder of flows;
// empty if there is none.
func knowledgeOf(files source.Files, c target.FlowConfig) string {
	if c.Knowledge != "" || c.Path == "" {
		files.RecordFolder(c.Knowledge)
		return c.Knowledge
	}
	if beside := filepath.Join(files.FolderOf(c.Path), "knowledge"); files.IsFolder(beside) {
		files.RecordFolder(beside)
		return beside
	}
	return ""
}

// library opens a folder of knowledge bases, once; nil for no folder.
func (s *Setup) library(folder string) (*knowledge.Library, error) {
	if folder == "" {
		return nil, nil
	}
	if k, ok := s.libraries[folder]; ok {
		return k, nil
	}
	var vectors []knowledge.Option
	if m := s.config.Embedder; m != nil {
		var err error
		vectors, err = s.vectors(*m, func(err error) { s.Log.Warn("knowledge: searching by words only", "error", err) })
		if err != nil {
			return nil, err
		}
		if s.Dry { // opening would embed the passages
			vectors = nil
		}
	}
	if _, err := s.Files.Stat(folder); err != nil { // before its place on the disk is taken
		return nil, source.Invalid("knowledge: %w", err)
	}
	k, err := knowledge.Open(context.Background(), s.Files.OnDisk(folder), vectors...)
	if err != nil {
		return nil, source.Invalid("knowledge: %w", err)
	}
	s.libraries[folder] = k
	return k, nil
}
