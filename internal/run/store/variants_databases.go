package store

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Variants returns the variants that the store keeps. They end with the store.
func (s *Store) Variants() *Variants { return &Variants{table: sqliteVariants{s}} }

// sqliteVariants are the tables of a file.
type sqliteVariants struct{ store *Store }

func (t sqliteVariants) place() string { return fileName(t.store.path) }

func (t sqliteVariants) variants(ctx context.Context, id string) (all []replay.Variant, err error) {
	err = t.store.each(ctx,
		`SELECT id, experiment_id, name, coalesce(config, '') FROM variants WHERE id = ?1 OR ?1 = '' ORDER BY id`,
		[]any{id},
		func(rows *sql.Rows) error {
			var r variantRow
			err := rows.Scan(&r.id, &r.experiment, &r.name, &r.config)
			all = append(all, r.variant())
			return err
		})
	return all, t.store.explain(ctx, "read variants from", err)
}

func (t sqliteVariants) prompts(ctx context.Context, id string) (all []replay.PromptVersion, err error) {
	err = t.store.each(ctx,
		`SELECT id, file_path, model_provider, model_name, coalesce(config_defaults, '') FROM prompt_versions
		WHERE id = ?1 OR ?1 = '' ORDER BY id`, []any{id},
		func(rows *sql.Rows) error {
			var r promptRow
			err := rows.Scan(&r.id, &r.path, &r.provider, &r.model, &r.defaults)
			all = append(all, r.prompt())
			return err
		})
	return all, t.store.explain(ctx, "read prompt versions from", err)
}

func (t sqliteVariants) putVariant(ctx context.Context, r variantRow) error {
	err := t.store.exec(ctx, `INSERT INTO variants (id, experiment_id, name, config) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET experiment_id = excluded.experiment_id, name = excluded.name, config = excluded.config`,
		r.id, r.experiment, r.name, orNull(r.config))
	return t.store.explain(ctx, "write a variant to", err)
}

func (t sqliteVariants) putPrompt(ctx context.Context, r promptRow) error {
	err := t.store.exec(ctx,
		`INSERT INTO prompt_versions (id, file_path, model_provider, model_name, config_defaults) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET file_path = excluded.file_path, model_provider = excluded.model_provider,
			model_name = excluded.model_name, config_defaults = excluded.config_defaults`,
		r.id, r.path, r.provider, r.model, orNull(r.defaults))
	return t.store.explain(ctx, "write a prompt version to", err)
}

// Variants returns the variants that the database keeps in the tables exp.variants and exp.prompt_versions. They end
// with p.
func (p *Postgres) Variants() *Variants { return &Variants{table: postgresVariants{p}} }

// postgresVariants are the tables of variants. They may belong to an application, so every column is read as text,
// whatever its type.
type postgresVariants struct{ db *Postgres }

func (t postgresVariants) place() string { return t.db.server.String() }

// keyOrAll returns the condition that a row has the id of the first argument, and the order. Without an id, every row
// with a key matches.
func keyOrAll(key string) string {
	return ` WHERE ` + key + ` IS NOT NULL AND ($1 = '' OR ` + isKey(key) + `) ORDER BY ` + key + `::text COLLATE "C"`
}

func (t postgresVariants) variants(ctx context.Context, id string) ([]replay.Variant, error) {
	rows, _ := t.db.pool.Query(ctx,
		`SELECT id::text, coalesce(experiment_id::text, ''), coalesce(name::text, ''), coalesce(config::text, '')
		FROM exp.variants`+keyOrAll("id"), id) // CollectRows returns its error
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (replay.Variant, error) {
		var r variantRow
		err := row.Scan(&r.id, &r.experiment, &r.name, &r.config)
		return r.variant(), err
	})
	return all, t.explain(ctx, "read variants from", err)
}

func (t postgresVariants) prompts(ctx context.Context, id string) ([]replay.PromptVersion, error) {
	rows, _ := t.db.pool.Query(ctx, `SELECT id::text, coalesce(file_path::text, ''), coalesce(model_provider::text, ''),
		coalesce(model_name::text, ''), coalesce(config_defaults::text, '') FROM exp.prompt_versions`+
		keyOrAll("id"), id)
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (replay.PromptVersion, error) {
		var r promptRow
		err := row.Scan(&r.id, &r.path, &r.provider, &r.model, &r.defaults)
		return r.prompt(), err
	})
	return all, t.explain(ctx, "read prompt versions from", err)
}

func (t postgresVariants) putVariant(ctx context.Context, r variantRow) error {
	err := t.db.upsert(ctx, "exp.variants", "id", r.id, []cell{
		{column: "experiment_id", value: orNull(r.experiment)},
		{column: "name", value: orNull(r.name)},
		{column: "config", value: orNull(r.config)},
	})
	return t.explain(ctx, "write a variant to", err)
}

func (t postgresVariants) putPrompt(ctx context.Context, r promptRow) error {
	err := t.db.upsert(ctx, "exp.prompt_versions", "id", r.id, []cell{
		{column: "file_path", value: r.path},
		{column: "model_provider", value: r.provider},
		{column: "model_name", value: r.model},
		{column: "config_defaults", value: orNull(r.defaults)},
	})
	return t.explain(ctx, "write a prompt version to", err)
}

func (t postgresVariants) explain(ctx context.Context, op string, err error) error {
	return t.db.explainColumns(ctx, op, err,
		"exp.variants needs the columns id, experiment_id, name and config, and exp.prompt_versions needs id, "+
			"file_path, model_provider, model_name and config_defaults")
}
