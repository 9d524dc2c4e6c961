package chatbot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset/conversation"
	"github.com/rehearse-dev/rehearse/internal/run/store"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// sessionRecords are the sessions of chatbots with the leads that they have left.
type sessionRecords interface {
	conversation.Sessions
	lead.Ledger
	sitebot.Outbox
	sessionindex.Index
}

// Sessions is an open store of chatbots' sessions. Close it.
type Sessions struct {
	sessionRecords
	// Where names the store without its password.
	Where string
	// locks keep turns apart from what is done here, where the store has locks for all processes.
	locks sitebot.Locks
	// history is what the same store has besides, and cache what is known of visitors; each is nil where it is
	// elsewhere.
	history *storage.History
	cache   enrich.Cache
	close   func() error
}

// Close closes the store.
func (s *Sessions) Close() error { return s.close() }

// redisURL matches the scheme of a Redis address.
var redisURL = text.Regexp(`^(rediss?|unix)://`)

// OpenSessions opens an existing store of sessions: sqlite:PATH, a bare path or postgres://…, and with a server
// redis://HOST:PORT for their states, if redis is not empty.
func OpenSessions(ctx context.Context, address, redis string) (*Sessions, error) {
	opened, err := sessionsInDatabase(ctx, address)
	if err != nil || redis == "" {
		return opened, err
	}
	server, err := store.OpenRedis(ctx, redis, store.RedisOptions{})
	if err != nil {
		return nil, errors.Join(err, opened.close())
	}
	// no turns are saved here
	sessions := store.NewRedisSessions(server, opened.sessionRecords.(store.SessionIndex), func(error) {})
	return &Sessions{
		sessionRecords: sessions, Where: server.String(), locks: sessions,
		history: opened.history, cache: profilesInRedis{server.Cache()},
		close: func() error { return errors.Join(server.Close(), opened.close()) },
	}, nil
}

func sessionsInDatabase(ctx context.Context, address string) (*Sessions, error) {
	if redisURL().MatchString(address) {
		return nil, source.Invalid("--store redis://… removed: use --redis for the states of sessions, " +
			"and --store for the database of the server")
	}
	if storage.IsPostgres(address) {
		return sessionsInPostgres(ctx, address)
	}
	path, scheme := storage.SQLitePath(address)
	if path == "" || scheme != "" {
		return nil, source.Invalid(
			"--store: sessions are in a file or in PostgreSQL: write sqlite:PATH or postgres://USER@HOST/DATABASE")
	}
	if _, err := os.Stat(path); err != nil { // opening would create one
		return nil, source.Invalid("--store: %w; name the file that `rehearse serve --store` keeps", err)
	}
	file, err := store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return &Sessions{
		sessionRecords: file.Checkpoints(0), Where: path, history: storage.OfFile(file), close: file.Close,
	}, nil
}

func sessionsInPostgres(ctx context.Context, address string) (*Sessions, error) {
	database, err := store.OpenPostgres(ctx, address)
	if err != nil {
		return nil, err
	}
	sessions := database.Sessions(0)
	return &Sessions{
		sessionRecords: sessions, Where: sessions.String(), locks: sessions, history: storage.OfPostgres(database),
		close: func() error { return errors.Join(sessions.Close(), database.Close()) },
	}, nil
}

// SessionStore returns where sessions are kept in a store: its file, or its address postgres://….
func SessionStore(address string) string {
	if storage.IsPostgres(address) {
		return address
	}
	path, _ := storage.SQLitePath(address)
	return path
}

// WithSessions opens an existing store of sessions, does something with it, and closes it.
func WithSessions(ctx context.Context, address, redis string, do func(*Sessions) error) error {
	s, err := OpenSessions(ctx, address, redis)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}

// SessionReader returns a chatbot that only reads sessions. It knows the name of its site and has no models.
func SessionReader(name string, sessions graph.Checkpointer) (*sitebot.Bot, error) {
	return sessionBot(name, sitebot.Config{Checkpoints: sessions})
}

// sessionBot returns a chatbot of a site that takes no turns.
func sessionBot(name string, c sitebot.Config) (*sitebot.Bot, error) {
	config, err := json.Marshal(map[string]string{"site": name})
	if err != nil {
		return nil, err
	}
	one, err := site.Load("--site", config)
	if err != nil {
		return nil, source.AsInvalid(err)
	}
	library, err := site.NewLibrary(one)
	if err != nil {
		return nil, fmt.Errorf("the site of a session: %w", err)
	}
	c.Sites = library
	c.Models = func(*site.Site) (sitebot.Models, error) {
		return sitebot.Models{}, errors.New("no models: sessions are only looked at")
	}
	return sitebot.New(c)
}
