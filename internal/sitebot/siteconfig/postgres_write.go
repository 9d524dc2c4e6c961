package siteconfig

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"rehearse/internal/sitebot/site"
	"rehearse/internal/source"
)

// migrationLock keeps two programs from creating the table at once, which PostgreSQL answers with an error.
const migrationLock = 0x72656865_61727365

// Migrate creates the table if there is none; one that is there stays as it is. A schema must exist.
func (p Postgres) Migrate(ctx context.Context) error {
	t, err := p.target()
	if err != nil {
		return err
	}
	return t.transact(ctx, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
			return err
		}
		// Asked first: `if not exists` refuses a user who may not create tables even when the table exists.
		var missing bool
		if err := tx.QueryRow(ctx, `select to_regclass($1) is null`, t.table).Scan(&missing); err != nil || !missing {
			return err
		}
		_, err := tx.Exec(ctx, `create table `+t.table+
			` (site text primary key, config jsonb not null, updated_at timestamptz not null default now())`)
		return err
	})
}

// Put inserts or replaces the configuration of a site, given as the content of its file, YAML or JSON. Without a name it is the
// configuration's. A faulty configuration, or one with a name of another site, is refused with a source.Problems.
func (p Postgres) Put(ctx context.Context, name string, file []byte) error {
	t, err := p.target()
	if err != nil {
		return err
	}
	key, config, err := t.prepare(name, file)
	if err != nil {
		return err
	}
	return t.transact(ctx, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		// Nobody else writes until the names of all sites are compared; reading goes on.
		if _, err := tx.Exec(ctx, `lock table `+t.table+` in share row exclusive mode`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `insert into `+t.table+` (site, config, updated_at) values ($1, $2::jsonb, now())
			on conflict (site) do update set config = excluded.config, updated_at = excluded.updated_at`, key, string(config)); err != nil {
			return err
		}
		c, err := t.scan(ctx, tx)
		if err != nil {
			return err
		}
		if err := c.accept(key); err != nil {
			return own{err}
		}
		return nil
	})
}

// prepare checks a file, and returns the name and the configuration that are stored.
func (t *target) prepare(name string, file []byte) (key string, config []byte, err error) {
	at := label(t.plain, name)
	if len(file) > maxConfig {
		_, err := site.Load(at, file)
		return "", nil, err
	}
	root, err := source.ParseYAML(at, file)
	if err != nil {
		return "", nil, err
	}
	var s *site.Site
	if had, _ := root.Get("site"); name != "" && had.Kind == source.Null {
		root = named(root, name)
		s, err = site.Load(at, encode(root))
		err = unplaced(err)
	} else {
		// From the author's own text, so that problems stand where the author reads them.
		s, err = site.Load(at, file)
	}
	if err != nil {
		return "", nil, err
	}
	if name != "" && normal(name) != s.Name {
		return "", nil, source.Problems{{
			File: at, Path: "site", Message: fmt.Sprintf("the configuration is of %q", s.Name), Hint: "store it under that name",
		}}
	}
	return s.Name, encode(root), nil
}

// accept reports what is wrong with the row of a site that was just written. Faults of other rows do not matter: they may be repaired later.
func (c *collection) accept(key string) error {
	at := slices.IndexFunc(c.rows, func(r row) bool { return r.site == key })
	if at < 0 {
		return fmt.Errorf("%s: the row %s was not kept: look for triggers and policies of the table", c.where, label(c.table, key))
	}
	written, faults := readRow(label(c.table, key), c.rows[at])
	if err := faults.Err(); err != nil {
		return err
	}
	c.rows = slices.Delete(c.rows, at, at+1)
	others, _ := c.parse()
	for _, other := range others {
		if _, err := site.NewLibrary(other, written); err != nil {
			return unplaced(err)
		}
	}
	return nil
}
