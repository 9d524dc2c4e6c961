package storage

import (
	"context"
	"os"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// Datasets returns what opens the datasets of the store at an address, and creates a missing file only with create
// (dataset.Stores). configured returns the store for addresses without a path. open opens the store in a file; its
// caller closes it.
func Datasets(configured func() (string, error), open func(ctx context.Context, path string) (*store.Store, error),
) func(ctx context.Context, address string, create bool) (dataset.Store, func() error, error) {
	return func(ctx context.Context, address string, create bool) (dataset.Store, func() error, error) {
		path, named := strings.CutPrefix(address, "sqlite:")
		if !named && !IsPostgres(address) {
			var err error
			if path, err = configured(); err != nil {
				return nil, nil, err
			}
			address = path
		}
		if IsPostgres(address) {
			p, err := store.OpenPostgres(ctx, address)
			if err != nil {
				return nil, nil, err
			}
			return p.Datasets(), p.Close, nil
		}
		if path == "" {
			return nil, nil, source.Invalid("%s names no file: write sqlite:PATH#NAME", address)
		}
		if _, err := os.Stat(path); err != nil && !create { // opening would create one
			return nil, nil, source.Invalid("cannot open the store: %w; name another one, "+
				"or put a dataset into it with `rehearse dataset push FILE %s --create`", err, dataset.Name{
				Kind: dataset.InStore, Store: address, Dataset: "NAME",
			})
		}
		opened, err := open(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		return opened.Datasets(), func() error { return nil }, nil
	}
}
