package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

func newLeads(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "leads",
		Short: "See which leads of site chatbots were delivered, and send them again",
		Long: `Leads of the chatbots of websites wait in the store of the server until the site's webhook and PostHog have taken them; rehearse serve delivers
them. These commands look at that store, also while a server works on it.`,
	}
	return group(c, newLeadsList(env), newLeadsResend(env))
}

// sessionStore are the flags that name a store of sessions; redis is empty for commands that read no states.
type sessionStore struct{ store, redis string }

func (f *sessionStore) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.store, "store", "", "the store of the server: sqlite:PATH or postgres://… (default: "+
		"that of the configuration; REHEARSE_STORE stands in)")
}

func (f *sessionStore) registerRedis(flags *pflag.FlagSet) {
	flags.StringVar(&f.redis, "redis", "", "the Redis of the server, redis://HOST:PORT, if it has one for sessions")
}

// open opens the store, does something with it, and closes it.
func (f *sessionStore) open(ctx context.Context, env *Env, do func(*chatbot.Sessions) error) error {
	s, err := env.here(wire.Options{})
	if err != nil {
		return outcome(err)
	}
	defer env.closed(s)
	return outcome(chatbot.WithSessions(ctx, s.RunsStore(f.store, wire.StateDir), f.redis, do))
}

// leadsFlags select leads.
type leadsFlags struct {
	sessionStore
	site, session, state, format string
}

func newLeadsList(env *Env) *cobra.Command {
	f := &leadsFlags{}
	c := &cobra.Command{
		Use:   "list",
		Short: "List leads, the oldest first",
		Example: `  rehearse leads list --store sqlite:chat.db --state failed
  rehearse leads list --store postgres://localhost/chat --site acme.example --format json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return f.open(c.Context(), env, func(s *chatbot.Sessions) error { return f.list(c.Context(), env, s) })
		},
	}
	f.register(c.Flags())
	c.Flags().StringVar(&f.site, "site", "", "only leads of this site")
	c.Flags().StringVar(&f.session, "session", "", "only leads of this session")
	c.Flags().StringVar(&f.state, "state", "", "only leads in this state: pending, delivered or failed")
	c.Flags().StringVar(&f.format, "format", "text", "text or json")
	return c
}

func (f *leadsFlags) check() error {
	switch {
	case f.state != "" &&
		!slices.Contains([]string{string(lead.Pending), string(lead.Delivered), string(lead.Failed)}, f.state):
		return usage("--state %q: use pending, delivered or failed", f.state)
	case f.format != "text" && f.format != "json":
		return usage("--format %q: use text or json", f.format)
	}
	return nil
}

func (f *leadsFlags) list(ctx context.Context, env *Env, s *chatbot.Sessions) error {
	rows, err := s.Leads(ctx, lead.Filter{Site: f.site, Session: f.session, State: lead.State(f.state)})
	if err != nil {
		return err
	}
	if f.format == "json" {
		e := json.NewEncoder(env.Stdout)
		e.SetEscapeHTML(false)
		return e.Encode(map[string][]lead.Row{"leads": rows})
	}
	if len(rows) == 0 {
		fmt.Fprintln(env.Stderr, "there are no such leads")
		return nil
	}
	table := [][]string{{"id", "site", "session", "event", "receiver", "state", "attempts", "last error"}}
	for _, r := range rows {
		failure := ""
		if r.LastError != nil {
			failure = *r.LastError
		}
		table = append(table, []string{
			r.ID, harmless(r.Site), harmless(r.Session), r.Event, r.Receiver, string(r.State), fmt.Sprint(r.Attempts),
			harmless(failure),
		})
	}
	for _, line := range text.Table(table, nil) {
		fmt.Fprintln(env.Stdout, line)
	}
	return nil
}

func newLeadsResend(env *Env) *cobra.Command {
	f := &sessionStore{}
	all := false
	c := &cobra.Command{
		Use:   "resend ID…|--all",
		Short: "Have leads sent again",
		Long: `Make leads pending and due now, under the ids that they have. The server of the store sends them within seconds. A lead that was delivered more
than a week ago is not kept any more and cannot be sent.`,
		Example: `  rehearse leads resend 5d41402abc4b2a76b9719d911017c592 --store sqlite:chat.db
  rehearse leads resend --all --store postgres://localhost/chat`,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return usage("--all sends every lead: leave the ids out")
			case !all && len(args) == 0:
				return usage(
					"name the leads that are to be sent again, or say --all; `rehearse leads list` has their ids")
			}
			return f.open(c.Context(), env, func(s *chatbot.Sessions) error {
				return resend(c.Context(), env, s, args)
			})
		},
	}
	f.register(c.Flags())
	c.Flags().BoolVar(&all, "all", false, "every lead, those that were delivered too")
	return c
}

// resend has leads sent again, and says which it could not find.
func resend(ctx context.Context, env *Env, s *chatbot.Sessions, ids []string) error {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	resent, err := s.Resend(ctx, env.Now(), ids...)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "resent %d\n", len(resent))
	missing := slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(resent, id) })
	if len(missing) > 0 {
		return usage("there is no lead %s, or it is not kept any more: `rehearse leads list` shows what is there",
			harmless(strings.Join(missing, ", ")))
	}
	return nil
}
