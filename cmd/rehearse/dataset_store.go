package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"rehearse/internal/config"
	"rehearse/internal/dataset"
	"rehearse/internal/setup"
	"rehearse/internal/source"
	"rehearse/internal/store"
)

const (
	// storeScheme before the name of a dataset says that it is in the store of the project.
	storeScheme = "store:"
	// sqliteScheme begins the address of a store in a file.
	sqliteScheme = "sqlite:"
	// projectStore is the address of the store of the project: that of rehearse.yaml.
	projectStore = "store"
)

const storeForms = "write store:NAME for the store of rehearse.yaml, sqlite:PATH#NAME, or postgres://USER@HOST/DATABASE#NAME"

// storedDataset is a dataset in a store.
type storedDataset struct {
	// address is projectStore, sqlite:PATH, or the URL of a PostgreSQL database.
	address, name string
}

// isStored reports whether a name is that of a dataset in a store.
func isStored(name string) bool {
	return strings.HasPrefix(name, storeScheme) || isStoreAddress(name)
}

// isStoreAddress reports whether an address is one of a store, or begins with one.
func isStoreAddress(address string) bool {
	return address == projectStore || strings.HasPrefix(address, sqliteScheme) || setup.IsPostgres(address)
}

// readStored reads the name of a dataset in a store.
func readStored(name string) (storedDataset, error) {
	var d storedDataset
	if short, ok := strings.CutPrefix(name, storeScheme); ok {
		d = storedDataset{projectStore, short}
	} else {
		d.address, d.name, _ = strings.Cut(name, "#")
	}
	switch {
	case strings.TrimSpace(d.name) == "":
		return d, usage("%s names no dataset in the store: %s", withoutPassword(name), storeForms)
	case len(d.name) > store.MaxDatasetName:
		return d, usage("the name of the dataset has %d bytes: use at most %d", len(d.name), store.MaxDatasetName)
	}
	return d, nil
}

// String returns the name by which the dataset can be found again, without a password.
func (d storedDataset) String() string {
	if d.address == projectStore {
		return storeScheme + d.name
	}
	return withoutPassword(d.address) + "#" + d.name
}

// place names the store in errors.
func (d storedDataset) place() string {
	if d.address == projectStore {
		return "the store of the project"
	}
	return withoutPassword(d.address)
}

