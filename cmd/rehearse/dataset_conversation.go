package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"rehearse/internal/dataset"
	"rehearse/internal/dataset/conversation"
	"rehearse/internal/evaluation"
	"rehearse/internal/runlog"
	"rehearse/internal/store"
	"rehearse/internal/suite"
)

// conversation finds the conversation that the flags name.
func (f *addFlags) conversation(ctx context.Context, env *Env, places *dataset.Places) (c *conversation.Recorded, err error) {
	switch {
	case f.run != "":
		c, err = f.fromRun(ctx, env)
	case f.store != "":
		c, err = f.fromStore(ctx)
	default:
		c, err = f.fromLangfuse(ctx, env, places)
	}
	if err == nil && f.site != "" {
		c.Site = f.site
	}
	return c, err
}

func (f *addFlags) fromRun(ctx context.Context, env *Env) (*conversation.Recorded, error) {
	dir, err := env.findRun(ctx, f.run, "", ".")
	if err != nil {
		return nil, err
	}
	run, err := runlog.ReadRun(dir)
	if err != nil {
		return nil, usage("cannot read the run: %w", err)
	}
	return conversation.OfTest(&run, dir, runlog.Read(dir), conversation.Selection{Test: f.test, Suite: f.suite, Target: f.target, Trial: f.trial})
}

// origin reads again what a run was made of.
func origin(ctx context.Context, env *Env, places *dataset.Places) conversation.Origin {
	return conversation.Origin{
		Suites: func(file string) ([]*suite.Suite, error) {
			suites, problems, err := evaluation.Load([]string{file}, env.LookupEnv)
			if err == nil {
				err = problems.Err()
			}
			return suites, err
		},
		Records: func(text string) ([]dataset.Record, error) {
			name, err := dataset.ParseName(text)
			if err != nil {
				return nil, err
			}
			return places.Read(ctx, name)
		},
	}
}

func (f *addFlags) fromLangfuse(ctx context.Context, env *Env, places *dataset.Places) (*conversation.Recorded, error) {
	client, err := places.Langfuse()
	if err != nil {
		return nil, usage("--from-session looks in Langfuse: %w; or name the store of a chatbot with --store", err)
	}
	c, unread, err := conversation.OfSession(ctx, client, f.session)
	if len(unread) > 0 {
		fmt.Fprintf(env.Stderr, "rehearse: %s without what a user said left out: %s\n", plural(len(unread), "trace"), fewIDs(unread))
	}
	return c, err
}

func (f *addFlags) fromStore(ctx context.Context) (c *conversation.Recorded, err error) {
	kept, where, closing, err := openSessions(ctx, f.store)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closing()) }()
	return conversation.OfChatbot(ctx, kept, where, f.site, f.session)
}

// redisURL is what begins the address of a Redis.
var redisURL = regexp.MustCompile(`^(rediss?|unix)://`)

// openSessions opens a store of sessions that is there already; where names it without its password.
func openSessions(ctx context.Context, name string) (kept conversation.Sessions, where string, closing func() error, err error) {
	if redisURL.MatchString(name) {
		server, err := store.OpenRedis(ctx, name, store.RedisOptions{})
		if err != nil {
			return nil, "", nil, err
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
		return nil, "", nil, err
	}
	return opened.Checkpoints(0), path, opened.Close, nil
}
