package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

func newModels(env *Env) *cobra.Command {
	var file, format string
	var prices bool
	c := &cobra.Command{
		Use:   "models",
		Short: "List the configured models and all providers, with their addresses and keys",
		Long: `List the models of rehearse.yaml, and those of its targets, judge, user and embedder: provider, address, the variable of the key, and the price in
US dollars per million tokens with where it is from. Then all providers, with where they are asked in this environment and which variable has the
key. --prices also lists the prices of the configuration and the built-in table.`,
		Example: `  rehearse models
  rehearse models --prices
  rehearse models --prices --format json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if format != "text" && format != "json" {
				return usage("unknown format %q: use text or json", format)
			}
			s, err := env.here(wire.Options{Config: file, Dry: true})
			if err != nil {
				return outcome(err)
			}
			defer env.closed(s)
			listed := listModels(s, prices)
			if format == "json" {
				return json.NewEncoder(env.Stdout).Encode(listed)
			}
			return listed.print(env.Stdout)
		},
	}
	c.Flags().StringVar(&file, "config", "", "configuration file (default: the nearest rehearse.yaml)")
	c.Flags().StringVar(&format, "format", "text", "text or json")
	c.Flags().BoolVar(&prices, "prices", false, "also the prices of the configuration and the built-in table")
	return c
}

// modelList is what the command lists.
type modelList struct {
	Models    []listedModel    `json:"models"`
	Providers []listedProvider `json:"providers"`
	Prices    *priceList       `json:"prices,omitempty"`
}

type listedModel struct {
	// Name is the model's name in the configuration, or says what it is for.
	Name     string `json:"name"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Address  string `json:"address,omitempty"`
	listedKey
	listedPrice
}

type listedProvider struct {
	Name    string `json:"name"`
	Doc     string `json:"doc"`
	Address string `json:"address,omitempty"`
	// AddressEnv is the variable that replaces the address.
	AddressEnv string `json:"address_env,omitempty"`
	listedKey
}

// listedKey is the variable of a key. KeySet is nil where there is none.
type listedKey struct {
	Key    string `json:"key,omitempty"`
	KeySet *bool  `json:"key_set,omitempty"`
}

func keyOf(name string, set bool) listedKey {
	if name == "" {
		return listedKey{}
	}
	return listedKey{name, &set}
}

// String returns the key in words, for the end of a sentence; empty for none.
func (k listedKey) String() string {
	switch {
	case k.Key == "":
		return ""
	case *k.KeySet:
		return ", key " + k.Key
	}
	return ", key " + k.Key + " (not set)"
}

// listedPrice is a price in US dollars per million tokens; nil is unknown.
type listedPrice struct {
	Input       *float64 `json:"input"`
	Output      *float64 `json:"output"`
	CachedInput *float64 `json:"cached_input,omitempty"`
	From        string   `json:"from,omitempty"`
}

type priceList struct {
	AsOf   string                 `json:"as_of"`
	Config map[string]listedPrice `json:"config"`
	Table  map[string]listedPrice `json:"table"`
}

func listModels(s *wire.Setup, prices bool) modelList {
	l := modelList{Models: []listedModel{}}
	found := s.Models()
	for _, name := range slices.Sorted(maps.Keys(found)) {
		m := found[name]
		price := priceOf(m.Price.Price)
		switch {
		case m.Price.Configured:
			price.From = "config"
		case m.Price.Input != nil:
			price.From = "table"
		}
		l.Models = append(l.Models, listedModel{
			name, m.Model.Provider, m.Model.Name, m.Address, keyOf(m.Key, m.KeySet), price,
		})
	}
	for _, p := range s.Providers() {
		l.Providers = append(l.Providers, listedProvider{
			p.Name, p.Doc, p.Address, p.AddressEnv, keyOf(p.Key, p.KeySet),
		})
	}
	if prices {
		l.Prices = &priceList{
			AsOf: llm.PricesAsOf, Config: pricesOf(s.Config().Prices), Table: pricesOf(llm.PriceTable()),
		}
	}
	return l
}

func priceOf(p config.Price) listedPrice {
	return listedPrice{Input: p.Input, Output: p.Output, CachedInput: p.CachedInput}
}

func pricesOf(table map[string]config.Price) map[string]listedPrice {
	listed := map[string]listedPrice{}
	for name, p := range table {
		listed[name] = priceOf(p)
	}
	return listed
}

func (l *modelList) print(w io.Writer) error {
	if len(l.Models) == 0 {
		fmt.Fprintf(w, "no models are configured in a %s\n", config.Name)
	}
	for _, m := range l.Models {
		fmt.Fprintf(w, "%s: %s:%s\n", m.Name, m.Provider, m.Model)
		if m.Address != "" {
			fmt.Fprintf(w, "  at %s%s\n", m.Address, m.listedKey)
		}
		fmt.Fprintf(w, "  %s\n", m.listedPrice)
	}
	fmt.Fprint(w, "\nproviders:\n")
	for _, p := range l.Providers {
		where := p.Doc
		if p.AddressEnv != "" {
			where = fmt.Sprintf("at %s (%s)%s", cmp.Or(p.Address, "no address"), p.AddressEnv, p.listedKey)
		}
		fmt.Fprintf(w, "  %-11s %s\n", p.Name, where)
	}
	if l.Prices == nil {
		return nil
	}
	fmt.Fprint(w, "\nprices in US dollars per million tokens, from the configuration:\n")
	printPrices(w, l.Prices.Config)
	_, err := fmt.Fprintf(w, "\nfrom the built-in table of %s, where the configuration has none:\n", l.Prices.AsOf)
	printPrices(w, l.Prices.Table)
	return err
}

func printPrices(w io.Writer, table map[string]listedPrice) {
	if len(table) == 0 {
		fmt.Fprintln(w, "  none")
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		fmt.Fprintf(w, "  %-44s %s\n", name, table[name])
	}
}

// String returns the price in words.
func (p listedPrice) String() string {
	if p.Input == nil && p.Output == nil {
		return "no price"
	}
	s := "input " + dollars(p.Input) + ", output " + dollars(p.Output)
	if p.From != "" {
		s += " (" + p.From + ")"
	}
	return s
}

func dollars(usd *float64) string {
	if usd == nil {
		return "unknown"
	}
	return "$" + strconv.FormatFloat(*usd, 'f', -1, 64)
}
