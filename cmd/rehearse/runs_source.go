package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/fleet/client"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// sourceFlags say whose runs are meant.
type sourceFlags struct {
	requestFlags
	store string
}

// runsOf are runs somewhere: of a server, in a store, or of a folder.
type runsOf struct {
	list   func(ctx context.Context, status string, limit int) ([]json.RawMessage, error)
	show   func(ctx context.Context, id string) (client.Run, error)
	cancel func(ctx context.Context, id string) (client.Run, error)
	prune  func(ctx context.Context, olderThan *runspec.Age, keep *int) (int, error)
}

// in does something with the runs that are meant.
func (f *sourceFlags) in(ctx context.Context, env *Env, do func(runsOf) error) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	switch {
	case f.server.url != "" && f.store != "":
		return usage("--server and --store exclude each other: a server knows its store")
	case f.server.url != "":
		server, err := f.server.client(env, nil)
		if err != nil {
			return err
		}
		defer server.Close()
		return outcome(do(runsOf{server.List, server.Show, server.Cancel, server.Prune}))
	case f.store != "":
		runs, closing, err := storage.FindRuns(ctx, f.store)
		if err != nil {
			return outcome(err)
		}
		return outcome(errors.Join(do(placed(coordinator.StoredRuns{Store: runs})), closing()))
	}
	s, err := env.here(wire.Options{})
	if err != nil {
		return outcome(err)
	}
	defer env.closed(s)
	local, err := coordinator.OpenLocal(ctx, s)
	if err != nil {
		return outcome(err)
	}
	return outcome(do(placed(local)))
}

// placed are the runs of a place that is open here.
func placed(p coordinator.RunSource) runsOf {
	return runsOf{
		list: func(ctx context.Context, status string, limit int) (shown []json.RawMessage, err error) {
			found, err := p.List(ctx, status, limit)
			for _, run := range found {
				data, failed := json.Marshal(run)
				shown, err = append(shown, data), errors.Join(err, failed)
			}
			return shown, err
		},
		show: func(ctx context.Context, id string) (client.Run, error) {
			run, err := p.Show(ctx, id)
			return asShown(run, err)
		},
		cancel: func(ctx context.Context, id string) (client.Run, error) {
			run, err := p.Cancel(ctx, id)
			return asShown(run, err)
		},
		prune: func(ctx context.Context, olderThan *runspec.Age, keep *int) (int, error) {
			return p.Prune(ctx, coordinator.Limits(olderThan, keep))
		},
	}
}

// asShown returns a run as the API shows it.
func asShown(run any, err error) (shown client.Run, _ error) {
	if err != nil {
		return shown, err
	}
	data, err := json.Marshal(run)
	if err == nil {
		err = json.Unmarshal(data, &shown)
	}
	shown.Body = data
	return shown, err
}
