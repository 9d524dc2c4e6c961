package replay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Definition is a variant with its prompt, as far as the store and the folder of prompts say it: everything but the
// flow and the model. Define makes one.
type Definition struct {
	Variant  Variant
	Settings Settings
	Version  PromptVersion
	// Prompt is the text of Version.
	Prompt string
	// Parameters are those of the model. Ignored names those that no model knows.
	Parameters llm.Request
	Ignored    []string
}

// Opened is a variant or a target that is ready to be replayed. setup opens one.
type Opened struct {
	Replayed
	Agent Agent
	// Resumes is true when conversations can begin in their middle, as forced mode needs.
	Resumes bool
	// Settings are what decides how the agent answers, fit for JSON.
	Settings map[string]any
}

// Define reads the variant of that id and the text of its prompt, a file below the folder of prompts. What is not in
// the store, and what cannot be replayed, is wrong input (source.IsInvalid).
func Define(ctx context.Context, variants Variants, id, prompts string) (*Definition, error) {
	d := &Definition{}
	var err error
	if d.Variant, err = variants.Variant(ctx, id); err != nil {
		return nil, unknownIsInvalid(err)
	}
	if d.Settings, err = d.Variant.Settings(); err != nil {
		return nil, source.AsInvalid(err)
	}
	if d.Version, err = variants.Prompt(ctx, d.Settings.PromptConfig.PromptVersionID); err != nil {
		return nil, unknownIsInvalid(fmt.Errorf("variant %s: %w", id, err))
	}
	if d.Prompt, err = readPrompt(prompts, d.Version.FilePath); err != nil {
		return nil, source.Invalid("variant %s, prompt version %s: %w", id, d.Version.ID, err)
	}
	all, err := d.Settings.Parameters(d.Version)
	if err != nil {
		return nil, source.AsInvalid(err)
	}
	if err := d.parameters(all); err != nil {
		return nil, source.Invalid("variant %s: %w", id, err)
	}
	return d, nil
}

// parameters sorts out which parameters are a model's.
func (d *Definition) parameters(all map[string]json.RawMessage) error {
	r := &d.Parameters
	known := map[string]any{
		"temperature": &r.Temperature, "top_p": &r.TopP, "seed": &r.Seed, "max_tokens": &r.MaxTokens,
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		to, ok := known[name]
		if !ok {
			d.Ignored = append(d.Ignored, name)
			continue
		}
		if err := json.Unmarshal(all[name], to); err != nil {
			return fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	return nil
}

// Fingerprint is what decides how the variant answers along a flow, fit for JSON. It changes when the file of the flow
// does, which is read from there.
func (d *Definition) Fingerprint(from source.Files, f *flow.Flow) (map[string]any, error) {
	data, err := from.ReadFile(f.File)
	if err != nil {
		return nil, source.Invalid("variant %s: %w", d.Variant.ID, err)
	}
	return map[string]any{
		"variant": d.Variant.ID, "config": d.Variant.Config,
		"flow":   fmt.Sprintf("%s@%s %x", f.ID, f.Version, sha256.Sum256(data)),
		"prompt": d.Prompt, "model": d.Version.Model(), "defaults": d.Version.ConfigDefaults,
	}, nil
}

// maxPrompt bounds the file of a prompt, in bytes.
const maxPrompt = 1 << 20

// readPrompt reads the text of a prompt. Its file cannot lie outside the folder of prompts, also not by a link.
func readPrompt(folder, name string) (string, error) {
	if name == "" {
		return "", errors.New("it has no file_path")
	}
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("its file_path %q leads out of the folder of prompts: write a path below it", name)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", fmt.Errorf("the folder of prompts (--prompts): %w", err)
	}
	defer func() { _ = root.Close() }() // it was only read
	file, err := root.Open(name)
	if err != nil {
		return "", fmt.Errorf(
			"its text cannot be read: %w (prompts are read from %s; name another folder with --prompts)", err, folder)
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("its text cannot be read: %w", err)
	}
	if len(text) > maxPrompt {
		return "", fmt.Errorf("its text in %s is longer than %d MB", name, maxPrompt>>20)
	}
	return string(bytes.ToValidUTF8(text, []byte("\uFFFD"))), nil
}
