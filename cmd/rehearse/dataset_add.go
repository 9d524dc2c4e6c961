package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/data/dataset/conversation"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// addFlags is what can be said on the command line of dataset add.
type addFlags struct {
	run, test, suite, target string
	session, store, redis    string
	turn, trial              int
	site, expected, id       string
	replace, create          bool
}

func newDatasetAdd(env *Env) *cobra.Command {
	f := &addFlags{}
	c := &cobra.Command{
		Use:   "add NAME|FILE",
		Short: "Make an item of a conversation that failed or was logged",
		Long: `Make an item of a turn of a conversation, and add it to a file (.jsonl, also .gz; made if it is missing) or to a dataset in Langfuse or in a store. The query
is what the user said in that turn, the history what was said before.

The conversation is one of a run (--from-run RUN --test ID), a session in Langfuse (--from-session ID), or a session of a chatbot in its own store
(--store sqlite:PATH or postgres://…, --redis redis://HOST:PORT if the server has one, --from-session ID, and --site NAME where several sites have such a session). Of a run the first failed turn is taken, of a session the last, or the one that --turn names.

What is expected is what the test expected of the turn, or --expected; else it is left empty, to be written in.`,
		Example: `  rehearse dataset add items.jsonl --from-run latest --test refund-twice
  rehearse dataset add main-dataset --from-run .rehearse/runs/ID --test refund-twice --turn 2 --expected "Says that it was refunded."
  rehearse dataset add langfuse:main-dataset --from-session 4f1c --site acme.example
  rehearse dataset add items.jsonl --store sqlite:chat.db --from-session 4f1c
  rehearse dataset add items.jsonl --store sqlite:chat.db --redis redis://localhost:6379 --site acme.example --from-session 4f1c`,
		Args: named(1, "name one file (.jsonl) or one dataset in Langfuse or in a store"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(c.Flags()); err != nil {
				return err
			}
			return onDatasets(c.Context(), env, func(ctx context.Context, places *dataset.Stores) error {
				name, err := f.destination(places, args[0])
				if err != nil {
					return err
				}
				return f.add(ctx, env, places, name)
			})
		},
	}
	f.register(c.Flags())
	return c
}

func (f *addFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.run, "from-run", "", "a run: its folder, its id, or latest")
	flags.StringVar(&f.test, "test", "", "with --from-run: the id of the test")
	flags.StringVar(&f.suite, "suite", "", "with --from-run: the suite, where several have such a test")
	flags.StringVar(&f.target, "target", "", "with --from-run: the target, where the test ran with several")
	flags.IntVar(&f.trial, "trial", 0, "with --from-run: the trial (default: the first that failed)")
	flags.StringVar(&f.session, "from-session", "", "a session in Langfuse, or with --store of a chatbot: its id")
	flags.StringVar(&f.session, "session", "", "the same as --from-session")
	flags.Lookup("session").Hidden = true
	flags.StringVar(&f.store, "store", "", "the store of a chatbot's sessions: sqlite:PATH or postgres://…")
	flags.StringVar(&f.redis, "redis", "",
		"with --store: the Redis of the server, redis://HOST:PORT, if it has one for sessions")
	flags.IntVar(&f.turn, "turn", 0, "the turn that becomes the item, from 1")
	flags.StringVar(&f.site, "site", "",
		"the site_name of the item (default: that of the run or, with --store, the only site that has the session)")
	flags.StringVar(&f.expected, "expected", "", "what a good answer is, in words")
	flags.StringVar(&f.id, "id", "", "the id of the item (default: made of the conversation and the turn)")
	flags.BoolVar(&f.replace, "replace", false, "replace an item that has the id already")
	flags.BoolVar(&f.create, "create", false, "create the dataset in Langfuse or in the store if it is missing")
}

func (f *addFlags) check(flags *pflag.FlagSet) error {
	said := func(names ...string) string {
		for _, name := range names {
			if flags.Changed(name) {
				return "--" + name
			}
		}
		return ""
	}
	onlyRun, onlySession := said("test", "suite", "target", "trial"), said("store", "redis")
	switch {
	case f.run == "" && f.session == "":
		return usage("say which conversation: --from-run RUN --test ID, --from-session ID, " +
			"or --store sqlite:PATH --from-session ID")
	case f.run != "" && f.session != "":
		return usage("--from-run and --from-session exclude each other: name one conversation")
	case f.run != "" && f.test == "":
		return usage("--from-run needs --test ID: `rehearse show %s` lists the tests", f.run)
	case f.run == "" && onlyRun != "":
		return usage("%s belongs to --from-run: leave it out", onlyRun)
	case f.run != "" && onlySession != "":
		return usage("%s belongs to --session: leave it out", onlySession)
	case flags.Changed("turn") && f.turn < 1 || flags.Changed("trial") && f.trial < 1:
		return usage("--turn and --trial count from 1")
	case len(f.id) > 255:
		return usage("--id has %d bytes: use at most 255", len(f.id))
	}
	return nil
}

