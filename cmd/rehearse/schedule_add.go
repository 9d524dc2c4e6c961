package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/fleet/schedule"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// notScheduled are flags of run that say nothing about the run itself, or that no server can do.
var notScheduled = []string{
	"resume", "rerun", "watch", "record", "replay", "target-curl", "target-url", "local-prompt", "ignore-target",
	"dry-run", "fail-on", "out", "format", "grace", "detach", "quiet", "verbose", "no-color", "server", "token-env",
	"ci", "report-url", "baseline-optional",
}

// shownOnly are flags of any command that say how somebody who waits for a run is shown it.
var shownOnly = []string{
	"out", "format", "ci", "quiet", "verbose", "no-color", "grace", "detach", "fail-on", "report-url",
	"baseline-optional", "classes", "write-predictions", "agentic-system",
}

func newScheduleAdd(env *Env, asking *requestFlags) *cobra.Command {
	f := &runFlags{}
	var cron, zone string
	c := &cobra.Command{
		Use:   "add NAME --cron CRON [SUITE… | -- COMMAND…]",
		Short: "Add a schedule",
		Long: `Add a schedule of suites, or of the run that a command has a server hold: run, e2e, classify or replay run, written after -- as it is typed, without its
--server. What is run is sent to the server with every file that it names. For suites, the flags of run say how they are run.

A time that is left out when clocks are put forward is due at that moment, a time that comes twice at the first; a schedule of every hour goes on
with the time that passes.`,
		Example: `  rehearse schedule add nightly --cron '0 3 * * *' --timezone Europe/Berlin evals/ --server https://rehearse.example
  rehearse schedule add smoke --cron '@every 15m' evals/ --tag smoke --target shop --server http://127.0.0.1:8090
  rehearse schedule add answers --cron '0 4 * * *' --server $URL -- e2e items.jsonl --sites sites --judge openai:gpt-5
  rehearse schedule add intents --cron '@every 12h' --server $URL -- classify items.jsonl --target router --macro-f1 0.9
  rehearse schedule add log --cron '0 5 * * 1' --server $URL -- replay run --variant_id new --baseline_variant_id old --flow_id ride_book --start_date 2026-01-01 --end_date 2026-01-31`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := schedule.Parse(cron, zone); err != nil {
				return outcome(err)
			}
			server, err := asking.open(env)
			if err != nil {
				return err
			}
			defer server.Close()
			spec, err := scheduledSpec(c, env, f, asking.server, args)
			if err != nil {
				return outcome(err)
			}
			made, err := server.AddSchedule(c.Context(), args[0], cron, zone, spec)
			if err != nil {
				return refused(err)
			}
			if asking.format == "json" {
				return printJSON(env.Stdout, made.Body)
			}
			_, err = fmt.Fprintf(env.Stdout, "added %s, due next at %s\n", made.Name,
				made.NextAt.Local().Format(time.DateTime))
			return outcome(err)
		},
	}
	all := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.register(all)
	for _, name := range notScheduled {
		all.Lookup(name).Hidden = true
	}
	all.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			c.Flags().AddFlag(flag)
		}
	})
	c.Flags().StringVar(&cron, "cron", "",
		"when: five fields such as '0 3 * * 1-5', or @every D with D of a second or more")
	c.Flags().StringVar(&zone, "timezone", "", "time zone of the fields, such as Europe/Berlin (default UTC)")
	return c
}

// scheduledSpec returns the run that a schedule is of, with every file that it reads.
func scheduledSpec(c *cobra.Command, env *Env, f *runFlags, server serverFlags, args []string) (runspec.Spec, error) {
	if dash := c.ArgsLenAtDash(); dash >= 0 && dash < len(args) {
		words, prepare := commandOf(args[dash:])
		switch {
		case prepare == nil:
		case dash != 1:
			return runspec.Spec{},
				usage("a schedule is of suites or of one command: write NAME, then -- and the command")
		default:
			if err := onlyBefore(c.Flags()); err != nil {
				return runspec.Spec{}, err
			}
			return commandSpec(c.Context(), env, words, prepare, server, args[dash+len(words):])
		}
	}
	f.suites = args[1:]
	f.noteChanged(c.Flags())
	if err := f.check(); err != nil {
		return runspec.Spec{}, err
	}
	sent, err := f.gather(c.Context(), env)
	return sent.Spec, err
}

