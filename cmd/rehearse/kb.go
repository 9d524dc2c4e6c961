package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/agent/knowledge"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

func newKB(env *Env) *cobra.Command {
	var location string
	c := &cobra.Command{
		Use:   "kb",
		Short: "Keep knowledge bases for agents to search",
		Long: `Keep passages of files in the store, where agents find them by their words, and with --embedder by their meaning too.
Markdown is cut at its headings and paragraphs, plain text at its paragraphs, to at most about 1,200 characters; a .jsonl file has a
passage {"id", "text", "title"} on each line. Adding a file again replaces its passages.`,
		Example: `  rehearse kb add --kb returns policy.md faq/
  rehearse kb list
  rehearse kb search --kb returns how do I return a broken lamp
  rehearse kb remove --kb returns`,
	}
	c.PersistentFlags().StringVar(&location, "store", "",
		"the store: PATH or sqlite:PATH (default: that of rehearse.yaml, or .rehearse/rehearse.db)")
	return group(c, newKBAdd(env, &location), newKBList(env, &location), newKBSearch(env, &location),
		newKBRemove(env, &location))
}

// neededKB refuses a command line without a knowledge base, or without arguments that it needs.
func neededKB(c *cobra.Command, base, args bool, hint string) error {
	switch {
	case !base:
		return usage("--kb is missing: add --kb NAME, the knowledge base (see `%s --help`)", c.CommandPath())
	case !args:
		return usage("%s (see `%s --help`)", hint, c.CommandPath())
	}
	return nil
}

func textOrJSON(format string) error {
	if format != "text" && format != "json" {
		return usage("unknown format %q: use text or json", format)
	}
	return nil
}

// writeJSON writes a line of JSON that people can read as well.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// withKnowledge opens the store, and does something with its knowledge bases. With the name of an embedder they have
// vectors.
func withKnowledge(ctx context.Context, env *Env, location, embedder string,
	do func(context.Context, *knowledge.Library) error) error {
	s, err := env.open(wire.Options{})
	if err != nil {
		return outcome(err)
	}
	defer env.closed(s)
	if location == "" || embedder != "" { // else nothing is asked of a configuration
		if s, err = s.At("."); err != nil {
			return outcome(err)
		}
	}
	k, err := s.KnowledgeIn(ctx, location, embedder)
	if err == nil {
		err = do(ctx, k)
	}
	if _, unknown := errors.AsType[*knowledge.UnknownBaseError](err); unknown {
		err = source.AsInvalid(err)
	}
	return outcome(err)
}

// harmless returns a text without anything that could steer a terminal or command a CI system.
func harmless(s string) string { return text.NoCommand(text.Visible(s)) }

func addEmbedder(c *cobra.Command, embedder *string, does string) {
	c.Flags().StringVar(embedder, "embedder", "",
		does+", with the vectors of PROVIDER:MODEL or of a model in rehearse.yaml")
}
