package graph_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/testkit/race"
)

// plan is a random graph: from every node edges and perhaps a branch, ahead or, with loops, back.
type plan struct {
	nodes   int
	order   []int // in which nothing without loops leads back
	always  [][]string
	choices [][]string
	loops   bool
	plains  map[int]bool // the nodes that write a plain field
	merges  map[int]bool
	ask     func(ctx context.Context, node int) (string, error) // nil unless nodes ask a person
}

func nodeName(i int) string { return fmt.Sprintf("n%02d", i) }

func randomPlan(r *rand.Rand) plan {
	p := plan{nodes: 2 + r.IntN(9), loops: r.IntN(4) == 0, plains: map[int]bool{}, merges: map[int]bool{}}
	p.order = r.Perm(p.nodes) // names say nothing about it
	led := map[string]bool{}
	p.always, p.choices = make([][]string, p.nodes+1), make([][]string, p.nodes+1)
	for at := range p.nodes {
		from := p.order[at]
		p.plains[from], p.merges[from] = r.IntN(12) == 0, r.IntN(2) == 0
		targets := []string{graph.End}
		for _, to := range p.order[at+1:] {
			targets = append(targets, nodeName(to))
		}
		r.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
		n := min(r.IntN(3), len(targets))
		p.always[from] = targets[:n]
		p.choices[from] = targets[n:min(n+r.IntN(4), len(targets))]
		for _, to := range append(slices.Clone(p.always[from]), p.choices[from]...) {
			led[to] = true
		}
		if p.loops && r.IntN(3) == 0 {
			if back := nodeName(p.order[r.IntN(at+1)]); !slices.Contains(p.always[from], back) {
				p.choices[from] = append(slices.Clip(p.choices[from]), back)
			}
		}
		ends := slices.Contains(p.always[from], graph.End) || slices.Contains(p.choices[from], graph.End)
		if len(p.always[from])+len(p.choices[from]) == 0 || p.loops && !ends {
			p.choices[from] = append(slices.Clip(p.choices[from]), graph.End)
		}
	}
	for i := range p.nodes {
		if !led[nodeName(i)] || r.IntN(3) == 0 { // START leads to what nothing else leads to
			p.always[p.nodes] = append(p.always[p.nodes], nodeName(i))
		}
	}
	return p
}

// entry is what a visit of a random node writes into the log: what it read decides all that follows.
func entry(name string, s plain) string { return fmt.Sprintf("%s:%x", name, digest(s)) }

func digest(s plain) uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, s.Log, s.Name, s.Sum, s.Map)
	return h.Sum32()
}

// build makes the graph of a plan whose nodes take random times.
func (p plan) build(t *testing.T, delays *rand.Rand, c graph.Config) *graph.Graph[plain] {
	b := plainGraph()
	for i := range p.nodes {
		name := nodeName(i)
		wait := make([]time.Duration, 32)
		for j := range wait {
			wait[j] = time.Duration(delays.IntN(5)) * time.Millisecond
		}
		visits := 0
		b.Node(name, func(ctx context.Context, s plain) (update, error) {
			time.Sleep(wait[visits%len(wait)])
			visits++
			said := ""
			if p.ask != nil {
				var err error
				if said, err = p.ask(ctx, i); err != nil {
					return nil, err
				}
			}
			u := update{logged.Add(entry(name, s) + said), mapped.Set(map[string]string{name: fmt.Sprint(digest(s))})}
			if p.plains[i] {
				u = append(u, named.Set(name))
			}
			if p.merges[i] {
				u = append(u, sum.Set(int(digest(s)%1000)))
			}
			return u, nil
		})
		p.lead(b, name, i)
	}
	p.lead(b, graph.Start, p.nodes)
	return compiled(t, b, c)
}

func (p plan) lead(b *graph.Builder[plain], name string, i int) {
	if len(p.always[i]) > 0 {
		b.Edge(name, p.always[i]...)
	}
	if choices := p.choices[i]; len(choices) > 0 {
		b.Fan(name, func(s plain) []string { return choose(choices, digest(s)) }, choices...)
	}
}

// choose picks some of the choices, at least one.
func choose(choices []string, by uint32) []string {
	var chosen []string
	for i, c := range choices {
		if by>>i&1 == 1 {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		chosen = choices[:1]
	}
	return chosen
}

// TestRandomGraphs runs 10,000 random graphs, 1,000 under the race detector, each with several schedules: the result is
// the same byte for byte, or an error every time. Without loops, it is what a model says that knows nothing of
// scheduling.
func TestRandomGraphs(t *testing.T) {
	graphs := 10_000
	if race.Enabled || testing.Short() {
		graphs = 1_000
	}
	const parts = 20
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for seed := part; seed < graphs; seed += parts {
					checkPlan(t, uint64(seed))
				}
			})
		})
	}
}

func checkPlan(t *testing.T, seed uint64) {
	p := randomPlan(rand.New(rand.NewPCG(seed, 0)))
	want := ""
	if !p.loops {
		want = p.model()
	}
	for schedule := range uint64(3) {
		g := p.build(t, rand.New(rand.NewPCG(seed, 1+schedule)), graph.Config{})
		s, err := g.Run(t.Context(), "thread", update{logged.Add("input")}, nil)
		result := toJSON(t, s)
		if err != nil {
			result = "error"
		}
		if want == "" {
			want = result
		}
		if result != want {
			t.Fatalf("graph %d: schedule %d gives\n%s, %v\nwant\n%s", seed, schedule, result, err, want)
		}
	}
}

