package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// VariantDraft is a variant in a few words, as flags say it. It may make the version of its prompt in the same step.
type VariantDraft struct {
	ID, Name, ExperimentID, FlowID string
	// Prompt is the id of the version of the prompt; empty means the variant's own id.
	Prompt string
	// PromptFile, a path below the folder of prompts, makes that version; Model answers to it, as PROVIDER:MODEL.
	PromptFile, Model string
	// Params are the parameters of the model.
	Params map[string]any
}

// Read checks the draft as ReadVariants checks a file. The error is source.Problems.
func (d VariantDraft) Read() (*VariantSet, error) {
	r := newVariantReader()
	r.read("the command line", d.document())
	return r.set()
}

// document is what the draft says, as a file would.
func (d VariantDraft) document() source.Value {
	prompt := cmp.Or(d.Prompt, d.ID)
	params := d.Params
	if params == nil {
		params = map[string]any{}
	}
	document := map[string]any{
		"variants": []any{map[string]any{
			"id": d.ID, "name": d.Name, "experiment_id": d.ExperimentID,
			"config": map[string]any{
				"execution_strategy": PromptTemplate, "prompt_config": map[string]any{"prompt_version_id": prompt},
				"flow_config": map[string]any{"flow_id": d.FlowID}, "params": params,
			},
		}},
	}
	if d.PromptFile != "" {
		provider, model, _ := strings.Cut(d.Model, ":")
		document["prompt_versions"] = []any{map[string]any{
			"id": prompt, "file_path": d.PromptFile, "model_provider": provider, "model_name": model,
		}}
	}
	return source.FromAny(document)
}

// VariantStore keeps variants and versions of prompts. Implementations are safe for concurrent use.
type VariantStore interface {
	Variants
	// PutVariant and PutPrompt add one, or replace that of the same id.
	PutVariant(ctx context.Context, v Variant) error
	PutPrompt(ctx context.Context, p PromptVersion) error
}

// Change is what became of a variant, or of a version of a prompt, that was put into a store.
type Change struct {
	// What is "variant" or "prompt version".
	What, ID string
	Kind     ChangeKind
	// Parts are those that a replaced one had otherwise.
	Parts []string
}

// ChangeKind tells changes apart.
type ChangeKind string

// The kinds of changes.
const (
	Added     ChangeKind = "added"
	Replaced  ChangeKind = "replaced"
	Unchanged ChangeKind = "unchanged"
)

// String says the change in a line, such as "variant a: replaced: another name".
func (c Change) String() string {
	line := c.What + " " + c.ID + ": " + string(c.Kind)
	if len(c.Parts) > 0 {
		line += ": another " + strings.Join(c.Parts, ", ")
	}
	return line
}

// Put writes what differs from the store, prompts first, so that no variant names a prompt that is not there. It first
// checks that each variant's prompt is in the set or in the store. After an error the changes are those that were made.
func (s *VariantSet) Put(ctx context.Context, store VariantStore) ([]Change, error) {
	promptsBefore, variantsBefore, err := s.compare(ctx, store)
	if err != nil {
		return nil, err
	}
	var changes []Change
	put := func(c Change, write func() error) error {
		if c.Kind != Unchanged {
			if err := write(); err != nil {
				return fmt.Errorf("%w (what was written stays; run the command again to write the rest)", err)
			}
		}
		changes = append(changes, c)
		return nil
	}
	for i, p := range s.Prompts {
		if err := put(changedPrompt(promptsBefore[i], p), func() error { return store.PutPrompt(ctx, p) }); err != nil {
			return changes, err
		}
	}
	for i, v := range s.Variants {
		if err := put(changedVariant(variantsBefore[i], v), func() error {
			return store.PutVariant(ctx, v)
		}); err != nil {
			return changes, err
		}
	}
	return changes, nil
}

// compare reads what the store has under the same ids, nil for nothing, and looks whether every prompt is known that a
// variant names.
func (s *VariantSet) compare(ctx context.Context,
	store Variants) (prompts []*PromptVersion, variants []*Variant, err error) {
	known := map[string]bool{}
	for _, p := range s.Prompts {
		known[p.ID] = true
		before, err := store.Prompt(ctx, p.ID)
		prompt, err := orUnknown(before, err)
		if err != nil {
			return nil, nil, err
		}
		prompts = append(prompts, prompt)
	}
	for _, one := range s.Variants {
		before, err := store.Variant(ctx, one.ID)
		variant, err := orUnknown(before, err)
		if err != nil {
			return nil, nil, err
		}
		variants = append(variants, variant)
		settings, err := one.Settings()
		if err != nil {
			return nil, nil, err
		}
		name := settings.PromptConfig.PromptVersionID
		if known[name] {
			continue
		}
		if _, err := store.Prompt(ctx, name); err != nil {
			return nil, nil, unknownIsInvalid(fmt.Errorf("variant %q: %w (nothing was written)", one.ID, err))
		}
		known[name] = true
	}
	return prompts, variants, nil
}

// orUnknown makes nil of what is not in the store.
func orUnknown[T any](found T, err error) (*T, error) {
	if errors.Is(err, ErrUnknown) {
		return nil, nil
	}
	return &found, err
}

// changeOf is the change of something whose parts, by name, differ from those that the store has.
func changeOf(what, id string, known bool, parts []string) Change {
	c := Change{What: what, ID: id, Kind: Unchanged, Parts: parts}
	switch {
	case !known:
		c.Kind = Added
	case len(parts) > 0:
		c.Kind = Replaced
	}
	return c
}

func changedPrompt(before *PromptVersion, now PromptVersion) Change {
	var parts []string
	if before != nil {
		for _, part := range []struct{ name, before, now string }{
			{"file_path", before.FilePath, now.FilePath}, {"model_provider", before.ModelProvider, now.ModelProvider},
			{"model_name", before.ModelName, now.ModelName},
		} {
			if part.before != part.now {
				parts = append(parts, part.name)
			}
		}
		if !sameDocument(before.ConfigDefaults, now.ConfigDefaults) {
			parts = append(parts, "config_defaults")
		}
	}
	return changeOf("prompt version", now.ID, before != nil, parts)
}

func changedVariant(before *Variant, now Variant) Change {
	var parts []string
	if before != nil {
		if before.Name != now.Name {
			parts = append(parts, "name")
		}
		if before.ExperimentID != now.ExperimentID {
			parts = append(parts, "experiment_id")
		}
		if !sameDocument(before.Config, now.Config) {
			parts = append(parts, "config")
		}
	}
	return changeOf("variant", now.ID, before != nil, parts)
}

// sameDocument compares two JSON documents. Either may be missing.
func sameDocument(a, b json.RawMessage) bool {
	return len(a) == 0 && len(b) == 0 || len(a) > 0 && len(b) > 0 && source.SameJSON(a, b)
}
