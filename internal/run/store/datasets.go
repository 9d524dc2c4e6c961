package store

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

// Bounds of a dataset.
const (
	// maxItemID bounds the IDs of items, maxItem the sum of an item's parts, in bytes. A file has the same bounds.
	maxItemID = 1000
	maxItem   = 16 << 20
	// maxDescription bounds descriptions, in bytes.
	maxDescription = 64 << 10
)

// Datasets stores datasets and their items, in a store's file or in a PostgreSQL database, with the same answers. It is
// safe for concurrent use and for several processes. Store.Datasets and Postgres.Datasets return it.
//
// Items come in the order in which they were added; a replaced item keeps its place. Text and JSON come back as Events
// describes it, but JSON that needs no change comes back as it was written. Parts that are null come back as nil.
type Datasets struct{ db database }

var _ dataset.Store = (*Datasets)(nil)

// Datasets returns the datasets that the store has. They end with the store.
func (s *Store) Datasets() *Datasets { return &Datasets{sqliteDatabase{store: s}} }

// Datasets returns the datasets that the database stores in the tables exp.datasets and exp.dataset_items. They end
// with p.
func (p *Postgres) Datasets() *Datasets { return &Datasets{postgresDatabase{db: p}} }

// List returns all datasets in the byte order of their names.
func (d *Datasets) List(ctx context.Context) ([]dataset.Entry, error) { return d.list(ctx, "") }

// Dataset returns the entry of one dataset. If it does not exist, the error wraps dataset.ErrUnknown.
func (d *Datasets) Dataset(ctx context.Context, name string) (dataset.Entry, error) {
	if name == "" {
		return dataset.Entry{}, d.unknown(name)
	}
	found, err := d.list(ctx, plainText(name))
	if err == nil && len(found) == 0 {
		err = d.unknown(name)
	}
	if err != nil {
		return dataset.Entry{}, err
	}
	return found[0], nil
}

// list returns all datasets in the byte order of their names, or with a name that dataset, if it exists.
func (d *Datasets) list(ctx context.Context, name string) (all []dataset.Entry, err error) {
	err = d.db.read(ctx,
		`SELECT name, description, created_at, updated_at, (SELECT count(*) FROM exp.dataset_items WHERE dataset = name)
		FROM exp.datasets WHERE name = $1 OR $1 = '' ORDER BY name`, []any{name}, func(row scanner) error {
			var e dataset.Entry
			err := row.Scan(&e.Name, &e.Description, storedTime{&e.Created}, storedTime{&e.Updated}, &e.Items)
			all = append(all, e)
			return err
		})
	return all, d.db.explain(ctx, "read datasets from", err)
}

func (d *Datasets) unknown(name string) error {
	return fmt.Errorf("look for the dataset %q in %s: %w", shortened(name), d.db.name(), dataset.ErrUnknown)
}

// Create makes a dataset without items. A dataset that exists stays as it is.
func (d *Datasets) Create(ctx context.Context, name, description string, now time.Time) error {
	check := checkDataset(name)
	check.text("description", description, maxDescription)
	if check.err != nil {
		return check.err
	}
	_, err := d.db.exec(ctx, insertDataset, plainText(name), plainText(description), d.db.time(now))
	return d.db.explain(ctx, "write a dataset to", err)
}

const insertDataset = `INSERT INTO exp.datasets (name, description, created_at, updated_at) VALUES ($1, $2, $3, $3)
	ON CONFLICT (name) DO NOTHING`

func checkDataset(name string) rowCheck {
	check := rowCheck{what: "dataset", id: name}
	if name == "" {
		check.errorf("it has no name: give it one, so that it can be found")
	}
	check.text("name", name, dataset.MaxName)
	return check
}