// onlyBefore refuses flags of run before a command, which has its own after --.
func onlyBefore(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(flag *pflag.Flag) {
		if err == nil && !slices.Contains([]string{"cron", "timezone", "server", "token-env", "format", envFileFlag},
			flag.Name) {
			err = usage("--%s is of the command: write it after --", flag.Name)
		}
	})
	return err
}

// specReader returns the run that the arguments of a command ask for, once its flags are parsed.
type specReader func(ctx context.Context, env *Env, args []string) (runspec.Spec, error)

// commandOf returns the words that name a command whose run a server holds, and what registers its flags; nil for other
// words.
func commandOf(args []string) (words []string, prepare func(*cobra.Command, serverFlags) specReader) {
	for _, known := range []struct {
		name    string
		prepare func(*cobra.Command, serverFlags) specReader
	}{
		{"run", scheduledSuites}, {"e2e", scheduledAnswers}, {"classify", scheduledClassification},
		{"replay run", scheduledReplay},
	} {
		if words := strings.Fields(known.name); len(args) >= len(words) && slices.Equal(args[:len(words)], words) {
			return words, known.prepare
		}
	}
	return nil, nil
}

// commandSpec reads the rest of a command as the command itself does with --server, and returns the run that it asks
// for.
func commandSpec(
	ctx context.Context, env *Env, words []string, prepare func(*cobra.Command, serverFlags) specReader,
	server serverFlags, rest []string,
) (spec runspec.Spec, err error) {
	at := &cobra.Command{Use: "rehearse"}
	for _, word := range words {
		below := &cobra.Command{Use: word}
		at.AddCommand(below)
		at = below
	}
	ask := prepare(at, server)
	registerEnvFile(at.Flags())
	switch err := at.ParseFlags(rest); {
	case errors.Is(err, pflag.ErrHelp):
		return spec, usage("see `%s --help`", at.CommandPath())
	case err != nil:
		return spec, usage("%w (see `%s --help`)", err, at.CommandPath())
	}
	for _, name := range []string{"server", "token-env", envFileFlag} {
		if at.Flags().Changed(name) {
			return spec, usage("--%s is of the schedule: write it before --", name)
		}
	}
	for _, name := range shownOnly {
		if at.Flags().Changed(name) {
			return spec, usage("--%s says nothing about a run that nobody waits for: leave it out", name)
		}
	}
	return ask(ctx, env, at.Flags().Args())
}

func scheduledSuites(c *cobra.Command, server serverFlags) specReader {
	f := &runFlags{}
	f.register(c.Flags())
	return func(ctx context.Context, env *Env, args []string) (runspec.Spec, error) {
		if len(args) == 0 {
			return runspec.Spec{}, usage("name at least one suite (see `%s --help`)", c.CommandPath())
		}
		f.server, f.suites = server, args
		f.noteChanged(c.Flags())
		if err := errors.Join(f.checkServer(c.Flags()), f.check()); err != nil {
			return runspec.Spec{}, err
		}
		sent, err := f.gather(ctx, env)
		return sent.Spec, err
	}
}

func scheduledAnswers(c *cobra.Command, server serverFlags) specReader {
	f := &e2eFlags{}
	f.register(c.Flags())
	return func(ctx context.Context, env *Env, args []string) (runspec.Spec, error) {
		f.server = server
		if err := f.said(c, args); err != nil {
			return runspec.Spec{}, err
		}
		sent, _, err := f.gather(ctx, env, args[0])
		return sent.Spec, err
	}
}

func scheduledClassification(c *cobra.Command, server serverFlags) specReader {
	f := &classifyFlags{}
	f.register(c.Flags())
	return func(ctx context.Context, env *Env, args []string) (runspec.Spec, error) {
		if len(args) != 1 {
			return runspec.Spec{}, f.unnamed(c)
		}
		f.run.server = server
		f.said(c, args[0])
		if err := f.checkServer(c.Flags()); err != nil {
			return runspec.Spec{}, err
		}
		sent, _, err := f.gather(ctx, env)
		return sent.Spec, err
	}
}

func scheduledReplay(c *cobra.Command, server serverFlags) specReader {
	f := &replayFlags{}
	f.register(c.Flags())
	underscored(c)
	return func(ctx context.Context, env *Env, args []string) (runspec.Spec, error) {
		if len(args) > 0 {
			return runspec.Spec{}, usage("%s takes no arguments: %s", c.CommandPath(), args[0])
		}
		f.server = server
		if err := f.checkServer(c.Flags()); err != nil {
			return runspec.Spec{}, err
		}
		return f.gather(ctx, env, c.Flags())
	}
}
