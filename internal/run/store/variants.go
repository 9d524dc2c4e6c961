package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Variants stores variants and versions of prompts, in a store's file or in a PostgreSQL database, with the same
// answers. It is safe for concurrent use and for several processes. Store.Variants and Postgres.Variants return it.
// Text and JSON come back as Events describes it. In PostgreSQL the tables exp.variants and exp.prompt_versions may
// belong to an application, with UUIDs as ids; NULL is then read as empty.
type Variants struct{ db database }

var _ replay.Variants = (*Variants)(nil)

// Variants returns the variants that the store has. They end with the store.
func (s *Store) Variants() *Variants { return &Variants{sqliteDatabase{store: s}} }

// Variants returns the variants that the database stores in the tables exp.variants and exp.prompt_versions. They end
// with p.
func (p *Postgres) Variants() *Variants {
	return &Variants{postgresDatabase{
		p, "exp.variants needs the columns id, experiment_id, name and config, and exp.prompt_versions needs id, " +
			"file_path, model_provider, model_name and config_defaults",
	}}
}

// Variant returns the variant with the id. If there is none, the error wraps replay.ErrUnknown.
func (v *Variants) Variant(ctx context.Context, id string) (replay.Variant, error) {
	if id == "" {
		return replay.Variant{}, v.unknown("variant", id, "name one")
	}
	found, err := v.variants(ctx, plainText(id))
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
	found, err := v.prompts(ctx, plainText(id))
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
	return fmt.Errorf("look for %s %q in %s: %w; %s", what, shortened(id), v.db.name(), replay.ErrUnknown, hint)
}

// List returns all variants in the byte order of their ids.
func (v *Variants) List(ctx context.Context) ([]replay.Variant, error) { return v.variants(ctx, "") }

// Prompts returns all versions of prompts in the byte order of their ids.
func (v *Variants) Prompts(ctx context.Context) ([]replay.PromptVersion, error) {
	return v.prompts(ctx, "")
}

// variants returns all variants in the byte order of their ids, or with an id that variant, if it exists.
func (v *Variants) variants(ctx context.Context, id string) (all []replay.Variant, err error) {
	err = v.db.read(ctx, `SELECT id::text, coalesce(experiment_id::text, ''), coalesce(name::text, ''),
			coalesce(config::text, '')
		FROM exp.variants`+v.withIDOrAll(), []any{id}, func(row scanner) error {
		var one replay.Variant
		var config string
		err := row.Scan(&one.ID, &one.ExperimentID, &one.Name, &config)
		one.Config = jsonOrNil(config)
		all = append(all, one)
		return err
	})
	return all, v.db.explain(ctx, "read variants from", err)
}

func (v *Variants) prompts(ctx context.Context, id string) (all []replay.PromptVersion, err error) {
	err = v.db.read(ctx, `SELECT id::text, coalesce(file_path::text, ''), coalesce(model_provider::text, ''),
			coalesce(model_name::text, ''), coalesce(config_defaults::text, '')
		FROM exp.prompt_versions`+v.withIDOrAll(), []any{id}, func(row scanner) error {
		var one replay.PromptVersion
		var defaults string
		err := row.Scan(&one.ID, &one.FilePath, &one.ModelProvider, &one.ModelName, &defaults)
		one.ConfigDefaults = jsonOrNil(defaults)
		all = append(all, one)
		return err
	})
	return all, v.db.explain(ctx, "read prompt versions from", err)
}

// withIDOrAll is the condition that a row has the id of the first argument, and the order. Without an id, every row
// that has one matches.
func (v *Variants) withIDOrAll() string {
	return ` WHERE id IS NOT NULL AND ($1::text = '' OR ` + v.db.equalsID("id", "$1") +
		`) ORDER BY id::text COLLATE "C"`
}

// PutVariant stores a variant, in place of an earlier one with its id. Its configuration is a JSON object of at most 1
// MB, or none.
func (v *Variants) PutVariant(ctx context.Context, one replay.Variant) error {
	id, experiment, name := plainText(one.ID), plainText(one.ExperimentID), plainText(one.Name)
	check := rowCheck{what: "variant", id: id}
	check.key("id", id)
	check.name("experiment_id", experiment)
	check.name("name", name)
	config := check.object("config", one.Config)
	if check.err != nil {
		return check.err
	}
	return v.db.explain(ctx, "write a variant to", replaceRow(ctx, v.db, "exp.variants", "id", id, []cell{
		{column: "experiment_id", value: v.db.optional(experiment)},
		{column: "name", value: v.db.optional(name)},
		{column: "config", value: orNull(config)},
	}, nil))
}

// PutPrompt stores a version of a prompt, in place of an earlier one with its id. Its defaults are a JSON object of at
// most 1 MB, or none.
func (v *Variants) PutPrompt(ctx context.Context, one replay.PromptVersion) error {
	id, path, provider, model := plainText(one.ID), plainText(one.FilePath), plainText(one.ModelProvider),
		plainText(one.ModelName)
	check := rowCheck{what: "prompt version", id: id}
	check.key("id", id)
	check.text("file_path", path, maxPath)
	check.name("model_provider", provider)
	check.name("model_name", model)
	defaults := check.object("config_defaults", one.ConfigDefaults)
	if check.err != nil {
		return check.err
	}
	return v.db.explain(ctx, "write a prompt version to", replaceRow(ctx, v.db, "exp.prompt_versions", "id", id, []cell{
		{column: "file_path", value: path},
		{column: "model_provider", value: provider},
		{column: "model_name", value: model},
		{column: "config_defaults", value: orNull(defaults)},
	}, nil))
}

// jsonOrNil returns the JSON of a column; nil if it is empty.
func jsonOrNil(text string) json.RawMessage {
	if text == "" || text == "null" {
		return nil
	}
	return json.RawMessage(text)
}
