package main

import (
	"context"

	"rehearse/internal/server"
)

// openEvents opens the store of logged events, if there is one.
func (a *agents) openEvents(ctx context.Context) error {
	address := a.flags.store
	if address == "" {
		return nil
	}
	if !isPostgres(address) {
		path, err := sqlitePath(address)
		if err != nil {
			return err
		}
		address = "sqlite:" + path
	}
	var err error
	if a.history, err = openHistory(ctx, address); err != nil {
		return err
	}
	a.events = server.NewEvents(server.EventsConfig{Store: a.history.Events, Log: a.log})
	return nil
}

// sessionsPath is the file of the visitors' sessions, nothing when they are kept elsewhere.
func (f *serveFlags) sessionsPath() (string, error) {
	if isPostgres(f.store) {
		if f.redis == "" {
			return "", usage("--store postgres://… keeps logged events, and no sessions of visitors: add --redis URL for these, or use sqlite:PATH for both")
		}
		return "", nil
	}
	return sqlitePath(f.store)
}
