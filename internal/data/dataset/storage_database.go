package dataset

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// stored is the place of a dataset in a store.
type stored struct {
	places *Stores
	store  Store
	name   Name
	create bool
}

// Records yields the items in the order in which they were added.
func (s *stored) Records(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		read := 0
		for r, err := range s.store.Items(ctx, s.name.Dataset) {
			if err == nil {
				read++
				s.places.done("items read from "+s.name.Dataset, read)
			}
			if !yield(r, s.reading(err)) || err != nil {
				return
			}
		}
	}
}

// Put puts the items, all or none.
func (s *stored) Put(ctx context.Context, records []Record) (Outcome, error) {
	change, err := s.store.Put(ctx, s.name.Dataset, records, s.putting())
	if err != nil {
		return Outcome{}, s.missing(fmt.Errorf("nothing was put: %w", err))
	}
	return Outcome{New: change.New, Changed: change.Changed, Unchanged: change.Unchanged}, nil
}

// Update puts one item in one transaction.
func (s *stored) Update(ctx context.Context, id string, change func(old *Record) (Record, error)) error {
	return s.missing(s.store.Update(ctx, s.name.Dataset, id, s.putting(), change))
}

// Purge deletes every item in one transaction.
func (s *stored) Purge(ctx context.Context, confirm Confirm) (o Outcome, err error) {
	entry, err := s.store.Dataset(ctx, s.name.Dataset)
	if err == nil && entry.Items > 0 {
		if err := confirm(entry.Items, "the dataset "+s.name.String()); err != nil {
			return o, err
		}
	}
	if err == nil {
		o.Deleted, err = s.store.Purge(ctx, s.name.Dataset, s.places.Now())
	}
	return o, s.reading(err)
}

func (s *stored) putting() PutOptions { return PutOptions{Create: s.create, Now: s.places.Now()} }

// reading makes an input error of a dataset that is missing.
func (s *stored) reading(err error) error {
	if errors.Is(err, ErrUnknown) {
		return source.Invalid("%w; `rehearse dataset list --from STORE` shows which there are", err)
	}
	return err
}

// missing makes an input error of a dataset that is missing and could be created.
func (s *stored) missing(err error) error {
	if !errors.Is(err, ErrUnknown) {
		return err
	}
	where := WithoutPassword(s.name.Store)
	shown := where
	if where == ProjectStore {
		shown = "the store of the project"
	}
	return source.Invalid("there is no dataset %q in %s: add --create to create it; "+
		"`rehearse dataset list --from %s` shows which there are", s.name.Dataset, shown, where)
}

// file is the place of a dataset in a file.
type file string

// Records yields the records of the file, whose faults are all found before the first record.
func (f file) Records(context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		all, err := LoadRecords(string(f))
		yieldAll(all, err, yield)
	}
}

// Update adds the item to the file, which is made if it is missing.
func (f file) Update(_ context.Context, id string, change func(old *Record) (Record, error)) error {
	return Add(string(f), id, change)
}

// yieldAll yields records, or the error that there are none.
func yieldAll(all []Record, err error, yield func(Record, error) bool) {
	if err != nil {
		yield(Record{}, err)
		return
	}
	for _, r := range all {
		if !yield(r, nil) {
			return
		}
	}
}
