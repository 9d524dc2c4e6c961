package store

import (
	"context"
	"database/sql"
	"errors"

	"rehearse/internal/replay"
)

// Variants returns the variants that the store keeps. They end with the store.
func (s *Store) Variants() *Variants { return &Variants{table: sqliteVariants{s}} }

// sqliteVariants are the tables of a file.
type sqliteVariants struct{ store *Store }

func (t sqliteVariants) place() string { return "store " + t.store.path }

func (t sqliteVariants) variants(ctx context.Context, id string) (all []replay.Variant, err error) {
	err = t.store.each(ctx, `SELECT id, experiment_id, name, coalesce(config, '') FROM variants WHERE id = ?1 OR ?1 = '' ORDER BY id`, []any{id},
		func(rows *sql.Rows) error {
			var r variantRow
			err := rows.Scan(&r.id, &r.experiment, &r.name, &r.config)
			all = append(all, r.variant())
			return err
		})
	return all, t.store.explain(ctx, "read variants from", err)
}

func (t sqliteVariants) prompts(ctx context.Context, id string) (all []replay.PromptVersion, err error) {
	err = t.store.each(ctx, `SELECT id, file_path, model_provider, model_name, coalesce(config_defaults, '') FROM prompt_versions
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
	err := t.store.exec(ctx, `INSERT INTO prompt_versions (id, file_path, model_provider, model_name, config_defaults) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET file_path = excluded.file_path, model_provider = excluded.model_provider,
			model_name = excluded.model_name, config_defaults = excluded.config_defaults`,
		r.id, r.path, r.provider, r.model, orNull(r.defaults))
	return t.store.explain(ctx, "write a prompt version to", err)
}

// each reads the rows of a query.
func (s *Store) each(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) (err error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// exec runs one statement that writes.
func (s *Store) exec(ctx context.Context, query string, args ...any) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
}
