package cover

import (
	"context"
	"iter"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Chooser chooses few sessions that together reach as much of a flow as all of them: again and again the one that
// reaches most of what is left (the greedy answer to set cover, at most 1 + ln n times as many as the fewest). Make it
// with NewChooser. It is for one goroutine.
type Chooser struct {
	flow *flow.Flow
	// reached are the places that each session reaches, by the index of its id.
	ids     []string
	reached [][]int
	places  map[any]int
}

// NewChooser returns a Chooser of no sessions yet.
func NewChooser(f *flow.Flow) *Chooser { return &Chooser{flow: f, places: map[any]int{}} }

// Add takes a session into account.
func (c *Chooser) Add(s *replay.Session) {
	own := Of(c.flow)
	own.Session(s)
	var places []int
	place := func(of any) {
		n, known := c.places[of]
		if !known {
			n = len(c.places)
			c.places[of] = n
		}
		places = append(places, n)
	}
	for node := range own.visits {
		place(node)
	}
	for o := range own.taken {
		place(o)
	}
	if len(places) > 0 {
		c.ids, c.reached = append(c.ids, s.ID), append(c.reached, places)
	}
}

// Chosen returns the ids of the chosen sessions, at most so many, the one that reaches most first. Of equals the one
// that was added first counts.
func (c *Chooser) Chosen(most int) (ids []string) {
	covered := make([]bool, len(c.places))
	for len(ids) < most {
		best, gain := -1, 0
		for i, places := range c.reached {
			more := 0
			for _, p := range places {
				if !covered[p] {
					more++
				}
			}
			if more > gain {
				best, gain = i, more
			}
		}
		if best < 0 {
			return ids
		}
		ids = append(ids, c.ids[best])
		for _, p := range c.reached[best] {
			covered[p] = true
		}
	}
	return ids
}

// Events are where sessions are logged.
type Events interface {
	EachFrom(ctx context.Context, f replay.Filter, session string) iter.Seq2[replay.Event, error]
}

// Sessions counts the logged sessions of the flow, and returns the ids of few of them, at most so many, that reach as
// much as all.
func (c *Coverage) Sessions(ctx context.Context, log Events, most int) ([]string, error) {
	chooser := NewChooser(c.flow)
	for s, err := range replay.Sessions(log.EachFrom(ctx, replay.Filter{}, ""), 0, &replay.Faults{}) {
		if err != nil {
			return nil, err
		}
		if s.FlowID == c.flow.ID {
			c.Session(s)
			chooser.Add(s)
		}
	}
	return chooser.Chosen(most), nil
}

// Flow returns the flow that is covered.
func (c *Coverage) Flow() *flow.Flow { return c.flow }
