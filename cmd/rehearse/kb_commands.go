package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/agent/knowledge"
)

func newKBAdd(env *Env, location *string) *cobra.Command {
	var base, embedder string
	c := &cobra.Command{
		Use:   "add --kb NAME FILE…",
		Short: "Put files or folders into a knowledge base",
		Example: `  rehearse kb add --kb returns policy.md
  rehearse kb add --kb products catalogue.jsonl manuals/ --store sqlite:kb.db
  rehearse kb add --kb returns policy.md --embedder openai:text-embedding-3-small`,
		Args: func(c *cobra.Command, args []string) error {
			return neededKB(c, base != "", len(args) > 0, "name at least one file or folder to add")
		},
		RunE: func(c *cobra.Command, files []string) error {
			return withKnowledge(c.Context(), env, *location, embedder, func(ctx context.Context,
				k *knowledge.Library) error {
				done, err := k.Add(ctx, base, files...)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintln(env.Stdout, base+": "+whatWasAdded(done)); err != nil {
					return err
				}
				if done.EmbedError != nil {
					return fmt.Errorf("%w (the same command goes on where this one ended)", done.EmbedError)
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&base, "kb", "", "the knowledge base to fill; made when it is missing")
	addEmbedder(c, &embedder, "also give each passage a vector")
	return c
}

func whatWasAdded(done knowledge.Added) string {
	said := fmt.Sprintf("added %s of %s", plural(done.Passages, "passage"), plural(done.Files, "file"))
	if done.Replaced > 0 {
		said += fmt.Sprintf(" in place of %d", done.Replaced)
	}
	if done.Embedded > 0 {
		said += fmt.Sprintf("; %s embedded", plural(done.Embedded, "passage"))
	}
	return said
}

func newKBList(env *Env, location *string) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the knowledge bases",
		Example: "  rehearse kb list\n  rehearse kb list --format json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := textOrJSON(format); err != nil {
				return err
			}
			return withKnowledge(c.Context(), env, *location, "", func(ctx context.Context,
				k *knowledge.Library) error {
				bases, err := k.Bases(ctx)
				switch {
				case err != nil:
					return err
				case format == "json":
					return writeJSON(env.Stdout, append([]knowledge.Base{}, bases...))
				case len(bases) == 0:
					_, err := fmt.Fprintln(env.Stdout,
						"no knowledge bases yet: start with `rehearse kb add --kb NAME FILE…`")
					return err
				}
				table := tabwriter.NewWriter(env.Stdout, 0, 4, 2, ' ', 0)
				fmt.Fprintln(table, "KB\tFILES\tPASSAGES")
				for _, b := range bases {
					fmt.Fprintf(table, "%s\t%d\t%d\n", b.Name, b.Files, b.Passages)
				}
				return table.Flush()
			})
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}

func newKBSearch(env *Env, location *string) *cobra.Command {
	var bases []string
	var format, embedder string
	q := flow.Query{}
	c := &cobra.Command{
		Use:   "search --kb NAME QUERY…",
		Short: "Show what agents find for a query",
		Example: `  rehearse kb search --kb returns broken lamp
  rehearse kb search --kb returns --kb products "how long does it take?" --top-k 3 --format json`,
		Args: func(c *cobra.Command, args []string) error {
			return neededKB(c, len(bases) > 0, len(args) > 0, "write what to search for")
		},
		RunE: func(c *cobra.Command, words []string) error {
			if err := textOrJSON(format); err != nil {
				return err
			}
			if q.TopK < 1 || q.TopK > 20 {
				return usage("--top-k is %d: use 1 to 20", q.TopK)
			}
			q.Text, q.Bases = strings.Join(words, " "), bases
			return withKnowledge(c.Context(), env, *location, embedder, func(ctx context.Context,
				k *knowledge.Library) error {
				found, err := k.Search(ctx, q)
				switch {
				case err != nil:
					return err
				case format == "json":
					return writeJSON(env.Stdout, append([]flow.Passage{}, found...))
				case len(found) == 0:
					_, err := fmt.Fprintln(env.Stdout, "nothing found: no passage has any of these words")
					return err
				}
				for i, p := range found {
					fmt.Fprintf(env.Stdout, "%d. %s  %s  (score %.2f)\n", i+1, p.Base, harmless(p.ID), p.Score)
					fmt.Fprintf(env.Stdout, "   %s\n", strings.ReplaceAll(harmless(p.Text), "\n", "\n   "))
				}
				return nil
			})
		},
	}
	c.Flags().StringArrayVar(&bases, "kb", nil, "a knowledge base to search; give it again for more")
	addEmbedder(c, &embedder, "also search by meaning")
	c.Flags().IntVar(&q.TopK, "top-k", 5, "how many passages at most, 1 to 20")
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}

func newKBRemove(env *Env, location *string) *cobra.Command {
	var base string
	c := &cobra.Command{
		Use:   "remove --kb NAME [FILE…]",
		Short: "Remove a knowledge base, or files from it",
		Example: `  rehearse kb remove --kb returns              the whole knowledge base
  rehearse kb remove --kb returns policy.md    what came from one file`,
		Args: func(c *cobra.Command, _ []string) error { return neededKB(c, base != "", true, "") },
		RunE: func(c *cobra.Command, files []string) error {
			return withKnowledge(c.Context(), env, *location, "", func(ctx context.Context,
				k *knowledge.Library) error {
				gone, err := k.Remove(ctx, base, files...)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(env.Stdout, "%s: removed %s\n", base, plural(gone, "passage"))
				return err
			})
		},
	}
	c.Flags().StringVar(&base, "kb", "", "the knowledge base")
	return c
}
