package graph_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/graph"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// slow is a node that takes its time before it writes its name into the log.
func slow(name string, d time.Duration) func(context.Context, plain) (update, error) {
	return func(ctx context.Context, _ plain) (update, error) {
		select {
		case <-time.After(d):
			return update{logged.Add(name)}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// take returns a branch that always leads to the same nodes.
func take(names ...string) func(plain) []string { return func(plain) []string { return names } }

// TestOrder has one table for what runs when, and in which order it is written.
func TestOrder(t *testing.T) {
	for name, test := range map[string]struct {
		define func(b *graph.Builder[plain])
		want   string
	}{
		"a chain": {func(b *graph.Builder[plain]) {
			noted(b, "a", "b", "c")
			edges(b, "START c", "c a", "a b", "b END")
		}, "c a b"},
		"by name, not by finishing time (1.1)": {func(b *graph.Builder[plain]) {
			b.Node("a", slow("a", 3*time.Second))
			b.Node("b", slow("b", time.Second))
			b.Node("c", slow("c", 2*time.Second))
			edges(b, "START c b a", "a END", "b END", "c END")
		}, "a b c"},
		"unequal branches join once (1.2)": {func(b *graph.Builder[plain]) {
			noted(b, "a", "b1", "b2", "b3", "join")
			edges(b, "START a b1", "b1 b2", "b2 b3", "a join", "b3 join", "join END")
		}, "a b1 b2 b3 join"},
		"a node and its follower join once": {func(b *graph.Builder[plain]) {
			noted(b, "a", "b", "join")
			edges(b, "START a", "a b join", "b join", "join END")
		}, "a b join"},
		"a parent that a branch skipped does not hang the join (js#2666, #3249)": {func(b *graph.Builder[plain]) {
			noted(b, "a", "b", "c", "join", "after")
			b.Edge(graph.Start, "a")
			b.Fan("a", take("c"), "b", "c")
			edges(b, "b join", "c join", "join after", "after END")
		}, "a c join after"},
		"nor does one further up": {func(b *graph.Builder[plain]) {
			noted(b, "a", "b", "b2", "c", "join")
			b.Edge(graph.Start, "a", "c")
			b.Fan("a", take(graph.End), "b", graph.End)
			edges(b, "b b2", "b2 join", "c join", "join END")
		}, "a c join"},
		"a join that is not led to does not run": {func(b *graph.Builder[plain]) {
			noted(b, "a", "join")
			b.Edge(graph.Start, "a")
			b.Fan("a", take(graph.End), "join", graph.End)
			b.Edge("join", graph.End)
		}, "a"},
		"a branch to several": {func(b *graph.Builder[plain]) {
			noted(b, "a", "b", "c", "d")
			b.Edge(graph.Start, "a")
			b.Fan("a", take("d", "b", "d"), "b", "c", "d")
			edges(b, "b END", "c END", "d END")
		}, "a b d"},
		"a branch beside an edge": {func(b *graph.Builder[plain]) {
			noted(b, "a", "b", "c", "d")
			edges(b, "START a", "a d", "b END", "c END", "d END")
			b.Fan("a", take("b"), "b", "c")
		}, "a b d"},
		"a branch at the start": {func(b *graph.Builder[plain]) {
			noted(b, "a", "b")
			b.Fan(graph.Start, take("b"), "a", "b")
			edges(b, "a END", "b END")
		}, "b"},
		"a loop": {func(b *graph.Builder[plain]) {
			noted(b, "a", "b")
			edges(b, "START a", "a b")
			b.Branch("b", func(s plain) string {
				if len(s.Log) < 6 {
					return "a"
				}
				return graph.End
			}, "a", graph.End)
		}, "a b a b a b"},
		"a loop beside a branch, both joined": {func(b *graph.Builder[plain]) {
			noted(b, "a", "b", "join")
			edges(b, "START a b", "b join", "join END")
			b.Branch("a", func(s plain) string {
				if len(s.Log) < 3 {
					return "a"
				}
				return "join"
			}, "a", "join")
		}, "a b a a join"},
		"joins on one loop wait for each other": {func(b *graph.Builder[plain]) {
			noted(b, "a", "x", "y")
			edges(b, "START a", "a x y", "x y")
			b.Branch("y", func(s plain) string {
				if len(s.Log) < 6 {
					return "x"
				}
				return graph.End
			}, "x", graph.End)
		}, "a x y x y x y"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := plainGraph()
				test.define(b)
				s, err := compiled(t, b, graph.Config{}).Run(t.Context(), "thread", nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(s.Log, " "); got != test.want {
					t.Errorf("log %q, want %q", got, test.want)
				}
			})
		})
	}
}

// A node reads what led to it, and nothing of what runs beside it (1.1); a branch reads that and the node's own writes
// (1.2).
func TestSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := plainGraph()
		read := func(name string, wait time.Duration) {
			b.Node(name, func(_ context.Context, s plain) (update, error) {
				time.Sleep(wait)
				return update{logged.Add(name), mapped.Set(map[string]string{name: strings.Join(s.Log, " ")})}, nil
			})
		}
		read("a", 0)
		read("b", 5*time.Second)
		read("b2", 0)
		read("c", time.Second)
		read("join", 0)
		branched := map[string]string{}
		edges(b, "START a", "a b c", "b b2", "b2 join", "join END")
		b.Branch("c", func(s plain) string { branched["c"] = strings.Join(s.Log, " "); return "join" }, "join")
		s, err := compiled(t, b, graph.Config{}).Run(t.Context(), "thread", update{logged.Add("input")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for node, want := range map[string]string{
			"a": "input", "b": "input a", "c": "input a", "b2": "input a b", "join": "input a b c b2",
		} {
			if s.Map[node] != want {
				t.Errorf("node %s read %q, want %q", node, s.Map[node], want)
			}
		}
		if branched["c"] != "input a c" {
			t.Errorf("the branch read %q, want the node's own write on top", branched["c"])
		}
	})
}

