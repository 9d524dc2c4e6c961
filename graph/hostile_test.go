package graph_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// A node that panics, returns an error, ends its goroutine or takes too long has failed, and its siblings are cancelled
// (1.7).
func TestFailures(t *testing.T) {
	for name, test := range map[string]struct {
		work func(ctx context.Context, s plain) (update, error)
		want string
	}{
		"error": {func(context.Context, plain) (update, error) { return nil, errors.New("boom") }, `node "bad": boom`},
		"panic": {func(context.Context, plain) (update, error) { panic("boom") }, `node "bad": panicked: boom`},
		"goexit": {
			func(context.Context, plain) (update, error) { runtime.Goexit(); return nil, nil },
			`node "bad": it ended its goroutine`,
		},
		"limit": {
			slow("bad", time.Hour), `node "bad": it took longer than its limit of 8s: context deadline exceeded`,
		},
		"hang": {func(context.Context, plain) (update, error) {
			time.Sleep(time.Minute) // and does not mind its context
			return update{logged.Add("late")}, nil
		}, `node "bad": it took longer than its limit of 8s: context deadline exceeded`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				b := plainGraph()
				cancelled := false
				b.Node("bad", test.work).Limit(8 * time.Second)
				b.Node("sibling", func(ctx context.Context, _ plain) (update, error) {
					<-ctx.Done()
					cancelled = true
					return update{logged.Add("sibling")}, nil
				})
				edges(b, "START bad sibling", "bad END", "sibling END")
				g := compiled(t, b, graph.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
				_, err := g.Run(t.Context(), "thread", nil, nil)
				var node *graph.NodeError
				if err == nil || err.Error() != `graph "test": `+test.want || !errors.As(err, &node) ||
					node.Node != "bad" {
					t.Errorf("%v\nwant %s", err, test.want)
				}
				if !cancelled {
					t.Error("the sibling was not cancelled and awaited")
				}
				if panicked := name == "panic"; strings.Contains(log.String(), "hostile_test.go") != panicked {
					t.Errorf("the log has the stack of a panic: %v, want %v:\n%s", !panicked, panicked, log.String())
				}
				if at, err := g.State(t.Context(), "thread"); err != nil || at.ID != "" {
					t.Errorf("a failed turn saved %+v, %v", at, err)
				}
				time.Sleep(2 * time.Minute) // until the one that hangs is over
			})
		})
	}
}

// With a fallback the turn goes on, with a warning, and what the node still does counts for nothing.
func TestFallback(t *testing.T) {
	for name, work := range map[string]func(ctx context.Context, s plain) (update, error){
		"error": func(context.Context, plain) (update, error) { return update{logged.Add("no")}, errors.New("boom") },
		"panic": func(context.Context, plain) (update, error) { panic("boom") },
		"limit": slow("no", time.Hour),
		"hang": func(context.Context, plain) (update, error) {
			time.Sleep(time.Minute)
			return update{logged.Add("no")}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := plainGraph()
				b.Warn(func(node string, err error) graph.Write[plain] { return seen.Add(node + " failed") })
				b.Node("bad", work).Limit(8 * time.Second).OrElse(func(_ plain, err error) update {
					return update{logged.Add(fmt.Sprint("instead of ", err != nil))}
				})
				noted(b, "next")
				edges(b, "START bad", "bad next", "next END")
				s, err := compiled(t, b, graph.Config{}).Run(t.Context(), "thread", update{logged.Add("input")}, nil)
				if got := strings.Join(append(s.Log, s.Seen...), ", "); err != nil ||
					got != "input, instead of true, next, bad failed" {
					t.Errorf("%s, %v", got, err)
				}
				time.Sleep(2 * time.Minute)
			})
		})
	}
}

