package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Variants keeps variants and versions of prompts, in a store's file or in a PostgreSQL database, with the same
// answers. It is safe for concurrent use and for several processes. Store.Variants and Postgres.Variants return it.
// Text and JSON come back as Events describes it. In PostgreSQL the tables exp.variants and exp.prompt_versions may
// belong to an application, with UUIDs as ids; NULL is then read as empty.
type Variants struct {
	table variantTable
}

var _ replay.Variants = (*Variants)(nil)

// variantTable is the part of Variants that differs between databases.
type variantTable interface {
	// variants returns all variants in the byte order of their ids, or with an id that variant, if it exists.
	variants(ctx context.Context, id string) ([]replay.Variant, error)
	prompts(ctx context.Context, id string) ([]replay.PromptVersion, error)
	putVariant(ctx context.Context, v variantRow) error
	putPrompt(ctx context.Context, p promptRow) error
	// place names the database in errors.
	place() string
}

// Variant returns the variant with the id. If there is none, the error wraps replay.ErrUnknown.
func (v *Variants) Variant(ctx context.Context, id string) (replay.Variant, error) {
	if id == "" {
		return replay.Variant{}, v.unknown("variant", id, "name one")
	}
	found, err := v.table.variants(ctx, plainText(id))
	if err == nil && len(found) == 0 {
		err = v.unknown("variant", id,
			"see `rehearse replay variant list`, or add it with `rehearse replay variant add`")
	}
	if err != nil {
		return replay.Variant{}, err
	}
	return found[0], nil
}

// Prompt returns the version of a prompt with the id. If there is none, the error wraps replay.ErrUnknown.
func (v *Variants) Prompt(ctx context.Context, id string) (replay.PromptVersion, error) {
	if id == "" {
		return replay.PromptVersion{}, v.unknown("prompt version", id, "name one")
	}
	found, err := v.table.prompts(ctx, plainText(id))
	if err == nil && len(found) == 0 {
		err = v.unknown("prompt version", id,
			"add it under prompt_versions of a file, with `rehearse replay variant add FILE`")
	}
	if err != nil {
		return replay.PromptVersion{}, err
	}
	return found[0], nil
}

func (v *Variants) unknown(what, id, hint string) error {
	return fmt.Errorf("look for %s %q in %s: %w; %s", what, shortened(id), v.table.place(), replay.ErrUnknown, hint)
}

// List returns all variants in the byte order of their ids.
func (v *Variants) List(ctx context.Context) ([]replay.Variant, error) {
	return v.table.variants(ctx, "")
}

// Prompts returns all versions of prompts in the byte order of their ids.
func (v *Variants) Prompts(ctx context.Context) ([]replay.PromptVersion, error) {
	return v.table.prompts(ctx, "")
}

// PutVariant keeps a variant, in place of an earlier one with its id. Its configuration is a JSON object of at most 1
// MB, or none.
func (v *Variants) PutVariant(ctx context.Context, one replay.Variant) error {
	row := variantRow{id: plainText(one.ID), experiment: plainText(one.ExperimentID), name: plainText(one.Name)}
	check := rowCheck{what: "variant", id: row.id}
	check.key("id", row.id)
	check.name("experiment_id", row.experiment)
	check.name("name", row.name)
	row.config = check.object("config", one.Config)
	if check.err != nil {
		return check.err
	}
	return v.table.putVariant(ctx, row)
}

// PutPrompt keeps a version of a prompt, in place of an earlier one with its id. Its defaults are a JSON object of at
// most 1 MB, or none.
func (v *Variants) PutPrompt(ctx context.Context, one replay.PromptVersion) error {
	row := promptRow{
		id: plainText(one.ID), path: plainText(one.FilePath), provider: plainText(one.ModelProvider),
		model: plainText(one.ModelName),
	}
	check := rowCheck{what: "prompt version", id: row.id}
	check.key("id", row.id)
	check.text("file_path", row.path, maxPath)
	check.name("model_provider", row.provider)
	check.name("model_name", row.model)
	row.defaults = check.object("config_defaults", one.ConfigDefaults)
	if check.err != nil {
		return check.err
	}
	return v.table.putPrompt(ctx, row)
}

// variantRow and promptRow are rows as databases keep them. JSON is "" for none.
type variantRow struct{ id, experiment, name, config string }

type promptRow struct{ id, path, provider, model, defaults string }

func (r variantRow) variant() replay.Variant {
	return replay.Variant{ID: r.id, ExperimentID: r.experiment, Name: r.name, Config: jsonOrNil(r.config)}
}

func (r promptRow) prompt() replay.PromptVersion {
	return replay.PromptVersion{
		ID: r.id, FilePath: r.path, ModelProvider: r.provider, ModelName: r.model,
		ConfigDefaults: jsonOrNil(r.defaults),
	}
}

// jsonOrNil returns the JSON of a column; nil if it is empty.
func jsonOrNil(text string) json.RawMessage {
	if text == "" || text == "null" {
		return nil
	}
	return json.RawMessage(text)
}
