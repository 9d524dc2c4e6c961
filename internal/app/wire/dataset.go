package wire

import (
	"context"
	"os"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// Storages returns the places of datasets: files, stores and Langfuse. progress is called during long operations. A
// store without a path is that of the configuration for this folder, which is read when such a store is opened.
func (s *Setup) Storages(progress func(what string, done int)) *dataset.Stores {
	return &dataset.Stores{Store: s.datasets, Langfuse: s.Langfuse, Progress: progress, Now: s.Now}
}

// datasets opens the datasets of the store at an address. It creates a missing file only with create.
func (s *Setup) datasets(ctx context.Context, address string, create bool) (dataset.Store, func() error, error) {
	if storage.IsPostgres(address) {
		p, err := store.OpenPostgres(ctx, address)
		if err != nil {
			return nil, nil, err
		}
		return p.Datasets(), p.Close, nil
	}
	path, named := strings.CutPrefix(address, "sqlite:")
	switch {
	case !named:
		here, err := s.At(".")
		if err != nil {
			return nil, nil, err
		}
		if path = here.StorePath(); storage.IsPostgres(path) {
			return s.datasets(ctx, path, create)
		}
	case path == "":
		return nil, nil, source.Invalid("%s names no file: write sqlite:PATH#NAME", address)
	}
	if _, err := os.Stat(path); err != nil && !create { // opening would create one
		return nil, nil, source.Invalid("cannot open the store: %w; name another one, "+
			"or put a dataset into it with `rehearse dataset push FILE %s --create`", err, dataset.Name{
			Kind: dataset.InStore, Store: address, Dataset: "NAME",
		})
	}
	opened, err := s.StoreAt(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	return opened.Datasets(), func() error { return nil }, nil // Setup closes it
}