// A fast branch does not wait for a slow one beside it (langgraph#3617): steps are no barriers.
func TestBranchesDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := plainGraph()
		for name, d := range map[string]time.Duration{
			"form": 3 * time.Second, "choice": 0, "suggest": 3 * time.Second, "finalize": 0,
		} {
			b.Node(name, slow(name, d))
		}
		edges(b, "START form choice", "choice suggest", "suggest finalize", "form finalize", "finalize END")
		began := time.Now()
		if _, err := compiled(t, b, graph.Config{}).Run(t.Context(), "thread", nil, nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the turn took %v, want the 3 s of the slower branch", took)
		}
	})
}

// Errors that end a turn: each says where, and leaves the thread as it was.
func TestRunErrors(t *testing.T) {
	boom := errors.New("boom")
	fail := func(context.Context, plain) (update, error) { return update{logged.Add("no")}, boom }
	for name, test := range map[string]struct {
		define func(b *graph.Builder[plain])
		is     error
		want   string
	}{
		"a failing node": {
			func(b *graph.Builder[plain]) { b.Node("a", fail); edges(b, "START a", "a END") }, boom,
			`graph "test": node "a": boom`,
		},
		"two writers (INVALID_CONCURRENT_GRAPH_UPDATE)": {func(b *graph.Builder[plain]) {
			set := func(context.Context, plain) (update, error) { return update{named.Set("x")}, nil }
			b.Node("b", set)
			b.Node("a", set)
			edges(b, "START a b", "a END", "b END")
		}, graph.ErrTwoWriters, `nodes "a" and "b" run side by side and write field "name"`},
		"two writers on branches of unequal length": {func(b *graph.Builder[plain]) {
			set := func(context.Context, plain) (update, error) { return update{named.Set("x")}, nil }
			b.Node("a", set)
			noted(b, "b1")
			b.Node("b2", set)
			edges(b, "START a b1", "b1 b2", "a END", "b2 END")
		}, graph.ErrTwoWriters, `nodes "a" and "b2" run side by side`},
		"two writes of one node": {func(b *graph.Builder[plain]) {
			b.Node("a", func(context.Context, plain) (update, error) {
				return update{named.Set("x"), named.Set("y")}, nil
			})
			edges(b, "START a", "a END")
		}, graph.ErrTwoWriters, `node "a" writes field "name" twice`},
		"a branch to an unknown node": {func(b *graph.Builder[plain]) {
			noted(b, "a", "answer")
			edges(b, "START a", "answer END")
			b.Fan("a", take("anwser"), "answer", graph.End)
		}, nil, `node "a": its branch names "anwser", to which it may not lead (known: END, answer)`},
		"a branch to a node that it did not declare": {func(b *graph.Builder[plain]) {
			noted(b, "a", "c")
			edges(b, "START a c", "c END")
			b.Fan("a", take("c"), graph.End)
		}, nil, `its branch names "c", to which it may not lead (known: END)`},
		"a branch to nothing": {func(b *graph.Builder[plain]) {
			noted(b, "a")
			edges(b, "START a")
			b.Fan("a", take(), graph.End)
		}, nil, "its branch names no node: name END to lead nowhere"},
		"an endless loop (GRAPH_RECURSION_LIMIT)": {func(b *graph.Builder[plain]) {
			noted(b, "a")
			edges(b, "START a")
			b.Fan("a", take("a"), "a", graph.End)
		}, graph.ErrSteps, `node "a" would be step 26`},
		"a lower limit": {func(b *graph.Builder[plain]) {
			b.Steps(2)
			noted(b, "a", "b", "c")
			edges(b, "START a", "a b", "b c", "c END")
		}, graph.ErrSteps, `node "c" would be step 3`},
		"streams that a branch brings together": {func(b *graph.Builder[plain]) {
			noted(b, "a")
			b.Streaming("x", stream)
			b.Streaming("y", stream)
			b.Edge(graph.Start, "a")
			b.Fan("a", take("x", "y"), "x", "y")
			edges(b, "x END", "y END")
		}, nil, `nodes "x" and "y" stream side by side`},
		"an undeclared field": {func(b *graph.Builder[plain]) {
			other := graph.Last(func(s *plain) *string { return &s.Name })
			b.Node("a", func(context.Context, plain) (update, error) { return update{other.Set("x")}, nil })
			edges(b, "START a", "a END")
		}, nil, `node "a": field "name" is written but not declared`},
	} {
		t.Run(name, func(t *testing.T) {
			b := plainGraph()
			test.define(b)
			g := compiled(t, b, graph.Config{})
			s, err := g.Run(t.Context(), "thread", update{logged.Add("input")}, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) || !errors.Is(err, test.is) && test.is != nil {
				t.Errorf("%v\nwant %s", err, test.want)
			}
			if len(s.Log) > 0 {
				t.Errorf("a failed turn returned a state: %v", s)
			}
			if at, err := g.State(t.Context(), "thread"); err != nil || at.ID != "" {
				t.Errorf("a failed turn saved %+v, %v", at, err)
			}
		})
	}
}

