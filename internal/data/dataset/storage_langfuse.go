package dataset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

// remote is the place of a dataset in Langfuse.
type remote struct {
	places  *Stores
	client  *langfuse.Client
	name    string
	options Options
}

// String names the dataset for people.
func (p *remote) String() string { return fmt.Sprintf("the dataset %q in %s", p.name, p.client) }

// Records yields the items, the oldest first, once all were read.
func (p *remote) Records(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		all, err := p.items(ctx, p.options.Archived)
		yieldAll(all, err, yield)
	}
}

// items returns the items, the oldest first: their order stays when others are added.
func (p *remote) items(ctx context.Context, archived bool) ([]Record, error) {
	var items []langfuse.Item
	for item, err := range p.client.Items(ctx, p.name, langfuse.ItemsOptions{Archived: archived}) {
		switch {
		case langfuse.Absent(err):
			return nil, source.Invalid("%w: %q in %s; `rehearse dataset list` shows them", ErrUnknown, p.name, p.client)
		case err != nil:
			return nil, err
		}
		items = append(items, item)
		p.places.done("items read from "+p.name, len(items))
	}
	slices.SortFunc(items, func(a, b langfuse.Item) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	records := make([]Record, 0, len(items))
	for i := range items {
		records = append(records, recordOf(&items[i]))
	}
	return records, nil
}

// recordOf returns an item of Langfuse as a record.
func recordOf(item *langfuse.Item) Record {
	return Record{
		ID: item.ID, Input: orNil(item.Input), Expected: orNil(item.ExpectedOutput), Metadata: orNil(item.Metadata),
		Archived: item.Status == langfuse.Archived,
	}
}

// orNil returns nil for null.
func orNil(data json.RawMessage) json.RawMessage {
	if string(data) == "null" {
		return nil
	}
	return data
}

// Put puts the items that are not there yet, or are there but different. A part that an item lacks stays as it is in
// Langfuse.
func (p *remote) Put(ctx context.Context, records []Record) (Outcome, error) {
	there, err := p.items(ctx, true)
	if errors.Is(err, ErrUnknown) {
		err = p.createMissing(ctx)
	}
	var o Outcome
	if err == nil {
		p.put(ctx, &o, records, there)
	}
	return o, err
}

// createMissing creates the dataset, which does not exist, where that is allowed.
func (p *remote) createMissing(ctx context.Context) error {
	if !p.options.Create {
		return source.Invalid(
			"there is no dataset %q in %s: add --create to create it; `rehearse dataset list` shows which there are",
			p.name, p.client)
	}
	_, err := p.client.CreateDataset(ctx, langfuse.Dataset{Name: p.name})
	return err
}

// put puts records into the dataset, which has the items that are there.
func (p *remote) put(ctx context.Context, o *Outcome, records, there []Record) {
	before := map[string]*Record{}
	for i := range there {
		before[there[i].ID] = &there[i]
	}
	var ids []string
	items := map[string]langfuse.Item{}
	for i := range records {
		r := &records[i]
		old := before[r.ID]
		if old != nil && old.Archived {
			o.Archived = append(o.Archived, r.ID)
		}
		if old != nil && unchanged(r.Input, old.Input) && unchanged(r.Expected, old.Expected) &&
			unchanged(r.Metadata, old.Metadata) {
			o.Unchanged++
			continue
		}
		ids = append(ids, r.ID)
		items[r.ID] = p.item(r)
	}
	o.Deleting = false
	done := p.inParts(ctx, o, "items put into "+p.name, ids, func(ctx context.Context, part []string) error {
		list := make([]langfuse.Item, 0, len(part))
		for _, id := range part {
			list = append(list, items[id])
		}
		return p.client.PutItems(ctx, list)
	})
	for _, id := range done {
		if before[id] == nil {
			o.New++
		} else {
			o.Changed++
		}
	}
}

func (p *remote) item(r *Record) langfuse.Item {
	return langfuse.Item{ID: r.ID, Dataset: p.name, Input: r.Input, ExpectedOutput: r.Expected, Metadata: r.Metadata}
}

// unchanged reports whether a part of an item is what it is in Langfuse already, which reads numbers as 64-bit floats
// and reorders keys. Putting a part that is missing does not change it.
func unchanged(part, there json.RawMessage) bool {
	return part == nil || source.SameJSON(part, there)
}

// Update puts one item. Langfuse has no transactions: what somebody else puts meanwhile is replaced.
func (p *remote) Update(ctx context.Context, id string, change func(old *Record) (Record, error)) error {
	old, err := p.existing(ctx, id)
	if err != nil {
		return err
	}
	r, err := change(old)
	if err != nil {
		return err
	}
	_, err = p.client.PutItem(ctx, p.item(&r))
	return err
}

// existing returns the item of the dataset that has an id, or nil. It creates the dataset where that is allowed.
func (p *remote) existing(ctx context.Context, id string) (*Record, error) {
	_, err := p.client.Dataset(ctx, p.name)
	if langfuse.Absent(err) {
		err = p.createMissing(ctx)
	}
	if err != nil {
		return nil, err
	}
	item, err := p.client.Item(ctx, id)
	switch {
	case langfuse.Absent(err):
		return nil, nil
	case err != nil:
		return nil, err
	case item.Dataset != p.name:
		return nil, source.Invalid(
			"the dataset %q in %s has an item %q already, and an id belongs to one dataset only: add --id ID",
			item.Dataset, p.client, id)
	}
	return new(recordOf(&item)), nil
}

// Purge deletes every item.
func (p *remote) Purge(ctx context.Context, confirm Confirm) (o Outcome, err error) {
	items, err := p.items(ctx, true)
	if err == nil && len(items) > 0 {
		err = confirm(len(items), p.String())
	}
	if err == nil {
		p.remove(ctx, &o, items)
	}
	return o, err
}

// remove deletes items.
func (p *remote) remove(ctx context.Context, o *Outcome, items []Record) {
	ids := make([]string, 0, len(items))
	for i := range items {
		ids = append(ids, items[i].ID)
	}
	o.Deleting = true
	o.Deleted += len(p.inParts(ctx, o, "items deleted from "+p.name, ids, p.client.DeleteItems))
}