// visited is what the model knows of a node that has run.
type visited struct {
	name string
	step int
	past map[string]*visited
	line string // of the log
	next []string
	plan int // the number of the node
}

// model says what a graph without loops gives: it takes the nodes one by one in an order that is known beforehand, and
// makes each snapshot from nothing.
func (p plan) model() string {
	start := &visited{name: graph.Start, past: map[string]*visited{}, plan: p.nodes}
	start.next = p.next(start, plain{Log: []string{"input"}})
	all := map[string]*visited{graph.Start: start}
	for _, i := range p.order {
		v := &visited{name: nodeName(i), past: map[string]*visited{}, plan: i}
		for _, from := range all {
			if slices.Contains(from.next, v.name) {
				maps.Copy(v.past, from.past)
				v.past[from.name] = from
				v.step = max(v.step, from.step+1)
			}
		}
		if len(v.past) == 0 {
			continue
		}
		before := p.fold(v.past)
		v.line = entry(v.name, before)
		v.next = p.next(v, p.after(before, v))
		all[v.name] = v
	}
	if p.clash(all) {
		return "error"
	}
	data, _ := json.Marshal(p.fold(all))
	return string(data)
}

func (p plan) next(v *visited, s plain) []string {
	next := slices.Clone(p.always[v.plan])
	if choices := p.choices[v.plan]; len(choices) > 0 {
		next = append(next, choose(choices, digest(s))...)
	}
	return next
}

// fold gives the state after some visits, by step and name.
func (p plan) fold(visits map[string]*visited) plain {
	s := plain{Log: []string{"input"}}
	sorted := slices.SortedFunc(maps.Values(visits), func(a, b *visited) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.name, b.name))
	})
	for _, v := range sorted {
		if v.line != "" {
			s = p.after(s, v)
		}
	}
	return s
}

// after gives the state after one visit more.
func (p plan) after(s plain, v *visited) plain {
	var read uint32
	_, hex, _ := strings.Cut(v.line, ":")
	_, _ = fmt.Sscanf(hex, "%x", &read)
	s.Log = append(slices.Clip(s.Log), v.line)
	s.Map = overlay(maps.Clone(s.Map), map[string]string{v.name: fmt.Sprint(read)})
	if p.plains[v.plan] {
		s.Name = v.name
	}
	if p.merges[v.plan] {
		s.Sum += int(read % 1000)
	}
	return s
}

// clash reports whether two nodes write the plain field and neither comes before the other.
func (p plan) clash(all map[string]*visited) bool {
	for _, a := range all {
		for _, b := range all {
			if a != b && p.plains[a.plan] && p.plains[b.plan] && a.past[b.name] == nil && b.past[a.name] == nil {
				return true
			}
		}
	}
	return false
}

// What a turn returns is what the next one begins with: nothing gets lost on the way through a checkpoint.
func TestStateSurvives(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := single(t, graph.Config{}, func(context.Context, plain) (update, error) { return nil, nil })
		for range rapid.IntRange(1, 5).Draw(rt, "turns") {
			var u update
			for range rapid.IntRange(0, 4).Draw(rt, "writes") {
				switch rapid.IntRange(0, 3).Draw(rt, "field") {
				case 0:
					u = append(u, logged.Add(rapid.SliceOf(rapid.String()).Draw(rt, "items")...))
				case 1:
					u = append(u, sum.Set(rapid.Int().Draw(rt, "number")))
				case 2:
					u = append(u, mapped.Set(rapid.MapOf(rapid.String(), rapid.String()).Draw(rt, "map")))
				case 3:
					u = append(u, seen.Add(rapid.String().Draw(rt, "seen")))
				}
			}
			s, err := g.Run(t.Context(), "thread", u, nil)
			if err != nil {
				rt.Fatal(err)
			}
			at, err := g.State(t.Context(), "thread")
			if err != nil {
				rt.Fatal(err)
			}
			if got, want := toJSON(t, at.State), toJSON(t, s); got != want {
				rt.Fatalf("read again: %s\nwant %s", got, want)
			}
		}
	})
}

// A keyed list is a map that remembers its order: the model is a slice that is searched.
func TestKeyedList(t *testing.T) {
	type item struct{ Key, Value string }
	type state struct{ Items []item }
	rapid.Check(t, func(rt *rapid.T) {
		items := graph.Append(func(s *state) *[]item { return &s.Items }).Keyed(func(i item) string { return i.Key })
		b := graph.New("list", items)
		b.Node("a", func(context.Context, state) (graph.Update[state], error) { return nil, nil })
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		g, err := b.Compile(graph.Config{})
		if err != nil {
			rt.Fatal(err)
		}
		var want []item
		for range rapid.IntRange(1, 4).Draw(rt, "turns") {
			added := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) item {
				return item{
					rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e"}).Draw(rt, "key"),
					rapid.StringN(0, 2, -1).Draw(rt, "value"),
				}
			}), 0, 8).Draw(rt, "added")
			for _, a := range added {
				if i := slices.IndexFunc(want, func(w item) bool { return w.Key == a.Key }); i >= 0 && a.Key != "" {
					want[i] = a
				} else {
					want = append(want, a)
				}
			}
			if _, err := g.Run(t.Context(), "thread", graph.Update[state]{items.Add(added...)}, nil); err != nil {
				rt.Fatal(err)
			}
			at, err := g.State(t.Context(), "thread")
			if err != nil || toJSON(t, at.State.Items) != toJSON(t, want) {
				rt.Fatalf("%v, %v; want %v", at.State.Items, err, want)
			}
		}
	})
}
