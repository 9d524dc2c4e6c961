// Package cover says which nodes and options of a flow conversations have reached, and which they have not.
package cover

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Coverage counts what conversations reach of a flow. Make it with Of. It is for one goroutine.
type Coverage struct {
	flow *flow.Flow
	// visits counts how often each node was entered or stood at, taken how often each option was.
	visits map[string]int
	taken  map[option]int
	// Turns counts the turns that were of this flow.
	Turns int
}

// Globals stands for the node of options that are offered everywhere: each is counted once. No option of a node has the
// id of one.
const Globals = "globals"

// option is an option of a node.
type option struct{ node, id string }

// Of returns the coverage of a flow by nothing yet.
func Of(f *flow.Flow) *Coverage {
	return &Coverage{flow: f, visits: map[string]int{}, taken: map[option]int{}}
}

// Test counts the turns of a record. Those of other targets, whose nodes the flow does not have, count nothing.
func (c *Coverage) Test(t *result.Test) {
	for i := range t.Turns {
		c.turn(&t.Turns[i], i == 0)
	}
}

// Run counts the turns of a run's records, but not those of targets that are known to follow another flow. Guessed
// names the targets whose turns count by the names of their nodes alone, as the run does not say which flow they
// follow.
func (c *Coverage) Run(run *result.Run, records iter.Seq2[*result.Test, error]) (guessed []string, err error) {
	for t, err := range records {
		if err != nil {
			return nil, err
		}
		follows, known := run.Follows(t.Target, c.flow.ID)
		if known && !follows {
			continue
		}
		before := c.Turns
		c.Test(t)
		if !known && c.Turns > before && !slices.Contains(guessed, t.Target) {
			guessed = append(guessed, t.Target)
		}
	}
	return guessed, nil
}

// turn counts a turn by the state after it, or where there is none by its node.
func (c *Coverage) turn(t *result.Turn, first bool) {
	var state struct {
		Previous   string `json:"previous_node_id"`
		Current    string `json:"current_node_id"`
		Transition *struct {
			Option *string `json:"option_id"`
		} `json:"transition"`
	}
	_ = json.Unmarshal(t.State, &state) // another target's state says nothing
	if state.Current == "" {
		state.Current = t.Node
	}
	if _, ours := c.flow.Node(state.Current); !ours {
		return
	}
	c.Turns++
	if first && state.Previous != state.Current {
		c.visit(state.Previous)
	}
	c.visit(state.Current)
	if state.Transition != nil && state.Transition.Option != nil {
		c.take(state.Previous, *state.Transition.Option)
	}
}

// Session counts the states of a logged session. Which option was taken is not logged: every one that leads from a
// state to the next counts.
func (c *Coverage) Session(s *replay.Session) {
	for i, m := range s.Messages {
		if i == 0 {
			c.visit(m.Before)
		}
		n, ours := c.flow.Node(m.Before)
		if !ours || !m.User {
			continue
		}
		c.Turns++
		c.visit(m.After)
		for _, o := range slices.Concat(n.Options, n.Globals) {
			if m.After != m.Before && o.Target() == m.After {
				c.take(n.ID, o.ID)
			}
		}
	}
}

func (c *Coverage) visit(node string) {
	if _, ours := c.flow.Node(node); ours {
		c.visits[node]++
	}
}

func (c *Coverage) take(node, id string) {
	n, ours := c.flow.Node(node)
	if !ours {
		return
	}
	for _, o := range slices.Concat(n.Options, n.Globals) {
		if o.ID == id {
			if o.Global != "" { // it is one option, wherever it was taken
				node, id = Globals, o.Global
			}
			c.taken[option{node, id}]++
			if o.Target() != "" {
				c.visits[n.ID] = max(1, c.visits[n.ID])
			}
			return
		}
	}
}

// Visits returns how often a node was visited.
func (c *Coverage) Visits(node string) int { return c.visits[node] }

// Count returns how often an option was taken.
func (c *Coverage) Count(node, id string) int { return c.taken[option{node, id}] }

// Part is what was reached of the nodes, or of the options as NODE.OPTION.
type Part struct {
	Total   int      `json:"total"`
	Covered int      `json:"covered"`
	Missing []string `json:"missing"`
}

// Share is what was covered of it; 1 of nothing.
func (p Part) Share() float64 {
	if p.Total == 0 {
		return 1
	}
	return float64(p.Covered) / float64(p.Total)
}

// Report is the coverage of a flow.
type Report struct {
	Flow    string `json:"flow"`
	Nodes   Part   `json:"nodes"`
	Options Part   `json:"options"`
}

// Report returns what was reached so far. What a start node leads to is no option: nobody chooses it.
func (c *Coverage) Report() Report {
	r := Report{Flow: c.flow.ID, Nodes: Part{Missing: []string{}}, Options: Part{Missing: []string{}}}
	for _, n := range c.flow.Nodes {
		r.Nodes.count(n.ID, c.visits[n.ID] > 0)
		if n.Type == flow.Start {
			continue
		}
		for _, o := range n.Options {
			r.Options.count(n.ID+"."+o.ID, c.taken[option{n.ID, o.ID}] > 0)
		}
	}
	for _, o := range c.flow.Globals {
		r.Options.count(Globals+"."+o.Global, c.taken[option{Globals, o.Global}] > 0)
	}
	return r
}

func (p *Part) count(name string, covered bool) {
	p.Total++
	if covered {
		p.Covered++
		return
	}
	p.Missing = append(p.Missing, name)
}

// JSON writes the report as JSON.
func (r Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// maxMissing is how many of what is missing Text names of each part.
const maxMissing = 100

// Text writes the report for people.
func (r Report) Text(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s\n", text.OneLine(r.Flow, 200))
	for _, part := range []struct {
		name string
		of   Part
	}{{"nodes", r.Nodes}, {"options", r.Options}} {
		if err == nil {
			_, err = fmt.Fprintf(w, "  %-8s %d of %d (%s)\n", part.name, part.of.Covered, part.of.Total,
				text.Percent(part.of.Share()))
		}
		for _, name := range part.of.Missing[:min(len(part.of.Missing), maxMissing)] {
			if err == nil {
				_, err = fmt.Fprintf(w, "    not reached: %s\n", text.OneLine(name, 300))
			}
		}
		if left := len(part.of.Missing) - maxMissing; left > 0 && err == nil {
			_, err = fmt.Fprintf(w, "    … and %d more\n", left)
		}
	}
	return err
}
