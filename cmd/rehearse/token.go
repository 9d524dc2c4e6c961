package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
)

// tokenFlags are what the commands of tokens have in common.
type tokenFlags struct{ store string }

func newToken(env *Env) *cobra.Command {
	f := &tokenFlags{}
	c := group(&cobra.Command{
		Use:   "token",
		Short: "Make, list and remove the tokens of a server",
		Long: `Make, list and remove the tokens of a server (rehearse serve), which are sent as Authorization: Bearer TOKEN. The store keeps their hashes only.
Where there is one, the server asks everybody for it. A change counts within 5 seconds, also while the server runs.

A scope says what a token opens: read (GET of runs, results, reports, flows, the web pages), run (read, and to submit and cancel runs), test (/execute,
/internal/*, conversations, chats, events) and admin (everything).`,
		Example: `  rehearse token add --scope run --name ci --expires 720h
  rehearse token list
  rehearse token rm ci
  rehearse token add --scope admin --store postgres://rehearse@db.example/rehearse`,
	}, newTokenAdd(env, f), newTokenList(env, f), newTokenRemove(env, f))
	c.PersistentFlags().StringVar(&f.store, "store", "",
		"store of the server: sqlite:PATH or postgres://… (default: REHEARSE_STORE, that of rehearse.yaml, "+
			"or sqlite:.rehearse/rehearse.db)")
	return c
}

// in opens the server's store for do. With find, it has to be there.
func (f *tokenFlags) in(ctx context.Context, env *Env, find bool, do func(access.TokenStore) error) error {
	s, err := env.here(wire.Options{})
	if err != nil {
		return outcome(err)
	}
	defer env.closed(s)
	open := storage.OpenRuns
	if find {
		open = storage.FindRuns
	}
	tokens, closing, err := open(ctx, s.RunsStore(f.store, wire.StateDir))
	if err != nil {
		return outcome(err)
	}
	return outcome(errors.Join(do(tokens), closing()))
}

func newTokenAdd(env *Env, f *tokenFlags) *cobra.Command {
	var wish access.Wish
	var expires time.Duration
	c := &cobra.Command{
		Use:   "add --scope SCOPE,…",
		Short: "Make a token and print it",
		Long:  "Make a token and print it, and nothing else, on stdout. It is shown this once.",
		Example: `  rehearse token add --scope run --name ci
  REHEARSE_TOKEN=$(rehearse token add --scope read,test --expires 24h)`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("name") && wish.Name == "" {
				return usage("--name is empty: leave it out, and one is made up")
			}
			if c.Flags().Changed("expires") {
				if expires <= 0 {
					return usage("--expires %s is out of range: use a time such as 720h", expires)
				}
				wish.Expires = env.Now().Add(expires)
			}
			return f.in(c.Context(), env, false, func(tokens access.TokenStore) error {
				kept, token, err := access.Issue(c.Context(), tokens, wish, env.Now())
				if err != nil {
					return err
				}
				fmt.Fprintln(env.Stdout, token)
				fmt.Fprintf(env.Stderr, "rehearse: the token is called %s and is not shown again\n", kept.Name)
				return nil
			})
		},
	}
	c.Flags().StringSliceVar(&wish.Scopes, "scope", nil, "what the token opens: read, run, test, admin")
	c.Flags().StringVar(&wish.Name, "name", "", "name of the token (default: one that is made up)")
	c.Flags().DurationVar(&expires, "expires", 0,
		"how long the token counts, such as 720h (default: until it is removed)")
	return c
}

func newTokenList(env *Env, f *tokenFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the names, scopes and expiry of tokens",
		Example: "  rehearse token list",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.in(c.Context(), env, true, func(tokens access.TokenStore) error {
				all, err := access.List(c.Context(), tokens)
				if err != nil {
					return err
				}
				w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "NAME\tSCOPES\tEXPIRES")
				for _, t := range all {
					expires := "never"
					if t.ExpiresAt != nil {
						expires = t.ExpiresAt.Local().Format(time.DateTime)
					}
					if t.Expired(env.Now()) {
						expires += " (expired)"
					}
					fmt.Fprintf(w, "%s\t%s\t%s\n", t.Name, strings.Join(t.Scopes, ","), expires)
				}
				return w.Flush()
			})
		},
	}
}

func newTokenRemove(env *Env, f *tokenFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME",
		Short: "Remove a token",
		Long: "Remove a token. Servers refuse it within 5 seconds. With the last token gone, " +
			"a server that has known one rejects every request without a token.",
		Example: "  rehearse token rm ci",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.in(c.Context(), env, true, func(tokens access.TokenStore) error {
				return access.Revoke(c.Context(), tokens, args[0])
			})
		},
	}
}