// Streams may take turns.
func TestStreamsFollowEachOther(t *testing.T) {
	b := plainGraph()
	say := func(text string) func(context.Context, plain, graph.TokenSink) (update, error) {
		return func(ctx context.Context, _ plain, out graph.TokenSink) (update, error) { return nil, out(ctx, text) }
	}
	b.Streaming("x", say("Hello "))
	b.Streaming("y", say("you"))
	edges(b, "START x", "x y", "y END")
	var text strings.Builder
	sink := func(_ context.Context, token string) error { text.WriteString(token); return nil }
	if _, err := compiled(t, b, graph.Config{}).Run(t.Context(), "thread", nil, sink); err != nil ||
		text.String() != "Hello you" {
		t.Errorf("%q, %v", text.String(), err)
	}
}

// An update may hold nil writes, so that a node can write on a condition, and twice to what is merged or appended.
func TestUpdates(t *testing.T) {
	b := plainGraph()
	b.Node("a", func(context.Context, plain) (update, error) {
		return update{nil, sum.Set(1), sum.Set(2), logged.Add("x"), logged.Add("y", "z"), logged.Add()}, nil
	})
	edges(b, "START a", "a END")
	s, err := compiled(t, b, graph.Config{}).Run(t.Context(), "thread", update{sum.Set(10)}, nil)
	if err != nil || s.Sum != 13 || !slices.Equal(s.Log, []string{"x", "y", "z"}) {
		t.Errorf("%+v, %v", s, err)
	}
}

// The whole bot: each way through it, with the log of what ran.
func TestBot(t *testing.T) {
	for message, want := range map[string]struct {
		nodes []string
		steps int
	}{
		"What is it?": {[]string{
			"answer_suggester", "answer_writer", "enricher_awaiter", "retrieval_awaiter", "skill_applier",
			"visitor_profile_awaiter", "dialog_state_extractor", "form_field_extractor", "suggestion_router",
			"intent_router",
		}, 12},
		"redirect":  {[]string{"redirect_handler", "intent_router"}, 6},
		"book":      {[]string{"booking_handler", "intent_router"}, 6},
		"converted": {[]string{"post_conversion_handler"}, 3},
	} {
		t.Run(message, func(t *testing.T) {
			w := &watch{}
			g := bot(t, graph.Config{Observer: w})
			var text strings.Builder
			s, err := g.Run(t.Context(), "thread", botUpdate{input.Set(message)}, func(_ context.Context,
				token string) error {
				text.WriteString(token)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, node := range want.nodes {
				if !slices.Contains(w.nodes, node) {
					t.Errorf("%s did not run: %v", node, w.nodes)
				}
			}
			once := slices.DeleteFunc(slices.Clone(w.nodes), func(node string) bool { return node != "finalize" })
			if len(once) != 1 || w.steps != want.steps {
				t.Errorf("want finalize once, as step %d; got step %d of %v", want.steps, w.steps, w.nodes)
			}
			if s.Response != text.String() || len(s.Messages) != 2 || s.Turn != 1 || s.LastInput != message ||
				len(s.Warnings) > 0 {
				t.Errorf("state %+v", s)
			}
			if g.Tasks() != 0 {
				t.Errorf("%d tasks are left", g.Tasks())
			}
		})
	}
}
