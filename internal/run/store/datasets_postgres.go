package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

// Datasets returns the datasets that the database keeps in the tables exp.datasets and exp.dataset_items. They end with
// p.
func (p *Postgres) Datasets() *Datasets { return &Datasets{table: postgresDatasets{p}} }

type postgresDatasets struct{ db *Postgres }

func (t postgresDatasets) place() string { return t.db.server.String() }

func (t postgresDatasets) list(ctx context.Context, name string) ([]dataset.Entry, error) {
	rows, _ := t.db.pool.Query(ctx,
		`SELECT name, description, created_at, updated_at, (SELECT count(*) FROM exp.dataset_items WHERE dataset = name)
		FROM exp.datasets WHERE name = $1 OR $1 = '' ORDER BY name`, name) // CollectRows returns its error
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d dataset.Entry, err error) {
		err = row.Scan(&d.Name, &d.Description, &d.Created, &d.Updated, &d.Items)
		d.Created, d.Updated = d.Created.UTC(), d.Updated.UTC()
		return d, err
	})
	return all, t.db.explain(ctx, "read datasets from", err)
}

const insertPostgresDataset = `INSERT INTO exp.datasets (name, description, created_at, updated_at) VALUES ($1, $2, $3, $3)
	ON CONFLICT (name) DO NOTHING`

func (t postgresDatasets) create(ctx context.Context, name, description string, now time.Time) error {
	_, err := t.db.pool.Exec(ctx, insertPostgresDataset, name, description, now)
	return t.db.explain(ctx, "write a dataset to", err)
}

func (t postgresDatasets) change(ctx context.Context, name string, o dataset.PutOptions,
	do func(datasetChanges) error) (known bool, err error) {
	var refused error // by do, which may not be the server's fault
	err = pgx.BeginFunc(ctx, t.db.pool, func(tx pgx.Tx) error {
		if o.Create {
			if _, err := tx.Exec(ctx, insertPostgresDataset, name, "", o.Now); err != nil {
				return err
			}
		}
		// Another writer waits for the row here. So items become visible in the order of their positions, and no reader
		// misses one.
		done, err := tx.Exec(ctx, `UPDATE exp.datasets SET updated_at = $2 WHERE name = $1`, name, o.Now)
		if known = done.RowsAffected() > 0; err != nil || !known {
			return err
		}
		refused = do(postgresDatasetChanges{t, tx, name})
		return refused
	})
	if refused != nil {
		return known, refused
	}
	return known && err == nil, t.db.explain(ctx, "write items to", err)
}

func (t postgresDatasets) erase(ctx context.Context, site, session string, now time.Time) (int64, error) {
	done, err := t.db.pool.Exec(ctx, `WITH erased AS (
			DELETE FROM exp.dataset_items
				WHERE metadata #>> '{source,session}' = $1 AND coalesce(metadata #>> '{source,site}', $2) = $2 RETURNING dataset
		) UPDATE exp.datasets SET updated_at = $3 WHERE name IN (SELECT dataset FROM erased)`, session, site, now)
	return done.RowsAffected(), t.db.explain(ctx, "erase items from", err)
}

// postgresDatasetChanges are the statements of a transaction.
type postgresDatasetChanges struct {
	table postgresDatasets
	tx    pgx.Tx
	name  string
}

// itemText are the columns of an item as text, in the order in which scan reads them.
const itemText = `position, id, coalesce(input::text, ''), coalesce(expected_output::text, ''), coalesce(metadata::text, '')`

func (c postgresDatasetChanges) find(ctx context.Context, ids []string) ([]itemRow, error) {
	rows, _ := c.tx.Query(ctx, `SELECT `+itemText+` FROM exp.dataset_items WHERE dataset = $1 AND id = ANY ($2)`,
		c.name, ids)
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (itemRow, error) {
		var i placedItem
		err := i.scan(row)
		return i.itemRow, err
	})
	return found, c.table.db.explain(ctx, "read items from", err)
}

func (c postgresDatasetChanges) put(ctx context.Context, rows []itemRow) error {
	var text [4][]*string
	for i := range rows {
		for column, value := range []*string{&rows[i].id, &rows[i].input, &rows[i].expected, &rows[i].metadata} {
			if *value == "" {
				value = nil
			}
			text[column] = append(text[column], value)
		}
	}
	_, err := c.tx.Exec(ctx, `INSERT INTO exp.dataset_items (dataset, id, input, expected_output, metadata)
		SELECT $1, a, b::json, c::json, d::json
		FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS incoming (a, b, c, d, place) ORDER BY place
		ON CONFLICT (dataset, id) DO UPDATE SET input = excluded.input, expected_output = excluded.expected_output, metadata = excluded.metadata`,
		c.name, text[0], text[1], text[2], text[3])
	return c.table.db.explain(ctx, "write items to", err)
}

func (c postgresDatasetChanges) purge(ctx context.Context) (int, error) {
	done, err := c.tx.Exec(ctx, `DELETE FROM exp.dataset_items WHERE dataset = $1`, c.name)
	return int(done.RowsAffected()), c.table.db.explain(ctx, "delete items from", err)
}

func (t postgresDatasets) page(ctx context.Context, name string, after int64, limit int,
	take func(placedItem) bool) error {
	err := t.db.page(ctx,
		`SELECT `+itemText+` FROM exp.dataset_items WHERE dataset = $1 AND position > $2 ORDER BY position LIMIT $3`,
		[]any{name, after, limit}, func(rows pgx.Rows) (goOn bool, err error) {
			var i placedItem
			err = i.scan(rows)
			return err == nil && take(i), err
		})
	return t.db.explain(ctx, "read items from", err)
}
