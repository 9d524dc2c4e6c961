package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

// Datasets returns the datasets that the store keeps. They end with the store.
func (s *Store) Datasets() *Datasets { return &Datasets{table: sqliteDatasets{s}} }

// sqliteDatasets are the tables of a file.
type sqliteDatasets struct{ store *Store }

func (t sqliteDatasets) place() string { return fileName(t.store.path) }

func (t sqliteDatasets) list(ctx context.Context, name string) (all []dataset.Entry, err error) {
	err = t.store.each(ctx,
		`SELECT name, description, created_at, updated_at, (SELECT count(*) FROM dataset_items WHERE dataset = name)
		FROM datasets WHERE name = ?1 OR ?1 = '' ORDER BY name`, []any{name},
		func(rows *sql.Rows) error {
			var d dataset.Entry
			var created, updated int64
			err := rows.Scan(&d.Name, &d.Description, &created, &updated, &d.Items)
			d.Created, d.Updated = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
			all = append(all, d)
			return err
		})
	return all, t.store.explain(ctx, "read datasets from", err)
}

const insertDataset = `INSERT INTO datasets (name, description, created_at, updated_at) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO NOTHING`

func (t sqliteDatasets) create(ctx context.Context, name, description string, now time.Time) error {
	err := t.store.exec(ctx, insertDataset, name, description, now.UnixMicro(), now.UnixMicro())
	return t.store.explain(ctx, "write a dataset to", err)
}

func (t sqliteDatasets) change(ctx context.Context, name string, o dataset.PutOptions,
	do func(datasetChanges) error) (known bool, err error) {
	var refused error // by do, which may not be the store's fault
	err = t.store.write(ctx, func(tx *sql.Tx) error {
		now := o.Now.UnixMicro()
		if o.Create {
			if _, err := tx.ExecContext(ctx, insertDataset, name, "", now, now); err != nil {
				return err
			}
		}
		done, err := tx.ExecContext(ctx, `UPDATE datasets SET updated_at = ? WHERE name = ?`, now, name)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		if known = n > 0; err != nil || !known {
			return err
		}
		refused = do(sqliteDatasetChanges{t, tx, name})
		return refused
	})
	if refused != nil {
		return known, refused
	}
	return known, t.store.explain(ctx, "write items to", err)
}

// sqliteDatasetChanges are the statements of a transaction.
type sqliteDatasetChanges struct {
	table sqliteDatasets
	tx    *sql.Tx
	name  string
}

func (c sqliteDatasetChanges) find(ctx context.Context, ids []string) (found []itemRow, err error) {
	defer func() { err = c.table.store.explain(ctx, "read items from", err) }()
	list, _ := json.Marshal(ids) // of strings it cannot fail
	rows, err := c.tx.QueryContext(ctx, `SELECT `+itemColumns+` FROM dataset_items
		WHERE dataset = ? AND id IN (SELECT value FROM json_each(?))`, c.name, string(list))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var i placedItem
		if err := i.scan(rows); err != nil {
			return nil, err
		}
		found = append(found, i.itemRow)
	}
	return found, rows.Err()
}

func (c sqliteDatasetChanges) put(ctx context.Context, rows []itemRow) (err error) {
	defer func() { err = c.table.store.explain(ctx, "write items to", err) }()
	statement, err := c.tx.PrepareContext(ctx,
		`INSERT INTO dataset_items (dataset, id, input, expected_output, metadata) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (dataset, id) DO UPDATE SET input = excluded.input, expected_output = excluded.expected_output, metadata = excluded.metadata`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, statement.Close()) }()
	for _, r := range rows {
		if _, err := statement.ExecContext(ctx, c.name, r.id, orNull(r.input), orNull(r.expected),
			orNull(r.metadata)); err != nil {
			return err
		}
	}
	return nil
}

func (c sqliteDatasetChanges) purge(ctx context.Context) (int, error) {
	done, err := c.tx.ExecContext(ctx, `DELETE FROM dataset_items WHERE dataset = ?`, c.name)
	if err != nil {
		return 0, c.table.store.explain(ctx, "delete items from", err)
	}
	n, err := done.RowsAffected()
	return int(n), err
}

func (t sqliteDatasets) erase(ctx context.Context, site, session string, now time.Time) (erased int64, err error) {
	const ofSession = `json_extract(metadata, '$.source.session') = ?1 AND coalesce(json_extract(metadata, '$.source.site'), ?2) = ?2`
	err = t.store.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE datasets SET updated_at = ?3
			WHERE name IN (SELECT dataset FROM dataset_items WHERE `+ofSession+`)`, session, site,
			now.UnixMicro()); err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, `DELETE FROM dataset_items WHERE `+ofSession, session, site)
		if err == nil {
			erased, err = done.RowsAffected()
		}
		return err
	})
	if err == nil && erased > 0 {
		err = t.store.truncateLog(ctx)
	}
	return erased, t.store.explain(ctx, "erase items from", err)
}

// itemColumns are in the order in which scan reads them.
const itemColumns = `position, id, coalesce(input, ''), coalesce(expected_output, ''), coalesce(metadata, '')`

func (i *placedItem) scan(row interface{ Scan(to ...any) error }) error {
	return row.Scan(&i.position, &i.id, &i.input, &i.expected, &i.metadata)
}

func (t sqliteDatasets) page(ctx context.Context, name string, after int64, limit int,
	take func(placedItem) bool) error {
	err := t.store.each(ctx, `SELECT `+itemColumns+
		` FROM dataset_items WHERE dataset = ? AND position > ? ORDER BY position LIMIT ?`, []any{name, after, limit},
		func(rows *sql.Rows) error {
			var i placedItem
			if err := i.scan(rows); err != nil {
				return err
			}
			if !take(i) {
				return errEnough
			}
			return nil
		})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return t.store.explain(ctx, "read items from", err)
}
