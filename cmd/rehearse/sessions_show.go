package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// oneSession are the flags for one session.
type oneSession struct {
	sessionStore
	site, format string
}

// command declares the flags and runs do with the chatbot of the session's site.
func (f *oneSession) command(env *Env, c *cobra.Command,
	do func(ctx context.Context, bot *sitebot.Bot, site, id string) error) *cobra.Command {
	c.Args = named(1, "name one session; `rehearse sessions list` lists them")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := formatted(f.format); err != nil {
			return err
		}
		return f.open(c.Context(), env, func(s *chatbot.Sessions) error {
			site, err := s.SiteOf(c.Context(), f.site, args[0])
			if err != nil {
				return err
			}
			if site == "" {
				return usage("there is no session %s in %s: `rehearse sessions list` lists them",
					harmless(args[0]), s.Where)
			}
			bot, err := s.Operator(site)
			if err != nil {
				return err
			}
			return chatbot.FaultOf(do(c.Context(), bot, site, args[0]))
		})
	}
	f.register(c.Flags())
	f.registerRedis(c.Flags())
	c.Flags().StringVar(&f.site, "site", "", "the site of the session (default: the only one that has it)")
	c.Flags().StringVar(&f.format, "format", "text", "text or json")
	return c
}

func newSessionsShow(env *Env) *cobra.Command {
	f := &oneSession{}
	c := &cobra.Command{
		Use:     "show SESSION",
		Short:   "Show a session turn by turn",
		Example: `  rehearse sessions show 4f1c --store sqlite:chat.db`,
	}
	return f.command(env, c, func(ctx context.Context, bot *sitebot.Bot, site, id string) error {
		s, err := bot.Session(ctx, site, id)
		if err != nil || f.format == "json" {
			if err == nil {
				err = env.asJSON(s)
			}
			return err
		}
		f.show(env, site, s)
		return nil
	})
}

// show prints a session.
func (f *oneSession) show(env *Env, site string, s *sitebot.Session) {
	print := func(format string, args ...any) { fmt.Fprintf(env.Stdout, format+"\n", args...) }
	r := s.Row
	print("%s of %s: %s, %s from %s to %s", harmless(r.Session), harmless(site), r.Outcome,
		text.Plural(r.Turns, "turn"), r.Started.Format(time.RFC3339), r.Last.Format(time.RFC3339))
	for _, t := range s.Turns {
		print("\n%d  %s  %s %s", t.Number, t.At.Format(time.RFC3339), harmless(t.Route), harmless(t.Action))
		print("   visitor: %s", harmless(t.Input))
		print("   chatbot: %s", harmless(t.Response))
		for _, warning := range t.Warnings {
			print("   warning: %s", harmless(warning))
		}
		for _, v := range s.Feedback {
			if v.Turn == t.Number {
				print("   thumb %s: %s", v.Rating, harmless(v.Comment))
			}
		}
	}
	for _, failure := range s.Failures {
		print("\nnot answered  %s  %s", failure.At.Format(time.RFC3339), harmless(failure.Code))
	}
	for _, l := range s.Leads {
		print("\nlead  %s to %s: %s", l.Event, l.Receiver, l.State)
	}
}

// checkpoint is a checkpoint as it is listed.
type checkpoint struct {
	ID     string    `json:"id"`
	Parent string    `json:"parent"`
	Turn   int       `json:"turn"`
	Source string    `json:"source"`
	At     time.Time `json:"at"`
}

func newSessionsHistory(env *Env) *cobra.Command {
	f := &oneSession{}
	c := &cobra.Command{
		Use:   "history SESSION",
		Short: "List the checkpoints of a session, the oldest first",
		Long: "List the checkpoints of a session: its state after each turn, " +
			"and after what was injected or counted.",
		Example: `  rehearse sessions history 4f1c --store sqlite:chat.db`,
	}
	return f.command(env, c, func(ctx context.Context, bot *sitebot.Bot, site, id string) error {
		records, err := bot.History(ctx, site, id)
		if err != nil {
			return err
		}
		all := make([]checkpoint, 0, len(records))
		table := [][]string{{"id", "parent", "turn", "source", "at"}}
		for _, r := range records {
			all = append(all, checkpoint{r.ID, r.Parent, r.Turn, r.Source, r.At})
			table = append(table, []string{r.ID, r.Parent, fmt.Sprint(r.Turn), r.Source, r.At.Format(time.RFC3339)})
		}
		if f.format == "json" {
			return env.asJSON(map[string]any{"checkpoints": all})
		}
		for _, line := range text.Table(table, nil) {
			fmt.Fprintln(env.Stdout, line)
		}
		return nil
	})
}
