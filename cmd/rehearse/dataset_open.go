package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"rehearse/internal/dataset"
	"rehearse/internal/langfuse"
	"rehearse/internal/result"
	"rehearse/internal/setup"
	"rehearse/internal/source"
)

// langfuseScheme before the name of a dataset says that it is one of Langfuse's.
const langfuseScheme = "langfuse:"

// openDataset returns the items of a dataset, and says where they were found: the name of a file, langfuse:NAME, or that of a dataset in a store.
// What is named like a file, or is one, is read; any other name is that of a dataset in Langfuse, oldest item first.
func openDataset(ctx context.Context, env *Env, name string) (records []dataset.Record, where string, err error) {
	if isStored(name) {
		stored, err := readStored(name)
		if err != nil {
			return nil, "", err
		}
		records, err = stored.records(ctx, env)
		return records, stored.String(), err
	}
	if isItemsFile(name) {
		if records, err = dataset.LoadRecords(name); err != nil {
			return nil, "", outcome(source.AsInvalid(err))
		}
		return records, name, nil
	}
	asked := strings.HasPrefix(name, langfuseScheme)
	remote, err := remoteName(name)
	if err != nil {
		return nil, "", err
	}
	client, err := openLangfuse(env)
	switch {
	case err != nil && asked:
		return nil, "", outcome(source.AsInvalid(err))
	case err != nil:
		return nil, "", usage("there is no file %q (name a .jsonl, .json or .csv file), and it cannot be looked for in Langfuse: %w", name, err)
	}
	items, err := allItems(ctx, env, client, remote, false)
	if errors.Is(err, errNoDataset) && !asked {
		err = usage("%w; nor is there a file of that name", err)
	}
	if err != nil {
		return nil, "", err
	}
	if len(items) == 0 {
		return nil, "", usage("the dataset %q in %s has no items: put some there with `rehearse dataset push` or `rehearse dataset add`", remote, client)
	}
	for i := range items {
		records = append(records, asRecord(&items[i]))
	}
	return records, langfuseScheme + remote, nil
}

// errNoDataset is wrapped by the error of a dataset that is not in Langfuse.
var errNoDataset = errors.New("there is no such dataset")

// openLangfuse returns the Langfuse that the environment names. The error says in one line which variables are missing.
func openLangfuse(env *Env) (*langfuse.Client, error) {
	if setup.LangfuseOff(env.Getenv) {
		return nil, errors.New(setup.LangfuseEnabledEnv + " switches Langfuse off: set it to true, or use files")
	}
	c, err := langfuse.FromEnv(env.Getenv)
	if err != nil {
		return nil, err
	}
	return langfuse.New(c)
}

// allItems returns the items of a dataset in Langfuse, the oldest first: their order stays when others are added. A signal ends it.
func allItems(ctx context.Context, env *Env, client *langfuse.Client, name string, archived bool) ([]langfuse.Item, error) {
	working, release := untilSignal(ctx, env)
	defer release()
	var items []langfuse.Item
	counted := &counter{env: env, what: "items read from " + name}
	for item, err := range client.Items(working, name, langfuse.ItemsOptions{Archived: archived}) {
		switch {
		case isAbsent(err):
			return nil, usage("%w: %q in %s; `rehearse dataset list` shows them", errNoDataset, name, client)
		case err != nil:
			return nil, endedOr(working, err)
		}
		items = append(items, item)
		counted.add()
	}
	slices.SortFunc(items, func(a, b langfuse.Item) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	return items, nil
}

// endedOr returns an error that says by its exit code whether a signal has ended what was under way.
func endedOr(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return &exitError{result.ExitInterrupted, errors.New("interrupted")}
	}
	return outcome(err)
}

// isAbsent reports whether Langfuse has said that there is no such thing. A 404 with advice comes from something else.
func isAbsent(err error) bool {
	e, ok := errors.AsType[*langfuse.Error](err)
	return ok && errors.Is(e, langfuse.ErrNotFound) && e.Hint == ""
}

// asRecord returns an item of Langfuse as one of a file.
func asRecord(item *langfuse.Item) dataset.Record {
	return dataset.Record{ID: item.ID, Input: orNone(item.Input), Expected: orNone(item.ExpectedOutput), Metadata: orNone(item.Metadata)}
}

// orNone returns nil for null.
func orNone(data []byte) []byte {
	if string(data) == "null" {
		return nil
	}
	return data
}
