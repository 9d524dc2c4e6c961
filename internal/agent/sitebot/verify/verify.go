// Package verify plays recorded conversations through a chatbot's graph, and compares the states that they lead to with
// those that sitebot.Rebuild makes of their histories.
package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
)

// Item is a recorded conversation on a site, as it was rebuilt.
type Item struct {
	ID, Site string
	Rebuilt  sitebot.Rebuilt
}

// Comparison says how the two states of an item compare.
type Comparison struct {
	ID string `json:"id"`
	// Unplayable says why no chatbot could have led the conversation; empty where one could.
	Unplayable  string       `json:"unplayable,omitempty"`
	Differences []Difference `json:"differences"`
	// Blocked are the turns that the abuse gate kept from being answered when they were played. It explains
	// differences.
	Blocked []Blocked `json:"blocked,omitempty"`
	// Lost names what the natural state has and no history tells.
	Lost     []string `json:"lost,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Blocked is a turn that was not answered. Turns count from 1.
type Blocked struct {
	Turn int           `json:"turn"`
	Why  sitebot.Block `json:"why"`
}

// All plays the items one after the other with a chatbot that has the player as its models, and that lets markers
// stand, and compares their states. The sessions are forgotten at the end.
func All(ctx context.Context, bot *sitebot.Bot, player *Player, items []Item) ([]Comparison, error) {
	all := make([]Comparison, 0, len(items))
	for i := range items {
		c, err := one(ctx, bot, player, &items[i])
		if err != nil {
			return nil, fmt.Errorf("verify the item %s: %w", items[i].ID, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// one compares the two states of an item.
func one(ctx context.Context, bot *sitebot.Bot, player *Player, item *Item) (c Comparison, err error) {
	c = Comparison{ID: item.ID, Differences: []Difference{}, Warnings: item.Rebuilt.Warnings}
	if len(item.Rebuilt.Messages) == 0 {
		return c, nil // both begin with nothing
	}
	const natural, rebuilt = "natural", "rebuilt"
	defer func() {
		err = errors.Join(err, bot.Forget(ctx, item.Site, natural), bot.Forget(ctx, item.Site, rebuilt))
	}()
	c.Blocked, err = player.play(ctx, bot, item.Site, natural, item.Rebuilt.Messages)
	if errors.Is(err, errUnplayable) {
		c.Unplayable = err.Error()
		return c, nil
	}
	if err != nil {
		return c, err
	}
	patch, err := item.Rebuilt.Patch()
	if err != nil {
		return c, err
	}
	if err := bot.UpdateState(ctx, item.Site, rebuilt, patch, true); err != nil {
		return c, err
	}
	var states [2]json.RawMessage
	for i, session := range []string{natural, rebuilt} {
		if states[i], err = bot.State(ctx, item.Site, session); err != nil {
			return c, err
		}
	}
	if c.Lost, err = lost(states[0]); err != nil {
		return c, err
	}
	c.Differences, err = compare(states[0], states[1])
	return c, err
}

// Totals counts how items compare.
type Totals struct {
	Items      int `json:"items"`
	Same       int `json:"same"`
	Different  int `json:"different"`
	Unplayable int `json:"unplayable"`
}

// Count returns the totals of comparisons.
func Count(all []Comparison) Totals {
	t := Totals{Items: len(all)}
	for i := range all {
		switch c := &all[i]; {
		case c.Unplayable != "":
			t.Unplayable++
		case len(c.Differences) > 0:
			t.Different++
		default:
			t.Same++
		}
	}
	return t
}