// withoutPassword returns the address of a store as it may be shown.
func withoutPassword(address string) string {
	if !setup.IsPostgres(address) {
		return address
	}
	u, err := url.Parse(address)
	if err != nil { // its text may hold a part of the password
		return "postgres://…"
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	query.Del("password")
	query.Del("sslpassword")
	u.RawQuery = query.Encode()
	return u.String()
}

// withDatasets calls use with the datasets of the store at an address. A file that is missing is made where that is wanted.
func withDatasets(ctx context.Context, address string, create bool, use func(*store.Datasets) error) (err error) {
	datasets, closing, err := openDatasets(ctx, address, create)
	if err != nil {
		return err
	}
	defer func() {
		if closed := closing(); err == nil && closed != nil {
			err = outcome(closed)
		}
	}()
	return use(datasets)
}

func openDatasets(ctx context.Context, address string, create bool) (*store.Datasets, func() error, error) {
	if setup.IsPostgres(address) {
		p, err := store.OpenPostgres(ctx, address)
		if err != nil {
			return nil, nil, endedOr(ctx, err)
		}
		return p.Datasets(), p.Close, nil
	}
	path, err := storePath(address)
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(path); err != nil && !create { // opening would make one
		return nil, nil, usage("cannot open the store: %w; name another one, or put a dataset into it with `rehearse dataset push FILE %s --create`", err,
			storedDataset{address, "NAME"})
	}
	s, err := store.Open(ctx, path)
	if err != nil {
		return nil, nil, endedOr(ctx, err)
	}
	return s.Datasets(), s.Close, nil
}

// storePath returns the file of a store.
func storePath(address string) (string, error) {
	if path, ok := strings.CutPrefix(address, sqliteScheme); ok {
		if path == "" {
			return "", usage("%s names no file: %s", address, storeForms)
		}
		return path, nil
	}
	path := ""
	if file := config.Find("."); file != "" {
		c, err := config.Load(file)
		if err != nil {
			return "", outcome(source.AsInvalid(err))
		}
		path = c.Store
	}
	return cmp.Or(path, filepath.Join(setup.StateDir, "rehearse.db")), nil
}

// endedStored is endedOr for what was done with a dataset in a store: one that is missing is a wrong name.
func endedStored(ctx context.Context, err error) error {
	if errors.Is(err, store.ErrUnknownDataset) {
		return usage("%w; `rehearse dataset list --from STORE` shows which there are", err)
	}
	return endedOr(ctx, err)
}

// maxStoredBytes bounds the items of a dataset that are in memory at once, as files are bounded.
const maxStoredBytes = 1 << 30

// records returns the items of a dataset.
func (d storedDataset) records(ctx context.Context, env *Env) (records []dataset.Record, err error) {
	ctx, release := untilSignal(ctx, env)
	defer release()
	err = withDatasets(ctx, d.address, false, func(datasets *store.Datasets) error {
		counted, size := &counter{env: env, what: "items read from " + d.name}, 0
		for item, err := range datasets.Items(ctx, d.name) {
			if err != nil {
				return endedStored(ctx, err)
			}
			size += len(item.ID) + len(item.Input) + len(item.Expected) + len(item.Metadata)
			if records = append(records, item); len(records) > dataset.MaxItems || size > maxStoredBytes {
				return usage("the dataset %s has more than %d items or %d MB: split it", d, dataset.MaxItems, maxStoredBytes>>20)
			}
			counted.add()
		}
		return nil
	})
	if err == nil && len(records) == 0 {
		err = usage("the dataset %s has no items: put some there with `rehearse dataset push` or `rehearse dataset add`", d)
	}
	return records, err
}

// endedPut is endedOr for items that were put: a dataset that is missing may be made.
func (d storedDataset) endedPut(ctx context.Context, err error) error {
	if errors.Is(err, store.ErrUnknownDataset) {
		return usage("there is no dataset %q in %s: add --create to create it; `rehearse dataset list --from %s` shows which there are",
			d.name, d.place(), withoutPassword(d.address))
	}
	return endedOr(ctx, err)
}

// push puts records into the dataset, all or none.
func (d storedDataset) push(ctx context.Context, env *Env, records []dataset.Record, create bool, format string) error {
	ctx, release := untilSignal(ctx, env)
	defer release()
	return withDatasets(ctx, d.address, create, func(datasets *store.Datasets) error {
		change, err := datasets.Put(ctx, d.name, records, store.PutOptions{Create: create, Now: env.Now()})
		if err != nil {
			return d.endedPut(ctx, fmt.Errorf("nothing was put: %w", err))
		}
		o := &datasetOutcome{Dataset: d.String(), New: change.New, Changed: change.Changed, Unchanged: change.Unchanged}
		return o.conclude(env, format, "put", "")
	})
}

// purge deletes every item, where that was confirmed.
func (d storedDataset) purge(ctx context.Context, env *Env, yes bool, format string) error {
	ctx, release := untilSignal(ctx, env)
	defer release()
	return withDatasets(ctx, d.address, false, func(datasets *store.Datasets) error {
		entry, err := datasets.Dataset(ctx, d.name)
		if err != nil {
			return endedStored(ctx, err)
		}
		if !yes && entry.Items > 0 {
			return usage("%s of the dataset %s would be deleted for good: add --yes to do that", plural(entry.Items, "item"), d)
		}
		o := &datasetOutcome{Dataset: d.String()}
		if o.Deleted, err = datasets.Purge(ctx, d.name, env.Now()); err != nil {
			return endedStored(ctx, err)
		}
		return o.conclude(env, format, "deleted", "")
	})
}
