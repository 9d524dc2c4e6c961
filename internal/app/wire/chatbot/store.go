package chatbot

import (
	"context"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// sessionStore stores sessions, and the leads that they leave.
type sessionStore interface {
	graph.Checkpointer
	lead.Outbox
	lead.Ledger
}

// sessions opens the store of sessions, and the locks that keep two turns of one session apart.
func (s *Sites) sessions(ctx context.Context) (sessionStore, sitebot.Locks, error) {
	s.lasting = s.options.Store != ""
	sessions, locks, err := s.database(ctx)
	if err != nil || s.options.Redis == "" {
		return sessions, locks, err
	}
	index, ok := sessions.(store.SessionIndex)
	if !ok {
		return nil, nil,
			source.Invalid("sessions on Redis need a database for leads, index and limits: name one with --store")
	}
	if !storage.IsPostgres(s.options.Store) {
		s.Log.Warn("leads, limits and the session index are in a file of this server alone; " +
			"for several servers use --store postgres://…")
	}
	server, err := store.OpenRedis(ctx, s.options.Redis, store.RedisOptions{TTL: s.options.TTL})
	if err != nil {
		return nil, nil, err
	}
	s.Server, s.closing = server, append([]func() error{server.Close}, s.closing...)
	onRedis := store.NewRedisSessions(server, index, func(err error) {
		s.Log.Error("a turn was answered, but the session index lacks it until the database is back", "error", err)
	})
	return onRedis, onRedis, nil
}

// database opens the sessions of the database, or those in memory without one.
func (s *Sites) database(ctx context.Context) (sessionStore, sitebot.Locks, error) {
	switch {
	case storage.IsPostgres(s.options.Store):
		database, err := store.OpenPostgres(ctx, s.options.Store)
		if err != nil {
			return nil, nil, err
		}
		sessions := database.Sessions(s.options.TTL)
		s.closing = append(s.closing, sessions.Close, database.Close)
		return sessions, sessions, nil
	case s.options.Store != "":
		database, err := store.Open(ctx, s.options.Store)
		if err != nil {
			return nil, nil, err
		}
		s.closing = append(s.closing, database.Close)
		sessions := database.Checkpoints(s.options.TTL)
		return sessions, sessions, nil
	}
	return sessionindex.NewMemory(graph.MemoryLimits{TTL: s.options.TTL}), store.NewLocks(), nil
}
