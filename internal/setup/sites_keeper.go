package setup

import (
	"context"

	"rehearse/graph"
	"rehearse/internal/sitebot"
	"rehearse/internal/sitebot/lead"
	"rehearse/internal/sitebot/register"
	"rehearse/internal/store"
)

// sessionStore keeps sessions, and the leads that they leave.
type sessionStore interface {
	graph.Checkpointer
	lead.Outbox
	lead.Ledger
}

// keeper opens the store of sessions, and the locks that keep two turns of one session apart.
func (s *Sites) keeper(ctx context.Context) (sessionStore, sitebot.Locks, error) {
	s.lasting = s.options.Redis != "" || s.options.Store != ""
	switch {
	case s.options.Redis != "":
		server, err := store.OpenRedis(ctx, s.options.Redis, store.RedisOptions{TTL: s.options.TTL})
		if err != nil {
			return nil, nil, err
		}
		s.Server, s.closing = server, append(s.closing, server.Close)
		return server, server, nil
	case IsPostgres(s.options.Store):
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
		return database.Checkpoints(s.options.TTL), &store.Locks{}, nil
	}
	return register.NewMemory(graph.MemoryLimits{TTL: s.options.TTL}), &store.Locks{}, nil
}
