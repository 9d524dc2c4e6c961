package main

import (
	"context"
	"errors"
	"fmt"

	"rehearse/internal/dataset"
	"rehearse/internal/dataset/conversation"
	"rehearse/internal/evaluation"
	"rehearse/internal/runlog"
	"rehearse/internal/setup"
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
	kept, err := setup.OpenSessions(ctx, f.store)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	return conversation.OfChatbot(ctx, kept, setup.SessionReader, kept.Where, f.site, f.session)
}
