package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// sessionFilter are the flags that select sessions.
type sessionFilter struct {
	sessionStore
	site, text, since, until, outcome, cursor, format string
	limit                                             int
}

func (f *sessionFilter) declare(flags *pflag.FlagSet) {
	f.register(flags)
	f.registerRedis(flags)
	flags.StringVar(&f.site, "site", "", "only sessions of this site")
	flags.StringVar(&f.text, "q", "", "only sessions with this text in a message, in any case")
	flags.StringVar(&f.since, "since", "", "only sessions whose last message came at this time or later: 2026-01-31, "+
		"2026-01-31T12:00:00Z, or 24h for a day ago")
	flags.StringVar(&f.until, "until", "", "only sessions whose last message came before this time")
	flags.StringVar(&f.outcome, "outcome", "", "only sessions with this outcome: converted, open, blocked or failed")
}

// query reads the flags.
func (f *sessionFilter) query(now time.Time) (q sitebot.Query, err error) {
	q.Site, q.Text, q.Limit = f.site, f.text, f.limit
	if q.Since, err = momentOf("--since", f.since, now); err != nil {
		return q, err
	}
	if q.Until, err = momentOf("--until", f.until, now); err != nil {
		return q, err
	}
	if q.Outcome = sessionindex.Outcome(f.outcome); f.outcome != "" &&
		!slices.Contains(sessionindex.Outcomes(), q.Outcome) {
		return q, usage("--outcome %q: use converted, open, blocked or failed", f.outcome)
	}
	if f.limit < 0 {
		return q, usage("--limit %d: use 1 or more", f.limit)
	}
	if q.After, err = sessionindex.ParseCursor(f.cursor); err != nil {
		return q, usage("--cursor: %w: use next_cursor as it came", err)
	}
	return q, nil
}

// momentOf reads a time: a day in UTC, a time, or how long ago.
func momentOf(flag, written string, now time.Time) (time.Time, error) {
	if written == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339Nano} {
		if at, err := time.Parse(layout, written); err == nil {
			return at, nil
		}
	}
	ago, err := time.ParseDuration(written)
	if err != nil || ago < 0 {
		return time.Time{}, usage(
			"%s %q: write a day as 2026-01-31, a time as 2026-01-31T12:00:00Z, or how long ago as 24h", flag, written)
	}
	return now.Add(-ago), nil
}

// formatted checks --format.
func formatted(format string) error {
	if format != "text" && format != "json" {
		return usage("--format %q: use text or json", format)
	}
	return nil
}

// asJSON writes one object.
func (e *Env) asJSON(v any) error {
	encoder := json.NewEncoder(e.Stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

func newSessionsList(env *Env) *cobra.Command {
	f := &sessionFilter{}
	c := &cobra.Command{
		Use:   "list",
		Short: "List sessions, those with the newest message first",
		Example: `  rehearse sessions list --store sqlite:chat.db --since 24h --outcome failed
  rehearse sessions list --redis redis://localhost:6379 --site acme.example --q refund --format json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := formatted(f.format); err != nil {
				return err
			}
			q, err := f.query(env.Now())
			if err != nil {
				return err
			}
			return f.open(c.Context(), env, func(s *chatbot.Sessions) error { return f.list(c.Context(), env, s, q) })
		},
	}
	f.declare(c.Flags())
	c.Flags().IntVar(&f.limit, "limit", 50, "at most so many; 0 for all")
	c.Flags().StringVar(&f.cursor, "cursor", "", "next_cursor of the page before")
	c.Flags().StringVar(&f.format, "format", "text", "text or json")
	return c
}

// siteRow is a session of any site.
type siteRow struct {
	Site string `json:"site"`
	sessionindex.Row
}

// unsearched is the error of sessions that could not be searched, and may or may not be among those that are wanted.
func unsearched(list *sitebot.SessionList) error {
	if list.Unreadable == 0 {
		return nil
	}
	return fmt.Errorf("--q: %d sessions could not be searched: this store does not have their messages (name the "+
		"server that has them with --redis)", list.Unreadable)
}

func (f *sessionFilter) list(ctx context.Context, env *Env, s *chatbot.Sessions, q sitebot.Query) error {
	list, err := s.Listed(ctx, q)
	if err != nil {
		return err
	}
	return errors.Join(f.print(env, list), unsearched(list))
}

func (f *sessionFilter) print(env *Env, list *sitebot.SessionList) error {
	switch {
	case f.format == "json" && f.site != "":
		return env.asJSON(list)
	case f.format == "json":
		all := struct {
			Sessions   []siteRow `json:"sessions"`
			Next       *string   `json:"next_cursor"`
			Unreadable int       `json:"unreadable,omitempty"`
		}{[]siteRow{}, list.Next, list.Unreadable}
		for _, r := range list.Sessions {
			all.Sessions = append(all.Sessions, siteRow{r.Site, r})
		}
		return env.asJSON(all)
	case len(list.Sessions) == 0:
		fmt.Fprintln(env.Stderr, "there are no such sessions")
		return nil
	}
	table := [][]string{{"session", "site", "last message", "turns", "outcome", "route", "failed", "up", "down"}}
	for _, r := range list.Sessions {
		table = append(table, []string{
			harmless(r.Session), harmless(r.Site), r.Last.Format(time.RFC3339), fmt.Sprint(r.Turns), string(r.Outcome),
			harmless(r.Route), fmt.Sprint(r.Failed), fmt.Sprint(r.Feedback.Up), fmt.Sprint(r.Feedback.Down),
		})
	}
	for _, line := range text.Table(table, nil) {
		fmt.Fprintln(env.Stdout, line)
	}
	if list.Next != nil {
		fmt.Fprintf(env.Stderr, "there are more: --limit 0, or --cursor %s\n", *list.Next)
	}
	return nil
}
