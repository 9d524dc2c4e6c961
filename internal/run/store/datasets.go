package store

import (
	"context"
	"fmt"
	"iter"
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

// Datasets keeps datasets and their items, in a store's file or in a PostgreSQL database, with the same answers. It is
// safe for concurrent use and for several processes. Store.Datasets and Postgres.Datasets give it.
//
// Items come in the order in which they were added; a replaced item keeps its place. Text and JSON come back as Events
// describes it, but JSON that needs no change comes back as it was written. Parts that are null come back as nil.
type Datasets struct {
	table datasetTable
}

var _ dataset.Store = (*Datasets)(nil)

// datasetTable is the part of Datasets that differs between databases.
type datasetTable interface {
	// list returns all datasets in the byte order of their names. With a name it returns that dataset, if it exists.
	list(ctx context.Context, name string) ([]dataset.Entry, error)
	// create adds a dataset unless it exists.
	create(ctx context.Context, name, description string, now time.Time) error
	// change calls do within a transaction and records the time of the change. Only one call at a time changes a
	// dataset. It reports whether the dataset exists. It does not call do for a missing dataset, unless the options
	// create it.
	change(ctx context.Context, name string, o dataset.PutOptions,
		do func(datasetChanges) error) (known bool, err error)
	// erase deletes the items that say they were made of a session, of this site or of one that is not named. It
	// returns how many there were.
	erase(ctx context.Context, site, session string, now time.Time) (int64, error)
	// page hands the items of a dataset behind a position, in their order, until take returns false.
	page(ctx context.Context, name string, after int64, limit int, take func(placedItem) bool) error
	// place names the database in errors.
	place() string
}

// datasetChanges are the statements of a transaction that changes a dataset.
type datasetChanges interface {
	// find returns those of the items that exist.
	find(ctx context.Context, ids []string) ([]itemRow, error)
	// put adds items in their order, or replaces those that exist. No two have the same id.
	put(ctx context.Context, rows []itemRow) error
	// purge deletes every item and returns how many there were.
	purge(ctx context.Context) (int, error)
}

// List returns all datasets in the byte order of their names.
func (d *Datasets) List(ctx context.Context) ([]dataset.Entry, error) { return d.table.list(ctx, "") }

// Dataset returns the entry of one dataset. If it does not exist, the error wraps dataset.ErrUnknown.
func (d *Datasets) Dataset(ctx context.Context, name string) (dataset.Entry, error) {
	if name == "" {
		return dataset.Entry{}, d.unknown(name)
	}
	found, err := d.table.list(ctx, plainText(name))
	if err == nil && len(found) == 0 {
		err = d.unknown(name)
	}
	if err != nil {
		return dataset.Entry{}, err
	}
	return found[0], nil
}

func (d *Datasets) unknown(name string) error {
	return fmt.Errorf("look for the dataset %q in %s: %w", shortened(name), d.table.place(), dataset.ErrUnknown)
}

// Create makes a dataset without items. A dataset that exists stays as it is.
func (d *Datasets) Create(ctx context.Context, name, description string, now time.Time) error {
	check := checkDataset(name)
	check.text("description", description, maxDescription)
	if check.err != nil {
		return check.err
	}
	return d.table.create(ctx, plainText(name), plainText(description), now)
}

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
			return d.table.page(ctx, plainText(name), after, limit, func(item placedItem) bool {
				after = item.position
				return take(item)
			})
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
	err = d.change(ctx, name, o, func(tx datasetChanges) error {
		for part := range itemParts(rows) {
			counted, err := putPart(ctx, tx, part)
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
func putPart(ctx context.Context, tx datasetChanges, rows []itemRow) (change dataset.Change, err error) {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].id
	}
	found, err := tx.find(ctx, ids)
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
	return change, tx.put(ctx, different)
}

// EraseSession deletes the items that were made of a session of a chatbot, in all datasets, so that nothing of them is
// left in the file of a store. They tell it by the source in their metadata. There may be none.
func (d *Datasets) EraseSession(ctx context.Context, site, session string, now time.Time) error {
	_, err := d.table.erase(ctx, plainText(site), plainText(session), now)
	return err
}

// Update puts the item that change returns. change gets the item that has the ID already, or nil. No other caller
// changes the dataset in between. An error of change is returned as it is, and nothing is changed.
func (d *Datasets) Update(
	ctx context.Context, name, id string, o dataset.PutOptions,
	change func(old *dataset.Record) (dataset.Record, error),
) error {
	return d.change(ctx, name, o, func(tx datasetChanges) error {
		found, err := tx.find(ctx, []string{plainText(id)})
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
		return tx.put(ctx, rows)
	})
}

// Purge deletes every item of a dataset and returns how many there were. The dataset itself stays. If it does not
// exist, the error wraps dataset.ErrUnknown.
func (d *Datasets) Purge(ctx context.Context, name string, now time.Time) (deleted int, err error) {
	err = d.change(ctx, name, dataset.PutOptions{Now: now}, func(tx datasetChanges) error {
		deleted, err = tx.purge(ctx)
		return err
	})
	if err != nil {
		return 0, err
	}
	return deleted, nil
}

func (d *Datasets) change(ctx context.Context, name string, o dataset.PutOptions, do func(datasetChanges) error) error {
	if check := checkDataset(name); o.Create && check.err != nil {
		return check.err
	}
	known, err := d.table.change(ctx, plainText(name), o, do)
	if err == nil && !known {
		err = d.unknown(name)
	}
	return err
}
