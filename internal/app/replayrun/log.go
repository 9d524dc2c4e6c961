package replayrun

import (
	"context"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/replay/importer"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// openLog opens the log of a run that has one beside its store; nil is none.
func openLog(ctx context.Context, c *Config) (*storage.Log, error) {
	if c.Log == "" {
		return nil, nil
	}
	days, err := c.Spec.Days()
	if err != nil {
		return nil, err
	}
	q := store.LogQuery{SQL: c.Query, From: days.From, To: days.To}
	return storage.OpenLog(ctx, c.Log, q, importer.Options{Gap: c.Spec.SessionGap}, c.Store, wire.StateDir)
}
