package main

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/spf13/cobra"

	"rehearse/internal/dataset"
	"rehearse/internal/langfuse"
	"rehearse/internal/source"
)

func newDatasetPush(env *Env) *cobra.Command {
	var create bool
	var format string
	c := &cobra.Command{
		Use:   "push FILE NAME",
		Short: "Put the items of a file into a dataset in Langfuse or a store",
		Long: `Put the items of a file (.jsonl, .json, .csv, also .gz) into a dataset in Langfuse or in a store. All of the file is checked before anything is
sent. Items keep their ids, and those that are there already and the same are not sent again: a second push changes nothing. Items that the file
does not have stay. Of an item in Langfuse a part that the file's item lacks stays as it is, too; in a store an item becomes what the file says, and
all items are put or none.`,
		Example: `  rehearse dataset push items.jsonl main-dataset
  rehearse dataset push items.jsonl.gz folder/main-dataset --create
  rehearse dataset push items.jsonl sqlite:history.db#main-dataset --create
  rehearse dataset push items.csv main-dataset --format json`,
		Args: named(2, "name a file of items and a dataset in Langfuse or in a store, in this order"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := textOrJSON(format); err != nil {
				return err
			}
			if isStored(args[1]) {
				return pushStored(c.Context(), env, args[0], args[1], create, format)
			}
			name, err := remoteName(args[1])
			if err != nil {
				return err
			}
			records, err := dataset.LoadChecked(args[0])
			if err != nil {
				return outcome(source.AsInvalid(err))
			}
			client, err := openLangfuse(env)
			if err != nil {
				return outcome(source.AsInvalid(err))
			}
			warnUnexpected(env, records)
			ctx, release := untilSignal(c.Context(), env)
			defer release()
			there, err := pushTarget(ctx, env, client, name, create)
			if err != nil {
				return err
			}
			o := &datasetOutcome{Dataset: name}
			o.put(ctx, env, client, records, there)
			return o.conclude(env, format, "put", "run the same command again: what is there already is not sent again")
		},
	}
	c.Flags().BoolVar(&create, "create", false, "create the dataset if it is missing")
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}

// pushStored puts the items of a file into a dataset in a store.
func pushStored(ctx context.Context, env *Env, file, name string, create bool, format string) error {
	stored, err := readStored(name)
	if err != nil {
		return err
	}
	records, err := dataset.LoadChecked(file)
	if err != nil {
		return outcome(source.AsInvalid(err))
	}
	warnUnexpected(env, records)
	return stored.push(ctx, env, records, create, format)
}

// warnUnexpected names the items that do not say what is expected: they can be kept, but not graded.
func warnUnexpected(env *Env, records []dataset.Record) {
	var ids []string
	for i := range records {
		if !records[i].Expects() {
			ids = append(ids, records[i].ID)
		}
	}
	warnOf(env, ids, "%s without an expected output, by which an answer could be graded: %s")
}

// pushTarget returns the items that a dataset has. One that is missing is created where that is wanted.
func pushTarget(ctx context.Context, env *Env, client *langfuse.Client, name string, create bool) ([]langfuse.Item, error) {
	items, err := allItems(ctx, env, client, name, true)
	switch {
	case errors.Is(err, errNoDataset) && create:
		_, err := client.CreateDataset(ctx, langfuse.Dataset{Name: name})
		return nil, endedOr(ctx, err)
	case errors.Is(err, errNoDataset):
		return nil, usage("there is no dataset %q in %s: add --create to create it; `rehearse dataset list` shows which there are", name, client)
	}
	return items, err
}

// put puts those records into the dataset that are not there yet, or are there but different.
func (o *datasetOutcome) put(ctx context.Context, env *Env, client *langfuse.Client, records []dataset.Record, there []langfuse.Item) {
	before := map[string]*langfuse.Item{}
	for i := range there {
		before[there[i].ID] = &there[i]
	}
	var ids, archived []string
	items := map[string]langfuse.Item{}
	for i := range records {
		r := &records[i]
		old := before[r.ID]
		if old != nil && old.Status == langfuse.Archived {
			archived = append(archived, r.ID)
		}
		if old != nil && sameJSON(r.Input, old.Input) && sameJSON(r.Expected, old.ExpectedOutput) && sameJSON(r.Metadata, old.Metadata) {
			o.Unchanged++
			continue
		}
		ids = append(ids, r.ID)
		items[r.ID] = langfuse.Item{ID: r.ID, Dataset: o.Dataset, Input: r.Input, ExpectedOutput: r.Expected, Metadata: r.Metadata}
	}
	warnOf(env, archived, "%s archived in Langfuse and staying so: %s")
	done := o.inParts(ctx, env, "items put into "+o.Dataset, ids, func(ctx context.Context, part []string) error {
		list := make([]langfuse.Item, 0, len(part))
		for _, id := range part {
			list = append(list, items[id])
		}
		return client.PutItems(ctx, list)
	})
	for _, id := range done {
		if before[id] == nil {
			o.New++
		} else {
			o.Changed++
		}
	}
}

// sameJSON reports whether a part of an item is what it is in Langfuse already, which reads numbers as 64-bit floats and orders keys anew. A part
// that is missing leaves it as it is.
func sameJSON(part, there json.RawMessage) bool {
	if part == nil {
		return true
	}
	var a, b any
	return json.Unmarshal(part, &a) == nil && json.Unmarshal(there, &b) == nil && reflect.DeepEqual(a, b)
}
