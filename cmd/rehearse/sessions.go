package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
)

func newSessions(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "sessions",
		Short: "List, show, export and erase sessions of site chatbots",
		Long: `Look at sessions of the chatbots of websites in the store that a server keeps them in (rehearse serve), make datasets and logged events of them, and erase
them: also while the server works on the store.`,
	}
	return group(c, newSessionsList(env), newSessionsShow(env), newSessionsHistory(env), newSessionsExport(env),
		newSessionsDelete(env))
}

func newSessionsDelete(env *Env) *cobra.Command {
	f := &sessionStore{}
	siteName := ""
	c := &cobra.Command{
		Use:   "delete SESSION…",
		Short: "Erase sessions with all that they have left",
		Long: `Erase sessions: the conversation with all that was kept of it, leads (what was not sent yet is not sent any more), feedback, logged events, and what is
known of the visitor's company. Replays of the session in the same store lose its words and keep their figures, and items of datasets that were made of it are
deleted. Langfuse is asked to delete the traces where it has a key. Prints how many there were; a session that there is not is no error.`,
		Example: `  rehearse sessions delete 4f1c --store sqlite:chat.db
  rehearse sessions delete 4f1c 5a2d --site acme.example --redis redis://localhost:6379`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.open(c.Context(), env, func(s *chatbot.Sessions) error {
				return f.erase(c.Context(), env, s, siteName, args)
			})
		},
	}
	f.register(c.Flags())
	f.registerRedis(c.Flags())
	c.Flags().StringVar(&siteName, "site", "",
		"the site of the sessions (default: the only one that has such a session)")
	return c
}

// erase erases sessions. Those that can be are erased even when others cannot.
func (f *sessionStore) erase(ctx context.Context, env *Env, kept *chatbot.Sessions, siteName string,
	ids []string) (err error) {
	s, err := env.here(wire.Options{})
	if err != nil {
		return err
	}
	defer env.closed(s)
	deleted := 0
	var faults []error
	for _, id := range ids {
		on, err := kept.SiteOf(ctx, siteName, id)
		if err == nil && on != "" {
			var there bool
			if there, err = s.EraseSession(ctx, kept, on, id); err == nil && there {
				deleted++
			}
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("session %s: %w", harmless(id), err))
		}
	}
	fmt.Fprintf(env.Stdout, "deleted %d\n", deleted)
	return errors.Join(faults...)
}
