package graphtest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// story is the state of the graph that lives are led with. It has a field of each sort.
type story struct {
	Log    []string          `json:"log"`
	Items  []storyItem       `json:"items"`
	Turn   []string          `json:"turn"`
	Sum    float64           `json:"sum"`
	Texts  map[string]string `json:"texts"`
	Last   string            `json:"last"`
	Begun  int               `json:"begun"`
	Hidden *string           `json:"hidden,omitempty"`
}

type storyItem struct {
	Key  string `json:"key"`
	Text string `json:"text"`
}

var (
	storyLog   = graph.Append(func(s *story) *[]string { return &s.Log })
	storyItems = graph.Append(func(s *story) *[]storyItem { return &s.Items }).Keyed(func(i storyItem) string {
		return i.Key
	})
	storyTurn = graph.Append(func(s *story) *[]string { return &s.Turn }).PerTurn()
	storySum  = graph.Merge(func(s *story) *float64 { return &s.Sum }, func(old, written float64) float64 {
		return old*1.1 + written
	})
	storyTexts = graph.Merge(func(s *story) *map[string]string {
		return &s.Texts
	}, func(old, written map[string]string) map[string]string {
		merged := map[string]string{}
		for _, m := range []map[string]string{old, written} {
			maps.Copy(merged, m)
		}
		return merged
	})
	storyLast   = graph.Last(func(s *story) *string { return &s.Last })
	storyBegun  = graph.Last(func(s *story) *int { return &s.Begun }).Retained()
	storyHidden = graph.Last(func(s *story) **string { return &s.Hidden })
)

type told = graph.Update[story]

// chapter is the state of the subgraph.
type chapter struct {
	Lines []string `json:"said"`
}

var chapterSaid = graph.Append(func(c *chapter) *[]string { return &c.Lines })

// digest is what decides the rest of a turn.
func digest(parts ...any) int {
	h := fnv.New32a()
	fmt.Fprint(h, parts...)
	return int(h.Sum32() >> 1)
}

var errFails = errors.New("the node fails, as it was told")

// world says what fails in the turn under way.
type world struct{ fails string }

func (w *world) fault(node string) error {
	if w.fails == node {
		return errFails
	}
	return nil
}

// graph builds the graph of lives on a saver, as a new process does: a map, a subgraph, a node that is tried again, and
// questions in each of them, by what the state is.
func (w *world) graph(saver graph.Checkpointer, durable bool) (*graph.Graph[story], error) {
	inner, err := w.chapters()
	if err != nil {
		return nil, err
	}
	b := graph.New("lives", storyLog, storyItems, storyTurn, storySum, storyTexts, storyLast, storyBegun, storyHidden)
	b.Node("begin", func(_ context.Context, s story) (told, error) {
		return told{storyBegun.Set(s.Begun + 1), storyTurn.Add(fmt.Sprint("é", len(s.Log)))}, nil
	})
	items := func(s story) []int { return []int{0, 1, 2, 3}[:digest(s.Log)%5] }
	graph.Each(b, "map", items, func(ctx context.Context, s story, i int) (told, error) {
		u := told{storyLog.Add(fmt.Sprint("item ", i, s.Begun)), storySum.Set(1.0 / 3)}
		if i == digest(s.Log, "map")%8 { // one, as of questions that are asked at once either may be the oldest
			said, err := graph.Interrupt[string](ctx, "which item?")
			if err != nil {
				return nil, err
			}
			u = append(u, storyLog.Add("item: "+said))
		}
		return u, w.fault("map")
	}).Parallel(2)
	graph.Sub(b, "sub", inner, func(s story) graph.Update[chapter] {
		return graph.Update[chapter]{chapterSaid.Add(s.Log...)}
	},
		func(_ story, c chapter) told {
			return told{storyTexts.Set(map[string]string{
				"sub": fmt.Sprint(len(c.Lines)), fmt.Sprint(len(c.Lines) % 3): "\x00👉",
			})}
		})
	b.Node("again", func(_ context.Context, s story) (told, error) {
		text := "</script>\u2028"
		u := told{
			storyItems.Add(storyItem{fmt.Sprint(digest(s.Log) % 5), text}), storyLast.Set(fmt.Sprint(digest(s.Log))),
		}
		switch digest(s.Log, "again") % 6 {
		case 0:
			u = append(u, storyItems.Remove(fmt.Sprint(digest(s.Last)%5)))
		case 1:
			u = append(u, storyLog.Trim(3))
		case 2:
			u = append(u, storyLog.Replace("new"), storyHidden.Set(&text))
		case 3:
			u = append(u, storyHidden.Set(nil))
		}
		return u, w.fault("again")
	}).Retry(graph.RetryPolicy{Attempts: 2, Base: time.Nanosecond, Max: time.Nanosecond})
	b.Node("ask", func(ctx context.Context, s story) (told, error) {
		u := told{}
		for i := range digest(s.Log, "ask") % 3 {
			said, err := graph.Interrupt[string](ctx, fmt.Sprint("question ", i))
			if err != nil {
				return nil, err
			}
			u = append(u, storyLog.Add(said))
		}
		return u, w.fault("ask")
	})
	b.Edge(graph.Start, "begin")
	b.Edge("begin", "map")
	b.Edge("map", "sub")
	b.Edge("sub", "again")
	b.Edge("again", "ask")
	b.Edge("ask", graph.End)
	return b.Compile(graph.Config{Checkpoints: saver, Durable: durable})
}

// chapters builds the subgraph.
func (w *world) chapters() (*graph.Graph[chapter], error) {
	b := graph.New("chapters", chapterSaid)
	b.Node("one", func(_ context.Context, c chapter) (graph.Update[chapter], error) {
		return graph.Update[chapter]{chapterSaid.Add("one")}, w.fault("sub")
	})
	b.Node("two", func(ctx context.Context, c chapter) (graph.Update[chapter], error) {
		if digest(c.Lines)%3 != 0 {
			return nil, nil
		}
		said, err := graph.Interrupt[string](ctx, "inside?")
		return graph.Update[chapter]{chapterSaid.Add(said)}, err
	})
	b.Edge(graph.Start, "one", "two")
	b.Edge("one", graph.End)
	b.Edge("two", graph.End)
	return b.Compile(graph.Config{})
}
