package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"rehearse/internal/replay"
)

// Variants returns the variants that the database keeps in the tables exp.variants and exp.prompt_versions. They end with p.
func (p *Postgres) Variants() *Variants { return &Variants{table: postgresVariants{p}} }

// postgresVariants are the tables, which may be an application's: all that is read is made text, whatever its type.
type postgresVariants struct{ db *Postgres }

func (t postgresVariants) place() string { return "PostgreSQL " + t.db.place.url }

// keyOrAll is followed by the key of a table; without an id there is no condition but that it has one.
func keyOrAll(key string) string {
	return ` WHERE ` + key + ` IS NOT NULL AND ($1 = '' OR ` + isKey(key) + `) ORDER BY ` + key + `::text COLLATE "C"`
}

func (t postgresVariants) variants(ctx context.Context, id string) ([]replay.Variant, error) {
	rows, _ := t.db.pool.Query(ctx, `SELECT id::text, coalesce(experiment_id::text, ''), coalesce(name::text, ''), coalesce(config::text, '')
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
		coalesce(model_name::text, ''), coalesce(config_defaults::text, '') FROM exp.prompt_versions`+keyOrAll("id"), id)
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
		"exp.variants needs the columns id, experiment_id, name and config, and exp.prompt_versions needs id, file_path, model_provider, model_name and config_defaults")
}

// explainColumns is explain for tables other than exp.events.
func (p *Postgres) explainColumns(ctx context.Context, op string, err error, columns string) error {
	err = p.explain(ctx, op, err)
	e, ok := errors.AsType[*PostgresError](err)
	refused, is := errors.AsType[*pgconn.PgError](err)
	if ok && is && refused.Code == undefinedColumn {
		e.Hint = columns
	}
	return err
}
