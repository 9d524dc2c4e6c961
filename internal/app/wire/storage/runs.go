package storage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// OpenRuns opens the store in which servers keep runs, at an address sqlite:PATH or postgres://…. close closes it.
func OpenRuns(ctx context.Context, address string) (runs *store.Fleet, close func() error, err error) {
	if IsPostgres(address) {
		p, err := store.OpenPostgres(ctx, address)
		if err != nil {
			return nil, nil, err
		}
		return p.Fleet(), p.Close, nil
	}
	path, _ := SQLitePath(address)
	if path == "" {
		return nil, nil, source.Invalid(
			"--store %q names no store: write sqlite:PATH, or postgres://USER@HOST/DATABASE", text.Address(address))
	}
	s, err := store.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	return s.Fleet(), s.Close, nil
}

// FindRuns is OpenRuns, but refuses the file of a store that is not there: opening would make an empty one.
func FindRuns(ctx context.Context, address string) (runs *store.Fleet, close func() error, err error) {
	if path, _ := SQLitePath(address); path != "" {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil, source.Invalid("there is no store %s: name the one of the server with --store",
				text.Address(address))
		}
	}
	return OpenRuns(ctx, address)
}

// AwaitRuns waits until the store at an address can be opened, and says why it waits: once, and when the reason
// changes. Any other error than that of a database which is away ends the wait.
func AwaitRuns(ctx context.Context, address string, tell func(err error)) error {
	if !IsPostgres(address) {
		return nil
	}
	for said := ""; ; {
		_, closing, err := OpenRuns(ctx, address)
		if err == nil {
			return closing()
		}
		if !store.IsUnavailable(err) {
			return err
		}
		if why := err.Error(); why != said {
			said = why
			tell(err)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
