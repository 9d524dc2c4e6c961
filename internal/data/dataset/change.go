package dataset

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Push puts records into a dataset, which create makes if it is missing. It is an input error for a file.
func (p *Stores) Push(ctx context.Context, n Name, records []Record, create bool) (o Outcome, err error) {
	if n, err = n.Storable(); err != nil {
		return o, err
	}
	err = p.use(ctx, n, Options{Create: create}, func(place Storage) error {
		o, err = place.(Putter).Put(ctx, records) // Kept leaves no other
		return err
	})
	return o, err
}

// Purge deletes every item of a dataset, archived ones included, once confirm agrees. The dataset stays. It is an input
// error for a file.
func (p *Stores) Purge(ctx context.Context, n Name, confirm Confirm) (o Outcome, err error) {
	if n, err = n.Storable(); err != nil {
		return o, err
	}
	err = p.use(ctx, n, Options{}, func(place Storage) error {
		o, err = place.(Purger).Purge(ctx, confirm) // Kept leaves no other
		return err
	})
	return o, err
}

// AddOptions say how an item is added.
type AddOptions struct {
	// Replace replaces an item that has the id already.
	Replace bool
	// Create makes the dataset if it is missing. A file is made in any case.
	Create bool
}

// Add adds an item to a dataset and returns it as it is there: what is expected stays as it was if r does not say it.
// If neither says it, the expected response is empty, to be written in. An id that is taken is an input error without
// Replace.
func (p *Stores) Add(ctx context.Context, n Name, r Record, o AddOptions) (Record, error) {
	err := p.use(ctx, n, Options{Create: o.Create}, func(place Storage) error {
		return place.Update(ctx, r.ID, func(old *Record) (Record, error) {
			if old != nil && !o.Replace {
				return r, source.Invalid(
					"%s has an item %q already: add --replace to replace it, or --id ID to add another one", n, r.ID)
			}
			if r.Expected == nil && old != nil {
				r.Expected = old.Expected
			}
			if r.Expected == nil {
				r.Expected = json.RawMessage(`{"response":""}`)
			}
			return r, nil
		})
	})
	return r, err
}

// Appendable returns n if single items can be added to its dataset, and else an input error: of files only those of
// lines can.
func (n Name) Appendable() (Name, error) {
	if n.Kind != InFile {
		return n, nil
	}
	if !IsLines(n.Dataset) {
		return n, source.Invalid("%s: items are added to JSON Lines only: call the file .jsonl or .jsonl.gz", n.Dataset)
	}
	n.Dataset = filepath.Clean(n.Dataset)
	return n, nil
}

// Unexpected returns the ids of the records that do not say what is expected: they can be kept, but not graded.
func Unexpected(records []Record) (ids []string) {
	for i := range records {
		if !records[i].Expects() {
			ids = append(ids, records[i].ID)
		}
	}
	return ids
}
