package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"rehearse/internal/config"
	"rehearse/internal/flow"
	"rehearse/internal/llm"
	"rehearse/internal/replay"
	"rehearse/internal/setup"
	"rehearse/internal/source"
	"rehearse/internal/target"
)

// replayAgents makes agents of variants.
type replayAgents struct {
	env      *Env
	setup    *setup.Setup
	variants replay.Variants
	// flows and prompts are where the flows and the texts of prompts stand.
	flows, prompts string

	library *flow.Library
}

// replayedVariant is a variant that is ready to be replayed. Settings are what decides what it answers.
type replayedVariant struct {
	replay.Replayed
	agent    replay.Agent
	settings map[string]any
}

// open makes an agent of the variant with that id.
func (a *replayAgents) open(ctx context.Context, id string) (*replayedVariant, error) {
	variant, err := a.variants.Variant(ctx, id)
	if err != nil {
		return nil, a.unknown(err)
	}
	settings, err := variant.Settings()
	if err != nil {
		return nil, outcome(source.AsInvalid(err))
	}
	version, err := a.variants.Prompt(ctx, settings.PromptConfig.PromptVersionID)
	if err != nil {
		return nil, a.unknown(fmt.Errorf("variant %s: %w", id, err))
	}
	prompt, err := a.prompt(version)
	if err != nil {
		return nil, usage("variant %s, prompt version %s: %w", id, version.ID, err)
	}
	f, err := a.flow(settings.FlowConfig.FlowID)
	if err != nil {
		return nil, usage("variant %s: %w", id, err)
	}
	if strings.TrimSpace(prompt) != "" {
		f = f.WithSystemPrompt(prompt)
	}
	parameters, err := a.parameters(id, settings, version)
	if err != nil {
		return nil, err
	}
	print, err := fingerprint(f)
	if err != nil {
		return nil, usage("variant %s: %w", id, err)
	}
	name := modelOf(version)
	model, err := a.setup.Model(name)
	if err != nil {
		return nil, outcome(err)
	}
	t := a.setup.TargetOf(f)
	engine, err := a.setup.Engine(t, flow.Config{Model: model, Parameters: parameters})
	if err != nil {
		return nil, outcome(err)
	}
	said := target.SettingsOf(t.Flow)
	agent := &replay.FlowAgent{Engine: engine, Flow: f, Pipeline: said.Pipeline, KnowledgeBases: said.KnowledgeBases, Limits: said.Limits}
	if version.ModelProvider == config.Lexical {
		agent.Pipeline = &flow.MemoryPipeline{} // it has nothing to learn facts with
	}
	return &replayedVariant{
		Replayed: replay.Replayed{ID: id, Name: variant.Name, FlowID: f.ID, Prompt: version.ID, Model: name},
		agent:    agent,
		settings: map[string]any{"variant": id, "config": variant.Config, "flow": print, "prompt": prompt, "model": name, "defaults": version.ConfigDefaults},
	}, nil
}

// unknown makes what the store does not have a mistake of the caller's.
func (*replayAgents) unknown(err error) error {
	if errors.Is(err, replay.ErrUnknown) {
		return outcome(source.AsInvalid(err))
	}
	return outcome(err)
}

// maxPrompt bounds the file of a prompt.
const maxPrompt = 1 << 20

// prompt reads the text of a prompt from its file, which cannot lie outside the folder of prompts, also not by a link.
func (a *replayAgents) prompt(v replay.PromptVersion) (string, error) {
	if v.FilePath == "" {
		return "", errors.New("it has no file_path")
	}
	if !filepath.IsLocal(v.FilePath) {
		return "", fmt.Errorf("its file_path %q leads out of the folder of prompts: write a path below it", v.FilePath)
	}
	root, err := os.OpenRoot(a.prompts)
	if err != nil {
		return "", fmt.Errorf("the folder of prompts (--prompts): %w", err)
	}
	defer func() { _ = root.Close() }() // it was only read
	file, err := root.Open(v.FilePath)
	if err != nil {
		return "", fmt.Errorf("its text cannot be read: %w (prompts are read from %s; name another folder with --prompts)", err, a.prompts)
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("its text cannot be read: %w", err)
	}
	if len(text) > maxPrompt {
		return "", fmt.Errorf("its text in %s is longer than %d MB", v.FilePath, maxPrompt>>20)
	}
	return string(bytes.ToValidUTF8(text, []byte("\uFFFD"))), nil
}

func (a *replayAgents) flow(id string) (*flow.Flow, error) {
	if a.library == nil {
		var err error
		if a.library, err = flow.OpenLibrary(a.flows); err != nil {
			return nil, fmt.Errorf("%w (flows are read from %s; name another folder with --flows)", err, a.flows)
		}
	}
	f, err := a.library.Find(id)
	if err != nil {
		return nil, fmt.Errorf("%w (flows are read from %s)", err, a.flows)
	}
	return f, nil
}

// parameters are those of the model; others are told of, and left out.
func (a *replayAgents) parameters(id string, s replay.Settings, v replay.PromptVersion) (llm.Request, error) {
	var r llm.Request
	all, err := s.Parameters(v)
	if err != nil {
		return r, outcome(source.AsInvalid(err))
	}
	known := map[string]any{"temperature": &r.Temperature, "top_p": &r.TopP, "seed": &r.Seed, "max_tokens": &r.MaxTokens}
	var ignored []string
	for _, name := range setup.Names(all) {
		to, ok := known[name]
		if !ok {
			ignored = append(ignored, name)
			continue
		}
		if err := json.Unmarshal(all[name], to); err != nil {
			return r, usage("variant %s: parameter %s: %w", id, name, err)
		}
	}
	if len(ignored) > 0 {
		fmt.Fprintf(a.env.Stderr, "rehearse: variant %s: parameters that no model knows are left out: %s\n", id, strings.Join(ignored, ", "))
	}
	return r, nil
}

// fingerprint changes when the file of a flow does.
func fingerprint(f *flow.Flow) (string, error) {
	data, err := os.ReadFile(f.File)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s@%s %x", f.ID, f.Version, sha256.Sum256(data)), nil
}

// modelOf names the model of a prompt version as the configuration does.
func modelOf(v replay.PromptVersion) string {
	if v.ModelName == "" {
		return v.ModelProvider
	}
	return v.ModelProvider + ":" + v.ModelName
}
