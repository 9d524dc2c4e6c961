package main

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"

	"rehearse/internal/dataset"
	"rehearse/internal/langfuse"
	"rehearse/internal/source"
)

// addition is where an item goes: a file, or a dataset in Langfuse or in a store.
type addition struct {
	env     *Env
	file    string
	stored  *storedDataset
	dataset string
	client  *langfuse.Client
	create  bool
}

func (a *addition) String() string {
	switch {
	case a.stored != nil:
		return a.stored.String()
	case a.client == nil:
		return a.file
	}
	return langfuseScheme + a.dataset
}

// destination reads the argument: a path to a file of lines, or the name of a dataset.
func (f *addFlags) destination(env *Env, name string) (*addition, error) {
	if isStored(name) {
		stored, err := readStored(name)
		return &addition{env: env, stored: &stored, create: f.create}, err
	}
	if !strings.HasPrefix(name, langfuseScheme) && isItemsFile(name) {
		if !dataset.IsLines(name) {
			return nil, usage("%s: items are added to JSON Lines only: call the file .jsonl or .jsonl.gz", name)
		}
		if f.create {
			return nil, usage("--create makes a dataset in Langfuse; %s is a file, which is made in any case: leave it out", name)
		}
		return &addition{file: filepath.Clean(name)}, nil
	}
	remote, err := remoteName(name)
	if err != nil {
		return nil, err
	}
	client, err := openLangfuse(env)
	if err != nil {
		return nil, usage("%q is a dataset in Langfuse, but %w; name a file, ending in .jsonl, to keep the item there", remote, err)
	}
	return &addition{dataset: remote, client: client, create: f.create}, nil
}

// put puts the item where it belongs and returns it as it is there.
func (a *addition) put(ctx context.Context, r dataset.Record, replace bool) (dataset.Record, error) {
	settle := func(old *dataset.Record) (dataset.Record, error) {
		if old != nil && !replace {
			return r, usage("%s has an item %q already: add --replace to replace it, or --id ID to add another one", a, r.ID)
		}
		if r.Expected == nil && old != nil {
			r.Expected = old.Expected
		}
		if r.Expected == nil {
			r.Expected = json.RawMessage(`{"response":""}`)
		}
		return r, nil
	}
	if a.stored != nil {
		err := a.stored.put(ctx, a.env, r, a.create, settle)
		return r, err
	}
	if a.client == nil {
		err := dataset.Add(a.file, r.ID, settle)
		_, told := errors.AsType[*exitError](err)
		_, faulty := errors.AsType[source.Problems](err)
		switch {
		case err == nil || told:
			return r, err
		case faulty:
			return r, outcome(source.AsInvalid(err))
		}
		return r, outcome(err)
	}
	old, err := a.existing(ctx, r.ID)
	if err == nil {
		r, err = settle(old)
	}
	if err != nil {
		return r, err
	}
	item := langfuse.Item{ID: r.ID, Dataset: a.dataset, Input: r.Input, ExpectedOutput: r.Expected, Metadata: r.Metadata}
	_, err = a.client.PutItem(ctx, item)
	return r, endedOr(ctx, err)
}

// existing returns the item of an id that is in the dataset already, or nil; the dataset is created where that is wanted.
func (a *addition) existing(ctx context.Context, id string) (*dataset.Record, error) {
	_, err := a.client.Dataset(ctx, a.dataset)
	if isAbsent(err) {
		if !a.create {
			return nil, usage("there is no dataset %q in %s: add --create to create it; `rehearse dataset list` shows which there are", a.dataset, a.client)
		}
		_, err = a.client.CreateDataset(ctx, langfuse.Dataset{Name: a.dataset})
	}
	if err != nil {
		return nil, endedOr(ctx, err)
	}
	item, err := a.client.Item(ctx, id)
	switch {
	case isAbsent(err):
		return nil, nil
	case err != nil:
		return nil, endedOr(ctx, err)
	case item.Dataset != a.dataset:
		return nil, usage("the dataset %q in %s has an item %q already, and an id belongs to one dataset only: add --id ID", item.Dataset, a.client, id)
	}
	old := asRecord(&item)
	return &old, nil
}
