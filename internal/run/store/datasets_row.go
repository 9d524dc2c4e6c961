package store

import (
	"bytes"
	"encoding/json"
	"iter"
	"reflect"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

// itemRow is an item as databases keep it. JSON is "" for none.
type itemRow struct{ id, input, expected, metadata string }

// placedItem is an item with its place among the others.
type placedItem struct {
	itemRow
	position int64
}

// newItemRows checks items. Of several with the same id the last counts, in the place of the first.
func newItemRows(items []dataset.Record) ([]itemRow, error) {
	rows := make([]itemRow, 0, len(items))
	places := make(map[string]int, len(items))
	for i := range items {
		row, err := newItemRow(&items[i])
		if err != nil {
			return nil, err
		}
		if at, twice := places[row.id]; twice {
			rows[at] = row
			continue
		}
		places[row.id] = len(rows)
		rows = append(rows, row)
	}
	return rows, nil
}

func newItemRow(r *dataset.Record) (itemRow, error) {
	row := itemRow{id: plainText(r.ID)}
	check := rowCheck{what: "item", id: row.id}
	if row.id == "" {
		check.errorf("it has no id: give it one, so that it can be found")
	}
	check.text("id", row.id, maxItemID)
	if size := len(r.Input) + len(r.Expected) + len(r.Metadata); size > maxItem {
		check.errorf("it has %d bytes, and at most %d can be kept: shorten it", size, maxItem)
		return row, check.err
	}
	for _, part := range []struct {
		name string
		json json.RawMessage
		to   *string
	}{
		{"input", r.Input, &row.input},
		{"expected_output", r.Expected, &row.expected},
		{"metadata", r.Metadata, &row.metadata},
	} {
		text, ok := plainJSON(part.json)
		if !ok {
			check.errorf("its %s is no JSON: correct it", part.name)
		}
		*part.to = text
	}
	return row, check.err
}

func (r itemRow) size() int { return len(r.id) + len(r.input) + len(r.expected) + len(r.metadata) }

func (r itemRow) record() dataset.Record {
	return dataset.Record{
		ID: r.id, Input: jsonOrNil(r.input), Expected: jsonOrNil(r.expected), Metadata: jsonOrNil(r.metadata),
	}
}

// same reports whether two rows are the same item, however their JSON is written.
func (r itemRow) same(as itemRow) bool {
	return r.id == as.id && sameText(r.input, as.input) && sameText(r.expected, as.expected) &&
		sameText(r.metadata, as.metadata)
}

// sameText compares two JSON texts by their values. Numbers are equal when they are written alike.
func sameText(a, b string) bool {
	if a == b || a == "" || b == "" {
		return a == b
	}
	var values [2]any
	for i, text := range []string{a, b} {
		decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
		decoder.UseNumber()
		if decoder.Decode(&values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

const (
	// itemsPerPart and partBytes bound the items that are compared and written at once.
	itemsPerPart = 500
	partBytes    = 4 << 20
)

// itemParts yields rows in parts that are not too large.
func itemParts(rows []itemRow) iter.Seq[[]itemRow] {
	return func(yield func([]itemRow) bool) {
		for len(rows) > 0 {
			n, size := 0, 0
			for n < len(rows) && n < itemsPerPart && size < partBytes {
				size += rows[n].size()
				n++
			}
			if !yield(rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}