// What panics outside of a node ends the turn and not the program.
func TestFunctionsThatPanic(t *testing.T) {
	bad := graph.Merge(func(s *plain) *int { return &s.Sum }, func(int, int) int { panic("merge") })
	badly := graph.New("test", logged, named, count, bad, mapped, seen, kept)
	badly.Node("a", func(context.Context, plain) (update, error) { return update{bad.Set(1)}, nil })
	edges(badly, "START a", "a END")
	branching := plainGraph()
	noted(branching, "a")
	branching.Edge(graph.Start, "a")
	branching.Fan("a", func(plain) []string { panic("branch") }, graph.End)
	falling := plainGraph()
	falling.Node("a", func(context.Context, plain) (update, error) { panic("node") }).OrElse(func(plain, error) update {
		panic("fallback")
	})
	edges(falling, "START a", "a END")
	for want, b := range map[string]*graph.Builder[plain]{"merge": badly, "branch": branching, "fallback": falling} {
		g := compiled(t, b, graph.Config{})
		if _, err := g.Run(t.Context(), "thread", nil, nil); !errors.Is(err, graph.ErrPanic) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want the panic of the %s", err, want)
		}
	}
	_, err := compiled(t, badly, graph.Config{}).UpdateState(t.Context(), "thread", update{bad.Set(1)},
		graph.UpdateOptions{})
	if !errors.Is(err, graph.ErrPanic) {
		t.Errorf("an update whose reducer panics: %v", err)
	}
}

