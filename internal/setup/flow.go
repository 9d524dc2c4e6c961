package setup

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"rehearse/internal/config"
	"rehearse/internal/flow"
	"rehearse/internal/knowledge"
	"rehearse/internal/llm"
	"rehearse/internal/source"
)

// Flow loads the flow of a target and returns it with its engine. Suites, the terminal, servers and replays all open flows here, so the
// model, the parameters and the knowledge bases are the same.
func (s *Setup) Flow(c config.Target) (*flow.Engine, *flow.Flow, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	return s.flow(c, Call{})
}

func (s *Setup) flow(c config.Target, call Call) (*flow.Engine, *flow.Flow, error) {
	f, err := LoadFlow(c.Flow)
	if err != nil {
		return nil, nil, err
	}
	model, err := s.open(c.Model, call)
	if err != nil {
		return nil, nil, err
	}
	engine, err := s.engine(c, flow.Config{Model: model, Parameters: llm.ParametersOf(c.Model)})
	return engine, f, err
}

// Engine returns an engine for flows with the knowledge bases of a target. It fills in what f leaves open.
func (s *Setup) Engine(c config.Target, f flow.Config) (*flow.Engine, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	return s.engine(c, f)
}

func (s *Setup) engine(c config.Target, f flow.Config) (*flow.Engine, error) {
	folder := c.Flow.Knowledge
	if folder == "" {
		folder = knowledgeBeside(c.Flow.Path)
	}
	library, err := s.library(folder)
	if err != nil {
		return nil, err
	}
	if library != nil {
		f.Knowledge = library
	}
	f.Log, f.Now = s.Log, s.Now
	return flow.New(f), nil
}

// TargetOf returns the configured target of a flow, or else a target with the lexical model.
func (s *Setup) TargetOf(f *flow.Flow) config.Target {
	for _, name := range Names(s.config.Targets) {
		t := s.config.Targets[name]
		if t.Kind != config.FlowTarget || !names(t.Flow, f) {
			continue
		}
		t.Flow.Path, t.Flow.ID = f.File, f.ID
		return t
	}
	return config.Target{
		Kind: config.FlowTarget, Model: config.Model{Provider: config.Lexical, Name: "default"}, Flow: config.Flow{Path: f.File, ID: f.ID},
	}
}

// names reports whether the configuration of a target names this flow.
func names(c config.Flow, f *flow.Flow) bool {
	library, err := flow.OpenLibrary(c.Path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(library.Flows(), func(one *flow.Flow) bool {
		return sameFile(one.File, f.File) && one.ID == f.ID && (c.ID == "" || flow.Slug(c.ID) == flow.Slug(f.ID))
	})
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}

// knowledgeBeside returns the folder of knowledge bases beside a file or folder of flows; empty if there is none.
func knowledgeBeside(flows string) string {
	if flows == "" {
		return ""
	}
	if beside := filepath.Join(FolderOf(flows), "knowledge"); isFolder(beside) {
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
	k, err := knowledge.Open(context.Background(), folder, vectors...)
	if err != nil {
		return nil, source.Invalid("knowledge: %w", err)
	}
	s.libraries[folder] = k
	return k, nil
}

// FolderOf returns a folder itself, or the folder of a file.
func FolderOf(path string) string {
	if path == "" {
		return "."
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return filepath.Dir(path)
	}
	return path
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
