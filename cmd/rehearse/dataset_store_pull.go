package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"rehearse/internal/dataset"
	"rehearse/internal/store"
)

// pull writes the items of the dataset to a file, item by item; a file comes about when all are there.
func (d storedDataset) pull(ctx context.Context, env *Env, out string) error {
	ctx, release := untilSignal(ctx, env)
	defer release()
	pulled := 0
	err := withDatasets(ctx, d.address, false, func(datasets *store.Datasets) error {
		write := func(w io.Writer) error {
			counted := &counter{env: env, what: "items written"}
			for item, err := range datasets.Items(ctx, d.name) {
				if err == nil {
					err = dataset.Encode(w, []dataset.Record{item})
				}
				if err != nil {
					return err
				}
				pulled++
				counted.add()
			}
			return nil
		}
		if out == "-" {
			buffered := bufio.NewWriter(env.Stdout)
			return endedStored(ctx, errors.Join(write(buffered), buffered.Flush()))
		}
		return endedStored(ctx, dataset.WriteWith(out, write))
	})
	if err == nil && out != "-" {
		_, err = fmt.Fprintf(env.Stdout, "%s: %s written to %s\n", harmless(d.String()), plural(pulled, "item"), out)
		err = outcome(err)
	}
	return err
}

// listStored returns the datasets of a store.
func listStored(ctx context.Context, env *Env, address string) (listed []listedDataset, err error) {
	ctx, release := untilSignal(ctx, env)
	defer release()
	listed = []listedDataset{}
	err = withDatasets(ctx, address, false, func(datasets *store.Datasets) error {
		all, err := datasets.List(ctx)
		for _, entry := range all {
			listed = append(listed, listedDataset{
				Name: entry.Name, Items: &entry.Items, Description: entry.Description, CreatedAt: entry.Created, UpdatedAt: entry.Updated,
			})
		}
		return endedOr(ctx, err)
	})
	return listed, err
}

// put adds one item to the dataset, settled with what is there.
func (d storedDataset) put(ctx context.Context, env *Env, r dataset.Record, create bool, settle func(old *dataset.Record) (dataset.Record, error)) error {
	return withDatasets(ctx, d.address, create, func(datasets *store.Datasets) error {
		err := datasets.Settle(ctx, d.name, r.ID, store.PutOptions{Create: create, Now: env.Now()}, settle)
		if _, told := errors.AsType[*exitError](err); told {
			return err
		}
		return d.endedPut(ctx, err)
	})
}
