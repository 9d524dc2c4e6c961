package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/verify"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// verifyFlags is what can be said on the command line of e2e verify.
type verifyFlags struct {
	sitesFlags
	item, format string
}

func newE2EVerify(env *Env) *cobra.Command {
	f := &verifyFlags{}
	c := &cobra.Command{
		Use:   "verify DATASET",
		Short: "Compare rebuilt states with those of the conversations played for real",
		Long: `Play the history of each item for real, turn by turn through the chatbot's graph with the recorded answers, and compare the state that it
leads to with the one that is rebuilt from the history at once, field by field. No model is asked.

A history that no chatbot could have led, such as one with two answers in a row, is counted apart. What no history tells, such as a booking under
way, is named with --verbose: an item that depends on it cannot be rebuilt.

Exit codes: 0 the same, 1 a field differs, 2 wrong usage or invalid items.`,
		Example: `  rehearse e2e verify items.jsonl --sites examples/sites
  rehearse e2e verify items.jsonl --sites examples/sites --item "Technical" --format json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("name one dataset: a file of items, or a dataset in Langfuse (see `%s --help`)",
					c.CommandPath())
			}
			if f.format != "text" && f.format != "json" {
				return usage("unknown format %q: use text or json", f.format)
			}
			return f.run(c.Context(), env, args[0])
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.sites, "sites", "",
		"folder of sites, or the file of one (default: the sitebot targets of rehearse.yaml)")
	flags.StringVar(&f.site, "site", "", siteUsage)
	flags.StringVar(&f.config, "config", "",
		"configuration file (default: the nearest rehearse.yaml above the dataset)")
	flags.StringVar(&f.item, "item", "", "only the items whose query or id holds this text")
	flags.StringVar(&f.format, "format", "text", "text or json")
	return c
}

func (f *verifyFlags) run(ctx context.Context, env *Env, name string) error {
	read, s, err := f.read(ctx, env, name, true)
	if err != nil {
		return err
	}
	defer env.closed(s)
	tests := read.Tests
	if f.item != "" {
		if tests = dataset.Matching(tests, f.item); len(tests) == 0 {
			return usage("no item has %q in its query or id", f.item)
		}
	}
	items := make([]verify.Item, 0, len(tests))
	for _, t := range tests {
		items = append(items, verify.Item{ID: t.ID, Site: t.Site.Name, Rebuilt: t.Rebuilt})
	}
	player := &verify.Player{}
	bot, err := read.Playback(player)
	if err != nil {
		return outcome(err)
	}
	all, err := verify.All(ctx, bot, player, items)
	if err != nil {
		return outcome(err)
	}
	totals := verify.Count(all)
	if f.format == "json" {
		err = writeJSON(env.Stdout, map[string]any{"items": all, "summary": totals})
	} else {
		err = verify.Text(env.Stdout, all)
	}
	if err == nil && totals.Different > 0 {
		return &exitError{code: result.ExitFailed}
	}
	return outcome(err)
}
