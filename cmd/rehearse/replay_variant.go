package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

func newReplayVariant(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "variant",
		Short: "Keep the variants that are replayed",
		Long: `Keep variants and versions of prompts in the store. A variant is a flow with a version of a prompt and parameters of its own, under an id; a
version of a prompt is a file of text with the model that answers to it.`,
		Example: `  rehearse replay variant add examples/replay/variants.yaml --store sqlite:history.db
  rehearse replay variant list --store sqlite:history.db
  rehearse replay variant show hotel_book_candidate --store sqlite:history.db`,
	}
	return group(c, newReplayVariantAdd(env), newReplayVariantList(env), newReplayVariantShow(env))
}

func newReplayVariantList(env *Env) *cobra.Command {
	var address, format string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the variants of a store",
		Long:  `List the variants of a store, and its versions of prompts. Variants that cannot be replayed are listed, too, with the reason.`,
		Example: `  rehearse replay variant list --store sqlite:history.db
  rehearse replay variant list --store postgres://user@localhost/product --format json`,
		Args: named(0, "list takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := textOrJSON(format); err != nil {
				return err
			}
			return withHistory(c.Context(), env, address, func(h *storage.History) error {
				variants, err := h.Variants.List(c.Context())
				if err != nil {
					return err
				}
				prompts, err := h.Variants.Prompts(c.Context())
				if err != nil {
					return err
				}
				if format == "json" {
					return writeJSON(env.Stdout, map[string]any{
						"variants": orEmpty(variants), "prompt_versions": orEmpty(prompts),
					})
				}
				return printVariants(env.Stdout, variants, prompts)
			})
		},
	}
	c.Flags().StringVar(&address, "store", "", "where variants are kept: "+historyPlaces)
	c.Flags().StringVar(&format, "format", "text", "text or json")
	underscored(c)
	return c
}

// orEmpty is a list that JSON writes as [] when it is empty.
func orEmpty[T any](list []T) []T { return append([]T{}, list...) }

func printVariants(w io.Writer, variants []replay.Variant, prompts []replay.PromptVersion) error {
	if len(variants)+len(prompts) == 0 {
		_, err := fmt.Fprintln(w, "there are no variants: add some with `rehearse replay variant add FILE`")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	if len(variants) > 0 {
		fmt.Fprintln(table, "VARIANT\tNAME\tFLOW\tPROMPT")
	}
	for _, v := range variants {
		s, err := v.Settings()
		if err != nil {
			fmt.Fprintf(table, "%s\t%s\t–\tcannot be replayed: %s\n", oneLine(v.ID), orDash(v.Name),
				oneLine(v.Problem()))
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", oneLine(v.ID), orDash(v.Name), oneLine(s.FlowConfig.FlowID),
			oneLine(s.PromptConfig.PromptVersionID))
	}
	if err := table.Flush(); err != nil || len(prompts) == 0 {
		return err
	}
	if len(variants) > 0 {
		fmt.Fprintln(w)
	}
	fmt.Fprintln(table, "PROMPT\tFILE\tMODEL")
	for _, p := range prompts {
		fmt.Fprintf(table, "%s\t%s\t%s\n", oneLine(p.ID), oneLine(p.FilePath), oneLine(p.Model()))
	}
	return table.Flush()
}

// oneLine makes any text fit for a table: in one line, steering no terminal and commanding no CI system.
func oneLine(text string) string { return strings.Join(strings.Fields(harmless(text)), " ") }

func orDash(text string) string { return cmp.Or(oneLine(text), "–") }

func newReplayVariantShow(env *Env) *cobra.Command {
	var address, format string
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show a variant with its prompt and parameters",
		Long:  `Show a variant with its version of a prompt, and the parameters as they hold: the prompt's defaults, overridden by the variant's.`,
		Example: `  rehearse replay variant show hotel_book_candidate --store sqlite:history.db
  rehearse replay variant show hotel_book_candidate --format json`,
		Args: named(1, "name one variant"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := textOrJSON(format); err != nil {
				return err
			}
			return withHistory(c.Context(), env, address, func(h *storage.History) error {
				d, err := replay.Describe(c.Context(), h.Variants, args[0])
				switch {
				case err != nil:
					return err
				case format == "json":
					return writeJSON(env.Stdout, d)
				}
				return printVariant(env.Stdout, d)
			})
		},
	}
	c.Flags().StringVar(&address, "store", "", "where variants are kept: "+historyPlaces)
	c.Flags().StringVar(&format, "format", "text", "text or json")
	underscored(c)
	return c
}

// printVariant shows a variant to people.
func printVariant(w io.Writer, d *replay.Description) error {
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "%s\t%s\n", name, oneLine(value))
		}
	}
	row("variant", d.Variant.ID)
	row("name", d.Variant.Name)
	row("experiment", d.Variant.ExperimentID)
	row("flow", d.Settings.FlowConfig.FlowID)
	row("prompt version", d.Settings.PromptConfig.PromptVersionID)
	if d.Prompt != nil {
		row("prompt file", d.Prompt.FilePath)
		row("model", d.Prompt.Model())
	}
	for _, name := range wire.Names(d.Parameters) {
		from := ""
		if _, own := d.Settings.Params[name]; !own {
			from = " (the prompt's default)"
		}
		row("parameter "+name, string(d.Parameters[name])+from)
	}
	row("cannot be replayed", d.Problem)
	return table.Flush()
}
