package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"rehearse/internal/dataset"
	"rehearse/internal/dataset/conversation"
	"rehearse/internal/graph"
	"rehearse/internal/sitebot"
	"rehearse/internal/sitebot/site"
	"rehearse/internal/source"
	"rehearse/internal/store"
)

// Places returns the places of datasets: files, stores and Langfuse. progress is called during long operations. A store without a path is
// that of the configuration for this folder, which is read when such a store is opened.
func (s *Setup) Places(progress func(what string, done int)) *dataset.Places {
	return &dataset.Places{Store: s.datasets, Langfuse: s.Langfuse, Progress: progress, Now: s.Now}
}

// datasets opens the datasets of the store at an address. It creates a missing file only with create.
func (s *Setup) datasets(ctx context.Context, address string, create bool) (dataset.Store, func() error, error) {
	if IsPostgres(address) {
		p, err := store.OpenPostgres(ctx, address)
		if err != nil {
			return nil, nil, err
		}
		return p.Datasets(), p.Close, nil
	}
	path, named := strings.CutPrefix(address, "sqlite:")
	switch {
	case !named:
		here, err := s.At(".")
		if err != nil {
			return nil, nil, err
		}
		if path = here.StorePath(); IsPostgres(path) {
			return s.datasets(ctx, path, create)
		}
	case path == "":
		return nil, nil, source.Invalid("%s names no file: write sqlite:PATH#NAME", address)
	}
	if _, err := os.Stat(path); err != nil && !create { // opening would create one
		return nil, nil, source.Invalid("cannot open the store: %w; name another one, or put a dataset into it with `rehearse dataset push FILE %s --create`",
			err, dataset.Name{Kind: dataset.InStore, Store: address, Dataset: "NAME"})
	}
	opened, err := s.StoreAt(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	return opened.Datasets(), func() error { return nil }, nil // Setup closes it
}

// Sessions is an open store of chatbots' sessions. Close it.
type Sessions struct {
	conversation.Sessions
	// Where names the store without its password.
	Where string
	close func() error
}

// Close closes the store.
func (s *Sessions) Close() error { return s.close() }

// redisURL matches the scheme of a Redis address.
var redisURL = regexp.MustCompile(`^(rediss?|unix)://`)

// OpenSessions opens an existing store of sessions: sqlite:PATH, a bare path, or redis://HOST:PORT.
func OpenSessions(ctx context.Context, address string) (*Sessions, error) {
	if redisURL.MatchString(address) {
		server, err := store.OpenRedis(ctx, address, store.RedisOptions{})
		if err != nil {
			return nil, err
		}
		return &Sessions{server, server.String(), server.Close}, nil
	}
	path, scheme := SQLitePath(address)
	if path == "" || scheme != "" {
		return nil, source.Invalid("--store: sessions are kept in a file or in a Redis: write sqlite:PATH or redis://HOST:PORT")
	}
	if _, err := os.Stat(path); err != nil { // opening would create one
		return nil, source.Invalid("--store: %w; name the file that `rehearse serve --store` keeps", err)
	}
	opened, err := store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return &Sessions{opened.Checkpoints(0), path, opened.Close}, nil
}

// SessionReader returns a chatbot that only reads sessions. It knows the name of its site and has no models.
func SessionReader(name string, kept graph.Checkpointer) (*sitebot.Bot, error) {
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
	return sitebot.New(sitebot.Config{
		Sites: library, Checkpoints: kept,
		Models: func(*site.Site) (sitebot.Models, error) {
			return sitebot.Models{}, errors.New("no models: sessions are only read")
		},
	})
}
