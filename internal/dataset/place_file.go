package dataset

import (
	"context"
	"iter"
)

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