// Items yields the items of a dataset in the order in which they were added. It reads them in pages, so that it holds
// no connection while the caller works. Items that are added meanwhile may be missing. If the dataset does not exist,
// the error wraps dataset.ErrUnknown. After an error it yields nothing more.
func (d *Datasets) Items(ctx context.Context, name string) iter.Seq2[dataset.Record, error] {
	return func(yield func(dataset.Record, error) bool) {
		if _, err := d.Dataset(ctx, name); err != nil {
			yield(dataset.Record{}, err)
			return
		}
		after := int64(0)
		items := pages[placedItem]{size: func(i placedItem) int {
			return i.size()
		}, read: func(ctx context.Context, limit int, take func(placedItem) bool) error {
			err := d.db.page(ctx, `SELECT `+itemColumns+` FROM exp.dataset_items
				WHERE dataset = $1 AND position > $2 ORDER BY position LIMIT $3`, []any{plainText(name), after, limit},
				func(row scanner) error {
					item, err := scanItem(row)
					if after = item.position; err == nil && !take(item) {
						return errEnough
					}
					return err
				})
			return d.db.explain(ctx, "read items from", err)
		}}
		for item, err := range items.each(ctx) {
			if !yield(item.record(), err) {
				return
			}
		}
	}
}

// Put adds items to a dataset, all or none. An item with a known ID replaces the earlier one; of several with the same
// ID, the last counts. Unchanged items are not written. If the dataset does not exist, the error wraps
// dataset.ErrUnknown.
func (d *Datasets) Put(ctx context.Context, name string, items []dataset.Record,
	o dataset.PutOptions) (change dataset.Change, err error) {
	rows, err := newItemRows(items)
	if err != nil {
		return dataset.Change{}, err
	}
	err = d.change(ctx, name, o, func(tx transaction) error {
		for part := range itemParts(rows) {
			counted, err := d.putPart(ctx, tx, name, part)
			if err != nil {
				return err
			}
			change.New, change.Changed, change.Unchanged = change.New+counted.New, change.Changed+counted.Changed,
				change.Unchanged+counted.Unchanged
		}
		return nil
	})
	if err != nil {
		return dataset.Change{}, err
	}
	return change, nil
}

// putPart puts the new and the changed ones of a few items.
func (d *Datasets) putPart(ctx context.Context, tx transaction, name string,
	rows []itemRow) (change dataset.Change, err error) {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].id
	}
	found, err := d.find(ctx, tx, name, ids)
	if err != nil {
		return change, err
	}
	there := make(map[string]itemRow, len(found))
	for _, row := range found {
		there[row.id] = row
	}
	var different []itemRow
	for _, row := range rows {
		old, known := there[row.id]
		switch {
		case !known:
			change.New++
		case row.same(old):
			change.Unchanged++
			continue
		default:
			change.Changed++
		}
		different = append(different, row)
	}
	if len(different) == 0 {
		return change, nil
	}
	return change, d.putRows(ctx, tx, name, different)
}

// EraseSession deletes the items that were made of a session of a chatbot, in all datasets, so that nothing of them is
// left in the file of a store. They tell it by the source in their metadata. There may be none.
func (d *Datasets) EraseSession(ctx context.Context, site, session string, now time.Time) error {
	erased := false
	err := d.db.write(ctx, func(tx transaction) error {
		var names [][]any
		err := tx.read(ctx, `DELETE FROM exp.dataset_items WHERE metadata -> 'source' ->> 'session' = $1
			AND coalesce(metadata -> 'source' ->> 'site', $2) = $2 RETURNING dataset`,
			[]any{plainText(session), plainText(site)}, func(row scanner) error {
				erased = true
				var name string
				err := row.Scan(&name)
				if !slices.ContainsFunc(names, func(args []any) bool { return args[0] == name }) {
					names = append(names, []any{name, d.db.time(now)})
				}
				return err
			})
		if err != nil {
			return err
		}
		return tx.each(ctx, `UPDATE exp.datasets SET updated_at = $2 WHERE name = $1`, names, nil)
	})
	if err == nil && erased {
		err = d.db.truncateLog(ctx)
	}
	return d.db.explain(ctx, "erase items from", err)
}

