package evaluation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// dependencies is what a run can ask: addresses, and models with their prices.
type dependencies struct {
	// targets has the addresses of each target by its name; judge, user and embedder have theirs.
	targets               map[string][]string
	judge, user, embedder []string
	// own are the addresses that are a provider's own.
	own    map[string]bool
	prices map[string]result.Price
	// unpriced says of each thing that cannot be priced who asks it, and how it gets a price.
	unpriced []string
}

// ask finds out what the run can ask, and warns of what two of its parts share.
func (e *Evaluation) ask(ctx context.Context) (err error) {
	if e.asked, err = e.askable(ctx); err != nil {
		return err
	}
	for _, warning := range e.asked.shared() {
		e.warn(warning)
	}
	return nil
}

// Priced refuses a run with a budget that can ask something without a price. It opens and asks nothing.
func (e *Evaluation) Priced(ctx context.Context) error {
	if e.planned.budget.USD == 0 {
		return nil
	}
	_, err := e.askable(ctx)
	return err
}

// askable returns what the run can ask, without opening or asking anything. With a budget, everything needs a price.
func (e *Evaluation) askable(ctx context.Context) (*dependencies, error) {
	a := &dependencies{targets: map[string][]string{}, own: map[string]bool{}, prices: map[string]result.Price{}}
	for _, s := range e.suites {
		if err := e.askTargets(ctx, a, s.Name); err != nil {
			return nil, err
		}
		at := e.setups[s.Name]
		if e.judges(s.Name) {
			models, err := at.JudgeDependencies(e.judging(s))
			if err != nil {
				return nil, err
			}
			for _, m := range models {
				a.judge = a.add(a.judge, "the judge", m)
			}
		}
		if err := e.askUsers(a, s.Name); err != nil {
			return nil, err
		}
		if e.planned.embedded[s.Name] {
			for _, m := range at.EmbedderDependencies() {
				a.embedder = a.add(a.embedder, "the embedder", m)
			}
		}
	}
	if e.planned.budget.USD > 0 && len(a.unpriced) > 0 {
		return nil, source.Invalid("a budget needs the price of everything that the run can ask:\n  %s",
			strings.Join(a.unpriced, "\n  "))
	}
	return a, nil
}

// askTargets adds what the targets of a suite can ask.
func (e *Evaluation) askTargets(ctx context.Context, a *dependencies, suiteName string) error {
	if e.regraded != nil {
		return nil
	}
	for _, target := range e.planned.targets {
		if !e.planned.calledBy(suiteName, target) {
			continue
		}
		found, err := e.setups[suiteName].TargetDependencies(ctx, target)
		if err != nil {
			return err
		}
		for _, m := range found.Models {
			if m.Embeds {
				a.embedder = a.add(a.embedder, "the target "+target, m)
				continue
			}
			a.targets[target] = a.add(a.targets[target], "the target "+target, m)
		}
		if found.Server != "" {
			for _, address := range append([]string{found.Server}, found.Others...) {
				a.targets[target] = with(a.targets[target], address)
			}
			if !found.Priced {
				a.unpriced = with(a.unpriced, fmt.Sprintf(
					"the target %s: the server at %s does not say what its answers cost", target, found.Server))
			}
		}
	}
	return nil
}

// add notes a model that someone asks, and returns the addresses with the model's.
func (a *dependencies) add(addresses []string, who string, m wire.Dependency) []string {
	name := m.Model.String()
	switch {
	case m.Price.Known(m.Embeds):
		from := "table"
		if m.Price.Configured {
			from = "config"
		}
		a.prices[name] = result.Price{
			Input: m.Price.Input, Output: m.Price.Output, CachedInput: m.Price.CachedInput, From: from,
		}
	case m.Model.Provider != "cassette": // a recording tells the cost of each reply
		a.unpriced = with(a.unpriced, fmt.Sprintf(
			"%s, which %s asks: add input_price and output_price to the model in rehearse.yaml, or `prices: {%q: "+
				"{input: …, output: …}}`", name, who, name))
	}
	if m.Address == "" {
		return addresses
	}
	a.own[m.Address] = a.own[m.Address] || m.Own
	return with(addresses, m.Address)
}

// with returns a list with a text that it may have already.
func with(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// shared returns a warning for each target that has an address in common with the judge which is not the provider's
// own.
func (a *dependencies) shared() (warnings []string) {
	for _, target := range wire.Names(a.targets) {
		for _, address := range a.targets[target] {
			for _, judge := range a.judge {
				// The address of an agent as data has the path of its requests.
				if !a.own[judge] &&
					(address == judge || strings.HasPrefix(address, strings.TrimSuffix(judge, "/")+"/")) {
					warnings = append(warnings, fmt.Sprintf(
						"the judge and the target %s share the address %s: the agent may be judging itself; "+
							"give the agent's own address with --target-url", target, judge))
				}
			}
		}
	}
	return warnings
}

// addresses returns the addresses for the run's record.
func (a *dependencies) addresses() result.Addresses {
	r := result.Addresses{
		Judge: strings.Join(a.judge, ", "), User: strings.Join(a.user, ", "), Embedder: strings.Join(a.embedder, ", "),
	}
	for target, addresses := range a.targets {
		if len(addresses) > 0 {
			if r.Targets == nil {
				r.Targets = map[string]string{}
			}
			r.Targets[target] = strings.Join(addresses, ", ")
		}
	}
	return r
}

// judges reports whether a test of the suite needs a judge.
func (e *Evaluation) judges(suiteName string) bool {
	for key, judged := range e.planned.gradings {
		if judged && key.suite == suiteName {
			return true
		}
	}
	return false
}

// calledBy reports whether a test of the suite runs with the target.
func (p *plan) calledBy(suiteName, target string) bool {
	for key := range p.calls {
		if key.suite == suiteName && key.target == target {
			return true
		}
	}
	return false
}

// priced returns the prices for the run's record.
func (a *dependencies) priced() result.Prices {
	return result.Prices{AsOf: llm.PricesAsOf, Models: a.prices}
}
