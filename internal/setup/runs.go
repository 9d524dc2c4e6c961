package setup

import (
	"context"

	"rehearse/internal/source"
	"rehearse/internal/store"
	"rehearse/internal/text"
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
		return nil, nil, source.Invalid("--store %q names no store: write sqlite:PATH, or postgres://USER@HOST/DATABASE", text.Address(address))
	}
	s, err := store.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	return s.Fleet(), s.Close, nil
}
