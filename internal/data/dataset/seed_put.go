package dataset

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

// SeedOptions say how a seeding is carried out.
type SeedOptions struct {
	// PurgeOnly deletes the items of the dataset and creates none.
	PurgeOnly bool
	// DeleteOthers deletes items, too, that no seeding has made. Without it they are an input error, and nothing is
	// deleted.
	DeleteOthers bool
}

// Seed makes the dataset in Langfuse what a seeding says: its items are deleted, then those of the seeding created.
// Where not all could be deleted, none is created, and the outcome has no new ones.
func (p *Stores) Seed(ctx context.Context, s Seeding, options SeedOptions) (o Outcome, err error) {
	client, err := p.Langfuse()
	if err != nil {
		return o, source.AsInvalid(err)
	}
	place := &remote{places: p, client: client, name: s.Dataset}
	there, err := place.items(ctx, true)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return o, err
	}
	if foreign := unseeded(there); len(foreign) > 0 && !options.DeleteOthers {
		return o, source.Invalid("%s has %s that no seeding has made, which would be deleted: %s; add --yes to do that, or seed another dataset",
			place, text.Plural(len(foreign), "item"), Few(foreign))
	}
	if !options.PurgeOnly {
		if err := createSeeded(ctx, client, s); err != nil {
			return o, err
		}
	}
	place.remove(ctx, &o, there)
	if o.Complete() && !options.PurgeOnly {
		place.put(ctx, &o, s.Records, nil)
	}
	return o, nil
}

// unseeded returns the ids of items that no seeding has made.
func unseeded(items []Record) (ids []string) {
	for i := range items {
		if !Seeded(items[i].Metadata) {
			ids = append(ids, items[i].ID)
		}
	}
	return ids
}

// createSeeded creates the dataset of a seeding, or brings its description up to date.
func createSeeded(ctx context.Context, client *langfuse.Client, s Seeding) error {
	d := langfuse.Dataset{Name: s.Dataset, Description: s.Description}
	if s.Site != "" {
		metadata, err := json.Marshal(map[string]string{"site_name": s.Site})
		if err != nil {
			return err
		}
		d.Metadata = metadata
	}
	_, err := client.CreateDataset(ctx, d)
	return err
}
