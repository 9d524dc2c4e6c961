package config

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Price is what a million tokens cost, in US dollars. Nil is unknown; 0 is a price, such as that of a local model.
type Price struct {
	Input  *float64 `key:"input" required:"a price needs its input" minimum:"0" maximum:"1000000" doc:"0 is a price"`
	Output *float64 `key:"output" minimum:"0" maximum:"1000000"`
	// CachedInput is the price of input that the provider has in its cache; nil means Input.
	CachedInput *float64 `key:"cached_input" minimum:"0" maximum:"1000000"`
}

// Over returns p with the gaps filled from base. The price of cached input belongs to that of other input, so it comes
// from the same price.
func (p Price) Over(base Price) Price {
	if p.Input == nil {
		p.Input, p.CachedInput = base.Input, first(p.CachedInput, base.CachedInput)
	}
	p.Output = first(p.Output, base.Output)
	return p
}

func readPrices(n source.Node) map[string]Price {
	prices := map[string]Price{}
	for name, n := range n.Entries() {
		if provider, model, ok := strings.Cut(name, ":"); !ok || provider == "" || model == "" {
			n.Report("write PROVIDER:MODEL, such as openai:gpt-5-mini; * stands for any characters",
				"%q names no model", name)
		}
		p := Price{}
		source.Decode(n, &p)
		prices[name] = p
	}
	return prices
}
