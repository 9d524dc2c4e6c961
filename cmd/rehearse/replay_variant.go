package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"rehearse/internal/replay"
	"rehearse/internal/setup"
	"rehearse/internal/source"
	"rehearse/internal/store"
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
	c.AddCommand(newReplayVariantAdd(env), newReplayVariantList(env), newReplayVariantShow(env))
	return c
}

// withVariants calls use with the variants of the store at an address, and says by the exit code whose fault an error is.
func withVariants(ctx context.Context, address string, use func(*store.Variants) error) error {
	err := withStore(ctx, address, func(h *setup.History) error { return use(h.Variants) })
	switch {
	case err == nil || errors.As(err, new(*exitError)):
		return err
	case errors.Is(err, replay.ErrUnknown):
		return outcome(source.AsInvalid(err))
	}
	return outcome(err)
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
			return withVariants(c.Context(), address, func(v *store.Variants) error {
				variants, err := v.List(c.Context())
				if err != nil {
					return err
				}
				prompts, err := v.Prompts(c.Context())
				if err != nil {
					return err
				}
				if format == "json" {
					return writeJSON(env.Stdout, map[string]any{"variants": orEmpty(variants), "prompt_versions": orEmpty(prompts)})
				}
				return printVariants(env.Stdout, variants, prompts)
			})
		},
	}
	c.Flags().StringVar(&address, "store", defaultHistory, "where variants are kept: sqlite:PATH or postgres://…")
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
			fmt.Fprintf(table, "%s\t%s\t–\tcannot be replayed: %s\n", oneLine(v.ID), orDash(v.Name), oneLine(notReplayable(v, err)))
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", oneLine(v.ID), orDash(v.Name), oneLine(s.FlowConfig.FlowID), oneLine(s.PromptConfig.PromptVersionID))
	}
	if err := table.Flush(); err != nil || len(prompts) == 0 {
		return err
	}
	if len(variants) > 0 {
		fmt.Fprintln(w)
	}
	fmt.Fprintln(table, "PROMPT\tFILE\tMODEL")
	for _, p := range prompts {
		fmt.Fprintf(table, "%s\t%s\t%s\n", oneLine(p.ID), oneLine(p.FilePath), oneLine(modelOf(p)))
	}
	return table.Flush()
}

// notReplayable is why a variant cannot be replayed, without its id.
func notReplayable(v replay.Variant, err error) string {
	return strings.TrimPrefix(err.Error(), "variant "+v.ID+": ")
}

// oneLine is text of whoever it may be from, fit for a table.
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
			return withVariants(c.Context(), address, func(v *store.Variants) error {
				shown, err := showVariant(c.Context(), v, args[0])
				if err != nil {
					return err
				}
				if format == "json" {
					return writeJSON(env.Stdout, shown)
				}
				return shown.print(env.Stdout)
			})
		},
	}
	c.Flags().StringVar(&address, "store", defaultHistory, "where variants are kept: sqlite:PATH or postgres://…")
	c.Flags().StringVar(&format, "format", "text", "text or json")
	underscored(c)
	return c
}

// shownVariant is a variant with all that is known of it.
type shownVariant struct {
	Variant replay.Variant `json:"variant"`
	// Prompt is nil where the variant names none that is there.
	Prompt *replay.PromptVersion `json:"prompt_version"`
	// Parameters are those that hold.
	Parameters map[string]json.RawMessage `json:"parameters"`
	// Problem says why the variant cannot be replayed.
	Problem string `json:"problem,omitempty"`

	settings replay.Settings
}

func showVariant(ctx context.Context, v *store.Variants, id string) (*shownVariant, error) {
	variant, err := v.Variant(ctx, id)
	if err != nil {
		return nil, err
	}
	shown := &shownVariant{Variant: variant}
	shown.settings, err = variant.Settings()
	if err != nil {
		shown.Problem = notReplayable(variant, err)
	}
	prompt, err := v.Prompt(ctx, shown.settings.PromptConfig.PromptVersionID)
	switch {
	case errors.Is(err, replay.ErrUnknown):
		if shown.Problem == "" {
			shown.Problem = fmt.Sprintf("its prompt version %q is not in the store", shown.settings.PromptConfig.PromptVersionID)
		}
	case err != nil:
		return nil, err
	default:
		shown.Prompt = &prompt
	}
	if shown.Parameters, err = shown.settings.Parameters(prompt); err != nil {
		shown.Problem = err.Error()
	}
	return shown, nil
}

// print shows the variant to people.
func (s *shownVariant) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "%s\t%s\n", name, oneLine(value))
		}
	}
	row("variant", s.Variant.ID)
	row("name", s.Variant.Name)
	row("experiment", s.Variant.ExperimentID)
	row("flow", s.settings.FlowConfig.FlowID)
	row("prompt version", s.settings.PromptConfig.PromptVersionID)
	if s.Prompt != nil {
		row("prompt file", s.Prompt.FilePath)
		row("model", modelOf(*s.Prompt))
	}
	for _, name := range setup.Names(s.Parameters) {
		from := ""
		if _, own := s.settings.Params[name]; !own {
			from = " (the prompt's default)"
		}
		row("parameter "+name, string(s.Parameters[name])+from)
	}
	row("cannot be replayed", s.Problem)
	return table.Flush()
}
