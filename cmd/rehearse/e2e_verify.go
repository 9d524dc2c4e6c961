package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"rehearse/internal/result"
	"rehearse/internal/sitebot"
	"rehearse/internal/sitebot/site"
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
				return usage("name one dataset: a file of items, or a dataset in Langfuse (see `%s --help`)", c.CommandPath())
			}
			if f.format != "text" && f.format != "json" {
				return usage("unknown format %q: use text or json", f.format)
			}
			return f.run(c.Context(), env, args[0])
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.sites, "sites", "", "folder of sites, or the file of one (default: the sitebot targets of rehearse.yaml)")
	flags.StringVar(&f.site, "site", "", siteUsage)
	flags.StringVar(&f.config, "config", "", "configuration file (default: the nearest rehearse.yaml above the dataset)")
	flags.StringVar(&f.item, "item", "", "only the items whose query or id holds this text")
	flags.StringVar(&f.format, "format", "text", "text or json")
	return c
}

// verified is how the states of one item compare.
type verified struct {
	ID          string       `json:"id"`
	Unplayable  string       `json:"unplayable,omitempty"`
	Differences []difference `json:"differences"`
	// Lost names what the natural state has and no history tells.
	Lost     []string `json:"lost,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

func (f *verifyFlags) run(ctx context.Context, env *Env, name string) error {
	records, from, err := openDataset(ctx, env, name)
	if err != nil {
		return err
	}
	f.model = noModel
	opened, err := f.open(env, from.String())
	if err != nil {
		return outcome(err)
	}
	defer env.closed(opened)
	items, _, err := f.items(opened, records, from.String(), true)
	if err != nil {
		return outcome(err)
	}
	if f.item != "" {
		items = matching(items, f.item)
	}
	if len(items) == 0 {
		return usage("no item has %q in its query or id", f.item)
	}
	all, err := verifyAll(ctx, items)
	if err != nil {
		return outcome(err)
	}
	if f.format == "json" {
		err = writeJSON(env.Stdout, map[string]any{"items": all, "summary": totalsOf(all)})
	} else {
		err = printVerified(env.Stdout, all)
	}
	if err == nil && totalsOf(all).Different > 0 {
		return &exitError{code: result.ExitFailed}
	}
	return outcome(err)
}

// noModel is a model that the sites may name without being asked: conversations are played from their record.
const noModel = "lexical"

// verifyAll plays and rebuilds the items one after the other.
func verifyAll(ctx context.Context, items []*e2eItem) ([]verified, error) {
	var sites []*site.Site
	seen := map[*site.Site]bool{}
	for _, item := range items {
		if !seen[item.site] {
			seen[item.site] = true
			sites = append(sites, item.site)
		}
	}
	library, err := site.NewLibrary(sites...)
	if err != nil {
		return nil, err
	}
	played := &playback{}
	bot, err := playbackBot(library, played)
	if err != nil {
		return nil, err
	}
	all := make([]verified, 0, len(items))
	for _, item := range items {
		v, err := verify(ctx, bot, played, item)
		if err != nil {
			return nil, fmt.Errorf("item %s: %w", item.id, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// verify compares the two states of an item. Its sessions are forgotten at the end.
func verify(ctx context.Context, bot *sitebot.Bot, played *playback, item *e2eItem) (v verified, err error) {
	v = verified{ID: item.id, Differences: []difference{}, Warnings: item.rebuilt.Warnings}
	const natural, rebuilt = "natural", "rebuilt"
	defer func() {
		err = errors.Join(err, bot.Forget(ctx, item.site.Name, natural), bot.Forget(ctx, item.site.Name, rebuilt))
	}()
	if len(item.rebuilt.Messages) == 0 {
		return v, nil // both begin with nothing
	}
	if err := played.play(ctx, bot, item.site.Name, natural, item.rebuilt.Messages); errors.Is(err, errUnplayable) {
		v.Unplayable = err.Error()
		return v, nil
	} else if err != nil {
		return v, err
	}
	patch, err := item.rebuilt.Patch()
	if err != nil {
		return v, err
	}
	if err := bot.UpdateState(ctx, item.site.Name, rebuilt, patch, true); err != nil {
		return v, err
	}
	var states [2]json.RawMessage
	for i, session := range []string{natural, rebuilt} {
		if states[i], err = bot.State(ctx, item.site.Name, session); err != nil {
			return v, err
		}
	}
	if v.Lost, err = lost(states[0]); err != nil {
		return v, err
	}
	differences, err := compareStates(states[0], states[1])
	v.Differences = append(v.Differences, differences...)
	return v, err
}

// verifyTotals counts how items compare.
type verifyTotals struct {
	Items      int `json:"items"`
	Same       int `json:"same"`
	Different  int `json:"different"`
	Unplayable int `json:"unplayable"`
}

func totalsOf(all []verified) verifyTotals {
	t := verifyTotals{Items: len(all)}
	for _, v := range all {
		switch {
		case v.Unplayable != "":
			t.Unplayable++
		case len(v.Differences) > 0:
			t.Different++
		default:
			t.Same++
		}
	}
	return t
}

func printVerified(out io.Writer, all []verified) error {
	for _, v := range all {
		for _, d := range v.Differences {
			fmt.Fprintf(out, "%s  %s: %s when played, %s when rebuilt\n", v.ID, d.Field, asText(d.Natural), asText(d.Rebuilt))
		}
		if len(v.Differences) > 0 && len(v.Lost) > 0 {
			fmt.Fprintf(out, "%s  no history tells: %s\n", v.ID, strings.Join(v.Lost, ", "))
		}
	}
	t := totalsOf(all)
	_, err := fmt.Fprintf(out, "%s: %d the same, %d different, %d that no chatbot could have led\n", plural(t.Items, "item"), t.Same, t.Different, t.Unplayable)
	return err
}

// asText shows a value of a state, cut short.
func asText(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return "unreadable"
	}
	const most = 200
	if len(data) > most {
		return strings.ToValidUTF8(string(data[:most]), "") + "…"
	}
	return string(data)
}

// part returns the JSON of a part of a state.
func part(state map[string]json.RawMessage, path string) (string, error) {
	name, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		return string(state[name]), nil
	}
	var inner map[string]json.RawMessage
	if err := json.Unmarshal(state[name], &inner); err != nil {
		return "", err
	}
	return part(inner, rest)
}
