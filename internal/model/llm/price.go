package llm

import (
	"regexp"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// Price is the price of a model and where it is from.
type Price struct {
	config.Price
	// Configured is true when a part of it is from the configuration; otherwise it is from the built-in table.
	Configured bool
}

// Known reports whether a call can be priced. Embeddings have no output, so an embedding model needs no price for it.
func (p Price) Known(embedding bool) bool { return p.Input != nil && (embedding || p.Output != nil) }

// PriceOf returns the price of a model: its own, else that of the configured prices, else that of the built-in table. A
// dated snapshot that is not priced itself has the price of its model.
func PriceOf(m config.Model, configured map[string]config.Price) Price {
	own := m.Price.Over(find(configured, m.String()))
	return Price{Price: own.Over(find(PriceTable(), m.String())), Configured: own.Input != nil || own.Output != nil}
}

// snapshot matches the date of a snapshot: NAME-2025-08-07, or NAME-20250807.
var snapshot = regexp.MustCompile(`-20\d\d(-\d\d-\d\d|\d{4})$`)

// find returns the price of a model in a table. An exact key comes before the one of its undated model, and both before
// patterns; of several patterns, the longest counts.
func find(table map[string]config.Price, name string) config.Price {
	undated := snapshot.ReplaceAllString(name, "")
	for _, key := range []string{name, undated} {
		if p, ok := table[key]; ok {
			return p
		}
	}
	longest := ""
	for key := range table {
		better := len(key) > len(longest) || len(key) == len(longest) && key < longest
		if better && strings.Contains(key, "*") && (matches(key, name) || matches(key, undated)) {
			longest = key
		}
	}
	return table[longest]
}

// matches reports whether a pattern, in which * stands for any characters, is the whole of name.
func matches(pattern, name string) bool {
	first, rest, starred := strings.Cut(pattern, "*")
	if !starred {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(name, part)
		}
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name, rest = name[at+len(part):], after
	}
}

// cost returns what a reply of a model costs. It is unknown without a price, and without a count of tokens that have a
// price. Input that the provider had in its cache has a price of its own, else that of other input.
func cost(m config.Model, u chat.Usage) chat.Cost {
	p := Price{Price: m.Price}
	if !p.Known(false) {
		return chat.Cost{Unknown: true}
	}
	ofCached := *p.Input
	if p.CachedInput != nil {
		ofCached = *p.CachedInput
	}
	cached := min(max(u.CachedTokens, 0), u.InputTokens)
	usd := (float64(u.InputTokens-cached)**p.Input + float64(cached)*ofCached + float64(u.OutputTokens)**p.Output) / 1e6
	return chat.Cost{USD: usd, Unknown: u.Unknown && (*p.Input > 0 || ofCached > 0 || *p.Output > 0)}
}