// add makes the item and puts it where it belongs.
func (f *addFlags) add(ctx context.Context, env *Env, places *dataset.Stores, name dataset.Name) error {
	c, err := f.conversation(ctx, env, places)
	if err != nil {
		return err
	}
	turn, err := c.Turn(f.turn)
	if err != nil {
		return err
	}
	r, err := f.item(ctx, env, places, c, turn)
	if err != nil {
		return err
	}
	put, err := places.Add(ctx, name, r, dataset.AddOptions{Replace: f.replace, Create: f.create})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "%s: added %s, made of turn %d of %s\n", harmless(name.String()), harmless(r.ID), turn,
		harmless(c.String()))
	if f.turn == 0 {
		fmt.Fprintf(env.Stderr, "turn %d is %s; --turn N takes another one of %d\n", turn, c.Chosen(), c.Turns())
	}
	if !put.Expects() {
		fmt.Fprintln(env.Stderr, "no expected answer is known: write one into expected_output.response, "+
			"or say --expected TEXT (with --replace)")
	}
	return nil
}

// destination reads the argument: a path to a file of lines, or the name of a dataset.
func (f *addFlags) destination(places *dataset.Stores, text string) (dataset.Name, error) {
	name, err := dataset.ParseName(text)
	if err == nil {
		name, err = name.Appendable()
	}
	switch {
	case err != nil:
		return name, outcome(source.AsInvalid(err))
	case name.Kind == dataset.InFile && f.create:
		return name,
			usage("--create makes a dataset in Langfuse; %s is a file, which is made in any case: leave it out", text)
	case name.Kind == dataset.InLangfuse:
		if _, err := places.Langfuse(); err != nil {
			return name,
				usage("%q is a dataset in Langfuse, but %w; name a file, ending in .jsonl, to keep the item there",
					name.Dataset, err)
		}
	}
	return name, nil
}

// item makes an item of a turn as the flags say, without secrets.
func (f *addFlags) item(ctx context.Context, env *Env, places *dataset.Stores, c *conversation.Recorded,
	turn int) (dataset.Record, error) {
	r, err := c.Item(turn)
	if err != nil {
		return r, err
	}
	r.ID = cmp.Or(f.id, r.ID)
	if r.Expected = dataset.Response(f.expected); f.expected == "" {
		var unread []string
		r.Expected, unread = c.Expected(turn, origin(ctx, env, places))
		for _, name := range unread {
			fmt.Fprintf(env.Stderr, "rehearse: %s cannot be read any more, so that it is not known what was expected\n",
				harmless(name))
		}
	}
	secrets := env.secrets
	for _, part := range []*json.RawMessage{&r.Input, &r.Expected, &r.Metadata} {
		*part = secrets.Bytes(*part)
	}
	return r, nil
}

// conversation finds the conversation that the flags name.
func (f *addFlags) conversation(ctx context.Context, env *Env,
	places *dataset.Stores) (c *conversation.Recorded, err error) {
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
	return conversation.OfTest(&run, dir, runlog.Read(dir), conversation.Selection{
		Test: f.test, Suite: f.suite, Target: f.target, Trial: f.trial,
	})
}

// origin reads again what a run was made of.
func origin(ctx context.Context, env *Env, places *dataset.Stores) conversation.Origin {
	return conversation.Origin{
		Suites: func(file string) ([]*suite.Suite, error) {
			suites, problems, err := evaluation.Load([]string{file}, wire.Suites(env.secrets, env.LookupEnv))
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

func (f *addFlags) fromLangfuse(ctx context.Context, env *Env, places *dataset.Stores) (*conversation.Recorded, error) {
	client, err := places.Langfuse()
	if err != nil {
		return nil, usage("--from-session looks in Langfuse: %w; or name the store of a chatbot with --store", err)
	}
	c, unread, err := conversation.OfSession(ctx, client, f.session)
	if len(unread) > 0 {
		fmt.Fprintf(env.Stderr, "rehearse: %s without what a user said left out: %s\n", plural(len(unread), "trace"),
			fewIDs(unread))
	}
	return c, err
}

func (f *addFlags) fromStore(ctx context.Context) (c *conversation.Recorded, err error) {
	kept, err := chatbot.OpenSessions(ctx, f.store, f.redis)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	return conversation.OfChatbot(ctx, kept, chatbot.SessionReader, kept.Where, f.site, f.session)
}
