package graph_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/graph"
)

// TestListWrites: a list that was added to, trimmed, replaced and taken from is what a plain slice is, at once, read
// again and compacted.
func TestListWrites(t *testing.T) {
	type item struct{ Key, Value string }
	type state struct {
		Items []item
		Other []string
	}
	rapid.Check(t, func(rt *rapid.T) {
		items := graph.Append(func(s *state) *[]item { return &s.Items }).Keyed(func(i item) string { return i.Key })
		other := graph.Append(func(s *state) *[]string { return &s.Other })
		disk := graph.NewMemory(graph.MemoryLimits{})
		compile := func() *graph.Graph[state] {
			b := graph.New("list", items, other)
			b.Node("a", func(context.Context, state) (graph.Update[state], error) {
				return graph.Update[state]{other.Add("x")}, nil
			})
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			g, err := b.Compile(graph.Config{Checkpoints: disk})
			if err != nil {
				rt.Fatal(err)
			}
			return g
		}
		key := rapid.SampledFrom([]string{"", "a", "b", "c", "d"})
		list := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) item {
			return item{key.Draw(rt, "key"), rapid.StringN(0, 2, -1).Draw(rt, "value")}
		}), 0, 5)
		var want []item
		add := func(list []item) {
			for _, a := range list {
				if i := slices.IndexFunc(want, func(w item) bool { return w.Key == a.Key }); i >= 0 && a.Key != "" {
					want[i] = a
				} else {
					want = append(want, a)
				}
			}
		}
		g := compile()
		for range rapid.IntRange(1, 6).Draw(rt, "turns") {
			var u graph.Update[state]
			for range rapid.IntRange(0, 3).Draw(rt, "writes") {
				switch rapid.IntRange(0, 3).Draw(rt, "write") {
				case 0:
					added := list.Draw(rt, "added")
					u = append(u, items.Add(added...))
					add(added)
				case 1:
					keys := rapid.SliceOfN(key, 0, 3).Draw(rt, "keys")
					u = append(u, items.Remove(keys...))
					want = slices.DeleteFunc(want, func(w item) bool {
						return w.Key != "" && slices.Contains(keys, w.Key)
					})
				case 2:
					keep := rapid.IntRange(0, 4).Draw(rt, "keep")
					u = append(u, items.Trim(keep))
					want = want[max(0, len(want)-keep):]
				case 3:
					all := list.Draw(rt, "all")
					u = append(u, items.Replace(all...))
					want = nil
					add(all)
				}
			}
			if rapid.Bool().Draw(rt, "another process") {
				g = compile()
			}
			s, err := g.Run(t.Context(), "thread", u, nil)
			if err != nil {
				rt.Fatal(err)
			}
			if rapid.IntRange(0, 3).Draw(rt, "compact") == 0 {
				if err := g.Compact(t.Context(), "thread"); err != nil {
					rt.Fatal(err)
				}
				if history, err := g.History(t.Context(), "thread"); err != nil || len(history) != 1 {
					rt.Fatalf("%d records after Compact, %v", len(history), err)
				}
			}
			for _, from := range []*graph.Graph[state]{g, compile()} {
				at, err := from.State(t.Context(), "thread")
				if err != nil || !slices.Equal(at.State.Items, want) || !slices.Equal(s.Items, want) ||
					!slices.Equal(at.State.Other, s.Other) {
					rt.Fatalf("%+v, %v\nat once %+v\nwant    %+v", at.State, err, s, want)
				}
			}
		}
	})
}

// TestRemoved: older checkpoints keep what was removed, records say what it was, and Compact forgets it.
func TestRemoved(t *testing.T) {
	type state struct {
		Seen []string `json:"seen"`
		Log  []string `json:"log"`
	}
	seen := graph.Append(func(s *state) *[]string { return &s.Seen }).Keyed(func(s string) string { return s })
	log := graph.Append(func(s *state) *[]string { return &s.Log })
	disk := graph.NewMemory(graph.MemoryLimits{})
	b := graph.New("test", seen, log)
	b.Node("a", func(context.Context, state) (graph.Update[state], error) { return nil, nil })
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g, err := b.Compile(graph.Config{Checkpoints: disk})
	if err != nil {
		t.Fatal(err)
	}
	run := func(w ...graph.Write[state]) state {
		t.Helper()
		s, err := g.Run(t.Context(), "thread", w, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	run(seen.Add("secret", "b"))
	run(seen.Remove("secret", "unknown"))
	history, err := g.History(t.Context(), "thread")
	if err != nil {
		t.Fatal(err)
	}
	first, err := g.At(t.Context(), "thread", history[0].ID)
	if err != nil || !slices.Equal(first.State.Seen, []string{"secret", "b"}) {
		t.Errorf("the first checkpoint is %+v, %v", first.State, err)
	}
	records, _ := disk.Load(t.Context(), "thread", "")
	if said := string(records[1].Appended); !strings.Contains(said, "remove") || !strings.Contains(said, "secret") {
		t.Errorf("the record says %s", said)
	}
	if err := g.Compact(t.Context(), "thread"); err != nil {
		t.Fatal(err)
	}
	records, _ = disk.Load(t.Context(), "thread", "")
	if len(records) != 1 || strings.Contains(string(records[0].Appended)+string(records[0].Values), "secret") ||
		records[0].ID != history[1].ID {
		t.Errorf("after Compact: %+v", records)
	}
	if s := run(seen.Add("c")); !slices.Equal(s.Seen, []string{"b", "c"}) {
		t.Errorf("the next turn has %v", s.Seen)
	}
	if _, err := g.Run(t.Context(), "thread", graph.Update[state]{log.Remove("x")}, nil); err == nil ||
		!strings.Contains(err.Error(), "Keyed") {
		t.Errorf("removing from a list without keys: %v", err)
	}
}
