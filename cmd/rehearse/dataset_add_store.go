package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/graph"
	"rehearse/internal/sitebot"
	"rehearse/internal/sitebot/site"
	"rehearse/internal/source"
	"rehearse/internal/store"
)

// sessionStore keeps the sessions of chatbots: a file, or a Redis.
type sessionStore interface {
	graph.Checkpointer
	ThreadsEnding(ctx context.Context, end string) ([]string, error)
}

// fromStore finds a session of a chatbot in the store that keeps its sessions.
func (f *addFlags) fromStore(ctx context.Context) (c *recorded, err error) {
	kept, where, release, err := openSessions(ctx, f.store)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, outcome(release())) }()
	if f.site == "" {
		if f.site, err = f.onlySite(ctx, kept, where); err != nil {
			return nil, err
		}
	}
	bot, err := reader(f.site, kept)
	if err != nil {
		return nil, err
	}
	state, err := bot.State(ctx, f.site, f.session)
	if e, ok := errors.AsType[*sitebot.Error](err); ok && e.Fault == sitebot.UnknownSession {
		return nil, f.elsewhere(ctx, kept, where)
	}
	var s sitebot.State
	if err == nil {
		err = json.Unmarshal(state, &s)
	}
	if err != nil {
		return nil, endedOr(ctx, err)
	}
	c = &recorded{
		kind: "session", name: f.session, parts: []string{f.site, f.session}, why: "the last", site: f.site,
		source: func(int) map[string]any { return map[string]any{"session": f.session, "site": f.site} },
	}
	for _, m := range s.Messages {
		if m.Role == chat.User {
			c.turns = append(c.turns, len(c.said))
		}
		c.said = append(c.said, utterance{m.Role, m.Content})
	}
	c.chosen = len(c.turns)
	return c, nil
}

// redisURL is what begins the address of a Redis.
var redisURL = regexp.MustCompile(`^(rediss?|unix)://`)

// openSessions opens a store that is there already; where names it without its password.
func openSessions(ctx context.Context, name string) (kept sessionStore, where string, release func() error, err error) {
	if redisURL.MatchString(name) {
		server, err := store.OpenRedis(ctx, name, store.RedisOptions{})
		if err != nil {
			return nil, "", nil, endedOr(ctx, err)
		}
		return server, server.String(), server.Close, nil
	}
	path, _ := strings.CutPrefix(name, "sqlite:")
	if path == "" || strings.Contains(path, "://") {
		return nil, "", nil, usage("--store: sessions are kept in a file or in a Redis: write sqlite:PATH or redis://HOST:PORT")
	}
	if _, err := os.Stat(path); err != nil { // opening would make one
		return nil, "", nil, usage("--store: %w; name the file that `rehearse serve --store` keeps", err)
	}
	opened, err := store.Open(ctx, path)
	if err != nil {
		return nil, "", nil, endedOr(ctx, err)
	}
	return opened.Checkpoints(0), path, opened.Close, nil
}

// sitesOf returns the sites that have a session of the id.
func (f *addFlags) sitesOf(ctx context.Context, kept sessionStore) ([]string, error) {
	behind := sitebot.Thread("", f.session)
	threads, err := kept.ThreadsEnding(ctx, behind)
	if err != nil {
		return nil, endedOr(ctx, err)
	}
	for i := range threads {
		threads[i] = strings.TrimSuffix(threads[i], behind)
	}
	return slices.DeleteFunc(threads, func(site string) bool { return strings.Contains(site, ":") }), nil // that is a longer id
}

// onlySite returns the site of a session of which only the id was said.
func (f *addFlags) onlySite(ctx context.Context, kept sessionStore, where string) (string, error) {
	sites, err := f.sitesOf(ctx, kept)
	switch {
	case err != nil:
		return "", err
	case len(sites) == 0:
		return "", usage("there is no session %q in %s: write the id as the chatbot has it", f.session, where)
	case len(sites) > 1:
		return "", usage("several sites have a session %q in %s: add --site with one of %s", f.session, where, strings.Join(sites, ", "))
	}
	return sites[0], nil
}

// elsewhere says that a site has no such session, and which sites have one.
func (f *addFlags) elsewhere(ctx context.Context, kept sessionStore, where string) error {
	sites, err := f.sitesOf(ctx, kept)
	if err != nil {
		return err
	}
	hint := "write both as the chatbot has them"
	if len(sites) > 0 {
		hint = source.Suggest(f.site, sites)
	}
	return usage("there is no session %q of the site %q in %s: %s", f.session, f.site, where, hint)
}

// reader returns a chatbot that answers nobody: it knows its site by name only, and reads what sessions remember.
func reader(name string, kept graph.Checkpointer) (*sitebot.Bot, error) {
	config, err := json.Marshal(map[string]string{"site": name})
	if err != nil {
		return nil, outcome(err)
	}
	one, err := site.Load("--site", config)
	if err != nil {
		return nil, outcome(source.AsInvalid(err))
	}
	library, err := site.NewLibrary(one)
	if err != nil {
		return nil, outcome(err)
	}
	bot, err := sitebot.New(sitebot.Config{
		Sites: library, Checkpoints: kept,
		Models: func(*site.Site) (sitebot.Models, error) {
			return sitebot.Models{}, errors.New("no models: sessions are only read")
		},
	})
	return bot, outcome(err)
}
