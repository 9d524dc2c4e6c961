package dataset

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

// maxCounted is how many datasets of Langfuse have their items counted without being asked.
const maxCounted = 25

// List returns the datasets of a store, or of Langfuse for an empty address, in the order of their names, and names the
// place for people. In Langfuse counting costs a request a dataset: of more than a few datasets the items are counted
// only with counts.
func (p *Stores) List(ctx context.Context, address string, counts bool) (entries []Entry, where string, err error) {
	if address == "" {
		return p.listLangfuse(ctx, counts)
	}
	s, closing, err := p.Store(ctx, address, false)
	if err != nil {
		return nil, "", err
	}
	entries, err = s.List(ctx)
	return entries, WithoutPassword(address), errors.Join(err, closing())
}

// listLangfuse returns the datasets in Langfuse and names it.
func (p *Stores) listLangfuse(ctx context.Context, counts bool) (entries []Entry, where string, err error) {
	client, err := p.Langfuse()
	if err != nil {
		return nil, "", source.AsInvalid(err)
	}
	for d, err := range client.Datasets(ctx) {
		if err != nil {
			return nil, "", err
		}
		entries = append(entries, Entry{
			Name: d.Name, Description: d.Description, Items: -1, Created: d.CreatedAt, Updated: d.UpdatedAt,
		})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	if len(entries) > maxCounted && !counts {
		return entries, client.String(), nil
	}
	for i := range entries {
		n, err := client.CountItems(ctx, entries[i].Name)
		switch {
		case langfuse.Absent(err): // deleted since
		case err != nil:
			return nil, "", err
		default:
			entries[i].Items = n
		}
		p.done("datasets counted", i+1)
	}
	return entries, client.String(), nil
}