// Update puts the item that change returns. change gets the item that has the ID already, or nil. No other caller
// changes the dataset in between. An error of change is returned as it is, and nothing is changed.
func (d *Datasets) Update(
	ctx context.Context, name, id string, o dataset.PutOptions,
	change func(old *dataset.Record) (dataset.Record, error),
) error {
	return d.change(ctx, name, o, func(tx transaction) error {
		found, err := d.find(ctx, tx, name, []string{plainText(id)})
		if err != nil {
			return err
		}
		var old *dataset.Record
		if len(found) > 0 {
			old = new(found[0].record())
		}
		changed, err := change(old)
		if err != nil {
			return err
		}
		rows, err := newItemRows([]dataset.Record{changed})
		if err != nil {
			return err
		}
		return d.putRows(ctx, tx, name, rows)
	})
}

// Purge deletes every item of a dataset and returns how many there were. The dataset itself stays. If it does not
// exist, the error wraps dataset.ErrUnknown.
func (d *Datasets) Purge(ctx context.Context, name string, now time.Time) (deleted int, err error) {
	err = d.change(ctx, name, dataset.PutOptions{Now: now}, func(tx transaction) error {
		n, err := tx.exec(ctx, `DELETE FROM exp.dataset_items WHERE dataset = $1`, plainText(name))
		deleted = int(n)
		return d.db.explain(ctx, "delete items from", err)
	})
	if err != nil {
		return 0, err
	}
	return deleted, nil
}

// change calls do within a transaction and records the time of the change. Only one call at a time changes a dataset.
// An error of do is returned as it is. It does not call do for a missing dataset, unless the options create it.
func (d *Datasets) change(ctx context.Context, name string, o dataset.PutOptions, do func(transaction) error) error {
	if check := checkDataset(name); o.Create && check.err != nil {
		return check.err
	}
	var refused error // by do, which may not be the database's fault
	stored, known := plainText(name), false
	err := d.db.write(ctx, func(tx transaction) error {
		if o.Create {
			if _, err := tx.exec(ctx, insertDataset, stored, "", d.db.time(o.Now)); err != nil {
				return err
			}
		}
		// Another writer waits for the row here. So items become visible in the order of their positions, and no reader
		// misses one.
		changed, err := tx.exec(ctx, `UPDATE exp.datasets SET updated_at = $2 WHERE name = $1`, stored,
			d.db.time(o.Now))
		if known = changed > 0; err != nil || !known {
			return err
		}
		refused = do(tx)
		return refused
	})
	switch {
	case refused != nil:
		return refused
	case err == nil && !known:
		return d.unknown(name)
	}
	return d.db.explain(ctx, "write items to", err)
}

// find returns those of the items that exist.
func (d *Datasets) find(ctx context.Context, tx transaction, name string, ids []string) (found []itemRow, err error) {
	oneOf, list := d.db.oneOf("id", "$2", ids)
	err = tx.read(ctx, `SELECT `+itemColumns+` FROM exp.dataset_items WHERE dataset = $1 AND `+oneOf,
		[]any{plainText(name), list}, func(row scanner) error {
			item, err := scanItem(row)
			found = append(found, item.itemRow)
			return err
		})
	return found, d.db.explain(ctx, "read items from", err)
}

// putRows adds items in their order, or replaces those that exist. No two have the same id.
func (d *Datasets) putRows(ctx context.Context, tx transaction, name string, rows []itemRow) error {
	lists := make([][]string, len(rows))
	for i, r := range rows {
		lists[i] = []string{plainText(name), r.id, r.input, r.expected, r.metadata}
	}
	return d.db.explain(ctx, "write items to", tx.upsert(ctx, "dataset_items",
		[]string{"dataset", "id", "input json", "expected_output json", "metadata json"}, 2, lists))
}

// itemColumns are in the order in which scanItem reads them.
const itemColumns = `position, id, coalesce(input::text, ''), coalesce(expected_output::text, ''), coalesce(metadata::text, '')`

func scanItem(row scanner) (i placedItem, err error) {
	err = row.Scan(&i.position, &i.id, &i.input, &i.expected, &i.metadata)
	return i, err
}
