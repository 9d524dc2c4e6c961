package main

import (
	"context"

	"rehearse/internal/server"
	"rehearse/internal/setup"
)

// openEvents opens the store of logged events, if there is one.
func (a *agents) openEvents(ctx context.Context) error {
	address := a.flags.store
	if address == "" {
		return nil
	}
	if !setup.IsPostgres(address) {
		path, err := a.flags.sqlitePath()
		if err != nil {
			return err
		}
		address = "sqlite:" + path
	}
	var err error
	if a.history, err = setup.OpenHistory(ctx, address); err != nil {
		return err
	}
	a.events = server.NewEvents(server.EventsConfig{Store: a.history.Events, Log: a.log})
	return nil
}

// sessionsPath is the file of the visitors' sessions, nothing when they are kept elsewhere.
func (f *serveFlags) sessionsPath() (string, error) {
	if setup.IsPostgres(f.store) {
		if f.redis == "" {
			return "", usage("--store postgres://… keeps logged events, and no sessions of visitors: add --redis URL for these, or use sqlite:PATH for both")
		}
		return "", nil
	}
	return f.sqlitePath()
}

// sqlitePath is the file of --store, empty without one.
func (f *serveFlags) sqlitePath() (string, error) {
	path, scheme := setup.SQLitePath(f.store)
	if scheme != "" {
		return "", usage("--store %s is not supported here: use sqlite:PATH, or --redis URL", f.store)
	}
	return path, nil
}