// What a node writes is its own no longer, what it sets and appends to in its snapshot reaches nobody, and what is
// handed out is a copy.
func TestStatesAreNotChangedFromOutside(t *testing.T) {
	b := plainGraph()
	stolen := map[string]string{"by": "evil"}
	var later []func()
	b.Node("a", func(_ context.Context, s plain) (update, error) {
		s.Name, s.Map = "changed", nil
		s.Log = append(s.Log, "changed")
		s.Log[0] = "changed"
		u := update{mapped.Set(stolen), logged.Add("a")}
		stolen["by"] = "changed"
		later = append(later, func() { stolen["by"], u[1] = "later", logged.Add("later") })
		return u, nil
	})
	b.Node("b", func(_ context.Context, s plain) (update, error) {
		later[0]()
		return update{logged.Add("b reads " + s.Log[0] + " " + s.Map["k"])}, nil
	})
	edges(b, "START a", "a b", "b END")
	g := compiled(t, b, graph.Config{Guard: true})
	given := map[string]string{"k": "v"}
	first, err := g.Run(t.Context(), "thread", update{logged.Add("input"), mapped.Set(given)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `[input a b reads input v] map[by:evil k:v]`
	if got := fmt.Sprint(first.Log, first.Map); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	first.Log[0], first.Map["k"] = "changed", "changed"
	for range 2 {
		at, err := g.State(t.Context(), "thread")
		if got := fmt.Sprint(at.State.Log, at.State.Map); err != nil || got != want {
			t.Errorf("the state is %s, %v\nwant %s", got, err, want)
		}
		at.State.Log[0], at.State.Map["k"] = "changed", "changed"
	}
}

// Siblings may append to the same slices at the same time, whether those come from the input, a node, a reducer or a
// checkpoint; the race detector looks on.
func TestSiblingsAppendToWhatTheyShare(t *testing.T) {
	type state struct {
		Last   []string   `json:"last"`
		Merged []string   `json:"merged"`
		Deep   [][]string `json:"deep"`
		Listed []string   `json:"listed"`
	}
	last := graph.Last(func(s *state) *[]string { return &s.Last })
	merged := graph.Merge(func(s *state) *[]string { return &s.Merged }, func(old, written []string) []string {
		return append(old, written...)
	})
	deep := graph.Last(func(s *state) *[][]string { return &s.Deep })
	listed := graph.Append(func(s *state) *[]string { return &s.Listed }).Keyed(strings.Clone)
	b := graph.New("test", last, merged, deep, listed)
	roomy := func(text string) []string { return append(make([]string, 0, 8), text) }
	b.Node("first", func(context.Context, state) (graph.Update[state], error) {
		return graph.Update[state]{last.Set(roomy("a")), deep.Set([][]string{roomy("a")}), merged.Set(roomy("b"))}, nil
	})
	b.Edge(graph.Start, "first")
	for i := range 8 {
		name := fmt.Sprint("n", i)
		b.Node(name, func(_ context.Context, s state) (graph.Update[state], error) {
			for _, shared := range [][]string{s.Last, s.Merged, s.Deep[0], s.Listed} {
				if own := append(shared, name); own[len(own)-1] != name {
					return nil, fmt.Errorf("%s appended and finds %q", name, own)
				}
			}
			return nil, nil
		})
		b.Edge("first", name)
		b.Edge(name, graph.End)
	}
	g, err := b.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		input := graph.Update[state]{listed.Add(roomy("a")...), listed.Add("a", "b"), merged.Set(roomy("a"))}
		if _, err := g.Run(t.Context(), "thread", input, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// A guarded graph names who changes what it may only read.
func TestGuard(t *testing.T) {
	change := func(s plain) { s.Map["k"] = "changed" }
	for want, define := range map[string]func(b *graph.Builder[plain]){
		`node "a": it changed what it was given to read`: func(b *graph.Builder[plain]) {
			b.Node("a", func(_ context.Context, s plain) (update, error) { change(s); return nil, nil })
			edges(b, "START a", "a END")
		},
		`node "a": its branch: it changed`: func(b *graph.Builder[plain]) {
			noted(b, "a")
			b.Edge(graph.Start, "a")
			b.Branch("a", func(s plain) string { change(s); return graph.End }, graph.End)
		},
		`node "b": it changed`: func(b *graph.Builder[plain]) {
			b.Node("b", func(context.Context, plain) (update, error) { return nil, errors.New("boom") }).
				OrElse(func(s plain, _ error) update { change(s); return nil })
			edges(b, "START b", "b END")
		},
	} {
		b := plainGraph()
		define(b)
		_, err := compiled(t, b, graph.Config{Guard: true}).Run(t.Context(), "thread",
			update{mapped.Set(map[string]string{"k": "v"})}, nil)
		if !errors.Is(err, graph.ErrChanged) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// Nothing is written to the client after a node has finished, by whatever way (js: siblings ran on after the error).
func TestWritesAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var text strings.Builder
		sink := func(_ context.Context, token string) error {
			mu.Lock()
			defer mu.Unlock()
			text.WriteString(token)
			return nil
		}
		var late error
		b := plainGraph()
		b.Streaming("stream", func(ctx context.Context, _ plain, out graph.TokenSink) (update, error) {
			if err := out(ctx, "in time"); err != nil {
				return nil, err
			}
			time.Sleep(time.Minute) // the node hangs
			late = out(context.Background(), "late")
			return nil, nil
		}).Limit(time.Second).OrElse(nil)
		edges(b, "START stream", "stream END")
		if _, err := compiled(t, b, graph.Config{}).Run(t.Context(), "thread", nil, sink); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if text.String() != "in time" || !errors.Is(late, graph.ErrFinished) {
			t.Errorf("the client got %q; writing late gave %v, want ErrFinished", text.String(), late)
		}
	})
}

// A client that does not read is given up with the node that writes to it.
func TestSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := plainGraph()
		b.Streaming("stream", func(_ context.Context, _ plain, out graph.TokenSink) (update, error) {
			return nil, out(context.Background(), "hello")
		}).Limit(time.Minute)
		edges(b, "START stream", "stream END")
		sink := func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
		began := time.Now()
		_, err := compiled(t, b, graph.Config{}).Run(t.Context(), "thread", nil, sink)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// Cancelling the context ends the turn, even when a node does not mind it.
func TestCancel(t *testing.T) {
	for name, work := range map[string]func(ctx context.Context, s plain) (update, error){
		"obedient": slow("a", time.Hour),
		"fallback": slow("b", time.Hour),
		"deaf":     func(context.Context, plain) (update, error) { time.Sleep(time.Hour); return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := plainGraph()
				n := b.Node("a", work).Limit(time.Hour)
				if name == "fallback" {
					n.OrElse(nil)
				}
				edges(b, "START a", "a END")
				g := compiled(t, b, graph.Config{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				_, err := g.Run(ctx, "thread", nil, nil)
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 61*time.Second {
					t.Errorf("%v after %v", err, time.Since(began))
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// Values that no checkpoint can hold end the turn with a word on what to do.
func TestHugeValues(t *testing.T) {
	b := plainGraph()
	b.Node("a", func(context.Context, plain) (update, error) {
		return update{named.Set(strings.Repeat("x", 17<<20))}, nil
	})
	edges(b, "START a", "a END")
	g := compiled(t, b, graph.Config{})
	if _, err := g.Run(t.Context(), "thread", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "keep large values elsewhere") {
		t.Error(err)
	}
	if at, err := g.State(t.Context(), "thread"); err != nil || at.ID != "" {
		t.Errorf("the turn was saved: %s, %v", at.ID, err)
	}
}

// The functions of fields panic outside of nodes too: when a thread is read, and when a failed turn keeps something.
func TestFieldFunctionsThatPanic(t *testing.T) {
	type state struct {
		List     []*message `json:"list"`
		Retained int        `json:"kept"`
	}
	list := graph.Append(func(s *state) *[]*message { return &s.List }).Keyed(func(m *message) string { return m.ID })
	counted := graph.Merge(func(s *state) *int { return &s.Retained }, func(old, _ int) int {
		return 1 / old
	}).Retained()
	b := graph.New("test", list, counted)
	b.Node("a", func(context.Context, state) (graph.Update[state], error) { return nil, nil })
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	store := graph.NewMemory(graph.MemoryLimits{})
	g, err := b.Compile(graph.Config{Checkpoints: store})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Save(t.Context(), "thread", graph.Record{
		ID: "1", Values: []byte(`{}`), Appended: []byte(`{"list":[null]}`),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.State(t.Context(), "thread"); !errors.Is(err, graph.ErrPanic) {
		t.Errorf("reading a list whose key panics: %v", err)
	}
	if _, err := g.Run(t.Context(), "other", graph.Update[state]{counted.Set(1)}, nil); !errors.Is(err,
		graph.ErrPanic) {
		t.Errorf("keeping a field whose merge panics: %v", err)
	}
}

// An observer that panics is left out, whatever else happens.
func TestObserverThatPanics(t *testing.T) {
	var log bytes.Buffer
	b := plainGraph()
	noted(b, "a")
	edges(b, "START a", "a END")
	g := compiled(t, b, graph.Config{Observer: badObserver{}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if s, err := g.Run(t.Context(), "thread", nil, nil); err != nil || len(s.Log) != 1 {
		t.Errorf("%v, %v", s, err)
	}
	if strings.Count(log.String(), "panic observer=a") != 2 {
		t.Errorf("the log does not tell:\n%s", log.String())
	}
}

// A panic is logged with the context of its turn, which says what is secret.
func TestPanicsAreLoggedWithTheirContext(t *testing.T) {
	type key struct{}
	for name, build := range map[string]func(*graph.Builder[plain]){
		"node": func(b *graph.Builder[plain]) {
			b.Node("a", func(context.Context, plain) (update, error) { panic("hush") })
		},
		"task": func(b *graph.Builder[plain]) {
			b.Node("a", func(ctx context.Context, _ plain) (update, error) {
				task := graph.NewTask[int]("kind")
				err := task.Start(ctx, func(context.Context) (int, error) { panic("hush") })
				if err == nil {
					_, err = task.Await(ctx, time.Hour)
				}
				return nil, err
			})
		},
	} {
		var log contextLog
		b := plainGraph()
		build(b)
		edges(b, "START a", "a END")
		g := compiled(t, b, graph.Config{Log: slog.New(&log)})
		if _, err := g.Run(context.WithValue(t.Context(), key{}, "mine"), "thread", nil, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
		if log.ctx == nil || log.ctx.Value(key{}) != "mine" {
			t.Errorf("%s: the panic is logged with %v", name, log.ctx)
		}
	}
}

// contextLog keeps the context of its last line.
type contextLog struct {
	slog.Handler
	ctx context.Context //nolint:containedctx // it is what is looked at
}

func (*contextLog) Enabled(context.Context, slog.Level) bool { return true }

func (l *contextLog) Handle(ctx context.Context, _ slog.Record) error {
	l.ctx = ctx
	return nil
}

type badObserver struct{}

func (badObserver) NodeBegan(context.Context, graph.Visit) context.Context { panic("began") }
func (badObserver) NodeEnded(context.Context, graph.Visit)                 { panic("ended") }

// A turn that fails for want of steps leaves behind a node that hangs, and names it.
func TestHangingSibling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := plainGraph()
		b.Steps(3)
		b.Node("deaf", func(context.Context, plain) (update, error) { time.Sleep(time.Hour); return nil, nil })
		noted(b, "loop")
		edges(b, "START deaf loop", "deaf END")
		b.Fan("loop", take("loop"), "loop", graph.End)
		g := compiled(t, b, graph.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
		began := time.Now()
		_, err := g.Run(t.Context(), "thread", nil, nil)
		if !errors.Is(err, graph.ErrSteps) || time.Since(began) != time.Second ||
			!strings.Contains(log.String(), "node=deaf") {
			t.Errorf("%v after %v; the log says %s", err, time.Since(began), log.String())
		}
		time.Sleep(2 * time.Hour)
	})
}
