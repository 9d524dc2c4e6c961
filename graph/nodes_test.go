package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// tries is an observer that writes down attempts.
type tries struct{ lines []string }

func (o *tries) NodeBegan(ctx context.Context, v graph.Visit) context.Context { return ctx }

func (o *tries) NodeEnded(_ context.Context, v graph.Visit) {
	o.lines = append(o.lines, fmt.Sprintf("%s %d %v %v %v", v.Node, v.Attempt, v.Duration, v.Err, v.FellBack))
}

func TestRetry(t *testing.T) {
	errBusy := errors.New("busy")
	for name, c := range map[string]struct {
		policy graph.RetryPolicy
		work   func(ctx context.Context, attempt int) error
		orElse bool
		want   []string
		took   time.Duration
		log    string
	}{
		"third time": {
			work: func(_ context.Context, n int) error {
				if n < 3 {
					return errBusy
				}
				return nil
			},
			want: []string{"a 1 0s busy false", "a 2 0s busy false", "a 3 0s <nil> false"},
			took: 1500 * time.Millisecond, log: "done 3",
		},
		"never": {
			work: func(context.Context, int) error { return errBusy },
			want: []string{"a 1 0s busy false", "a 2 0s busy false", "a 3 0s busy false"},
			took: 1500 * time.Millisecond,
		},
		"fallback after the last": {
			policy: graph.RetryPolicy{Attempts: 2}, orElse: true,
			work: func(context.Context, int) error { return errBusy },
			want: []string{"a 1 0s busy false", "a 2 0s busy true"}, took: 500 * time.Millisecond, log: "fallback",
		},
		"pauses are bounded": {
			policy: graph.RetryPolicy{Attempts: 4, Base: 2 * time.Second, Max: 3 * time.Second, Factor: 10},
			work:   func(context.Context, int) error { return errBusy },
			want:   []string{"a 1 0s busy false", "a 2 0s busy false", "a 3 0s busy false", "a 4 0s busy false"},
			took:   8 * time.Second,
		},
		"limit of each": {
			work: func(ctx context.Context, n int) error {
				if n == 1 {
					<-ctx.Done()
					return ctx.Err()
				}
				return nil
			},
			want: []string{
				"a 1 8s it took longer than its limit of 8s: context deadline exceeded false", "a 2 0s <nil> false",
			}, took: 8500 * time.Millisecond, log: "done 2",
		},
		"an error of a context": {
			work: func(context.Context, int) error { return context.Canceled },
			want: []string{"a 1 0s context canceled false"},
		},
		"not worth it": {
			policy: graph.RetryPolicy{If: func(err error) bool { return !errors.Is(err, errBusy) }},
			work:   func(context.Context, int) error { return errBusy },
			want:   []string{"a 1 0s busy false"},
		},
		"a panic": {
			work: func(_ context.Context, n int) error {
				if n == 1 {
					panic("oh")
				}
				return nil
			},
			want: []string{"a 1 0s panicked: oh false", "a 2 0s <nil> false"}, took: 500 * time.Millisecond,
			log: "done 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts, watching := 0, &tries{}
				b := plainGraph()
				n := b.Node("a", func(ctx context.Context, _ plain) (update, error) {
					attempts++
					return update{logged.Add(fmt.Sprint("done ", attempts))}, c.work(ctx, attempts)
				}).Limit(8 * time.Second).Retry(c.policy)
				if c.orElse {
					n.OrElse(func(plain, error) update { return update{logged.Add("fallback")} })
				}
				edges(b, "START a", "a END")
				begin := time.Now()
				s, err := compiled(t, b, graph.Config{Observer: watching}).Run(t.Context(), "thread", nil, nil)
				if (err == nil) != (c.log != "") || strings.Join(s.Log, " ") != c.log {
					t.Errorf("log %v, %v; want %q", s.Log, err, c.log)
				}
				if !slices.Equal(watching.lines, c.want) || time.Since(begin) != c.took {
					t.Errorf("after %v, want %v:\n%s\nwant\n%s", time.Since(begin), c.took,
						strings.Join(watching.lines, "\n"), strings.Join(c.want, "\n"))
				}
			})
		})
	}
}

// A streaming node that has written is not tried again, and its fallback stands in.
func TestRetryOfStreams(t *testing.T) {
	for _, writes := range []bool{false, true} {
		attempts := 0
		b := plainGraph()
		b.Streaming("a", func(ctx context.Context, _ plain, out graph.TokenSink) (update, error) {
			attempts++
			if writes {
				_ = out(ctx, "x")
			}
			return nil, errors.New("broken")
		}).Retry(graph.RetryPolicy{Base: 1}).OrElse(nil)
		edges(b, "START a", "a END")
		if _, err := compiled(t, b, graph.Config{}).Run(t.Context(), "thread", nil, nil); err != nil {
			t.Error(err)
		}
		if want := map[bool]int{false: 3, true: 1}[writes]; attempts != want {
			t.Errorf("writes %v: %d attempts, want %d", writes, attempts, want)
		}
	}
}

// TestEach: writes count in the order of the items, no more work side by side than allowed, and a node without items
// settles.
func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, items := range []int{0, 1, 7, 40} {
			var busy, most atomic.Int32
			b := plainGraph()
			graph.Each(b, "map", func(s plain) []int {
				list := make([]int, s.Count)
				for i := range list {
					list[i] = i
				}
				return list
			}, func(_ context.Context, _ plain, i int) (update, error) {
				most.Store(max(most.Load(), busy.Add(1)))
				defer busy.Add(-1)
				time.Sleep(time.Duration(100-i) * time.Millisecond)
				return update{logged.Add(fmt.Sprint(i)), sum.Set(i)}, nil
			}).Parallel(5)
			edges(b, "START map", "map END")
			s, err := compiled(t, b, graph.Config{Guard: true}).Run(t.Context(), fmt.Sprint(items),
				update{count.Set(items)}, nil)
			var want []string
			for i := range items {
				want = append(want, fmt.Sprint(i))
			}
			if err != nil || !slices.Equal(s.Log, want) || s.Sum != items*(items-1)/2 || int(most.Load()) > 5 {
				t.Errorf("%d items give %v, sum %d, %d side by side, %v", items, s.Log, s.Sum, most.Load(), err)
			}
		}
	})
}

func TestEachFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		build := func(work func(ctx context.Context, s plain, i int) (update, error)) *graph.Graph[plain] {
			b := plainGraph()
			graph.Each(b, "map", func(plain) []int { return []int{0, 1, 2} }, work)
			edges(b, "START map", "map END")
			return compiled(t, b, graph.Config{})
		}
		_, err := build(func(context.Context, plain, int) (update, error) {
			return update{named.Set("x")}, nil
		}).Run(t.Context(), "t", nil, nil)
		if !errors.Is(err, graph.ErrTwoWriters) {
			t.Errorf("two items that set a field: %v", err)
		}
		var cancelled atomic.Int32
		_, err = build(func(ctx context.Context, _ plain, i int) (update, error) {
			if i == 1 {
				time.Sleep(time.Second)
				return nil, errCrash
			}
			select {
			case <-ctx.Done():
				cancelled.Add(1)
				return nil, ctx.Err()
			case <-time.After(time.Minute):
				return nil, nil
			}
		}).Run(t.Context(), "t", nil, nil)
		if !errors.Is(err, errCrash) || !strings.Contains(err.Error(), "item 1") || cancelled.Load() != 2 {
			t.Errorf("%v, %d cancelled", err, cancelled.Load())
		}
		_, err = build(func(context.Context, plain, int) (update, error) {
			panic("oh")
		}).Run(t.Context(), "t", nil, nil)
		if !errors.Is(err, graph.ErrPanic) {
			t.Errorf("a panic: %v", err)
		}
	})
}

// TestEachGoesOn: items have steps of their own, and may ask.
func TestEachGoesOn(t *testing.T) {
	for _, durable := range []bool{true, false} {
		disk := graph.NewMemory(graph.MemoryLimits{})
		var fails atomic.Bool
		fails.Store(durable)
		var ran [4]atomic.Int32
		b := plainGraph()
		graph.Each(b, "map", func(plain) []int {
			return []int{0, 1, 2, 3}
		}, func(ctx context.Context, _ plain, i int) (update, error) {
			ran[i].Add(1)
			if i == 3 && fails.Load() {
				return nil, errCrash
			}
			said := ""
			if i%2 == 1 {
				var err error
				if said, err = graph.Interrupt[string](ctx, i); err != nil {
					return nil, err
				}
			}
			return update{logged.Add(fmt.Sprint(i, said))}, nil
		}).Parallel(1)
		edges(b, "START map", "map END")
		g := compiled(t, b, graph.Config{Checkpoints: disk, Durable: durable})
		_, err := g.Run(t.Context(), "thread", nil, nil)
		if durable {
			if !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			steps, _ := disk.Steps(t.Context(), "thread")
			if len(steps) != 3 || steps[1].Node != "map" || steps[1].Item != 0 || steps[2].Item != 2 {
				t.Errorf("steps %+v", steps)
			}
			fails.Store(false)
			_, err = g.Continue(t.Context(), "thread", nil)
		}
		var s plain
		answered := 0
		for question := (*graph.InterruptError)(nil); errors.As(err, &question); answered++ {
			s, err = g.Resume(t.Context(), "thread", first(t, g, "to "+string(question.Question)), nil)
		}
		if want := []string{"0", "1to 1", "2", "3to 3"}; err != nil || !slices.Equal(s.Log, want) || answered != 2 {
			t.Errorf("durable %v: %v, %v after %d answers", durable, s.Log, err, answered)
		}
		if ran[0].Load() != 1 || ran[2].Load() != 1 {
			t.Errorf("durable %v: settled items have run %d and %d times", durable, ran[0].Load(), ran[2].Load())
		}
	}
}

type inner struct {
	Said []string `json:"said"`
	Done string   `json:"done"`
}

// nested has a graph in a graph in a graph, whose innermost node asks and streams.
func nested(t *testing.T, c graph.Config, ran *atomic.Int32) *graph.Graph[plain] {
	said := graph.Append(func(s *inner) *[]string { return &s.Said })
	done := graph.Last(func(s *inner) *string { return &s.Done })
	b := graph.New("inner", said, done)
	b.Node("first", func(context.Context, inner) (graph.Update[inner], error) {
		ran.Add(1)
		return graph.Update[inner]{said.Add("first")}, nil
	})
	b.Streaming("talk", func(ctx context.Context, s inner, out graph.TokenSink) (graph.Update[inner], error) {
		answer, err := graph.Interrupt[string](ctx, "how?")
		if err != nil {
			return nil, err
		}
		return graph.Update[inner]{done.Set(strings.Join(s.Said, "+") + " " + answer)}, out(ctx, answer)
	})
	b.Edge(graph.Start, "first")
	b.Edge("first", "talk")
	b.Edge("talk", graph.End)
	innermost, err := b.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	middle := graph.New("middle", graph.Append(func(s *inner) *[]string { return &s.Said }), done)
	graph.Sub(middle, "deep", innermost, func(s inner) graph.Update[inner] { return nil },
		func(_, end inner) graph.Update[inner] { return graph.Update[inner]{done.Set(end.Done)} })
	middle.Edge(graph.Start, "deep")
	middle.Edge("deep", graph.End)
	between, err := middle.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	outer := plainGraph()
	graph.Sub(outer, "sub", between, func(plain) graph.Update[inner] { return nil },
		func(_ plain, end inner) update { return update{logged.Add(end.Done)} })
	outer.Node("last", noting("last"))
	edges(outer, "START sub", "sub last", "last END")
	return compiled(t, outer, c)
}

func TestSub(t *testing.T) {
	for _, durable := range []bool{true, false} {
		disk, watching := graph.NewMemory(graph.MemoryLimits{}), &tries{}
		var ran atomic.Int32
		config := graph.Config{Checkpoints: disk, Durable: durable, Observer: watching, Guard: true}
		_, err := nested(t, config, &ran).Run(t.Context(), "thread", nil, nil)
		question, ok := err.(*graph.InterruptError) //nolint:errorlint // Run returns it as it is
		if !ok || question.Node != "sub/deep/talk" {
			t.Fatal(err)
		}
		var names []string
		steps, _ := disk.Steps(t.Context(), "thread")
		for _, s := range steps {
			names = append(names, s.Node)
		}
		if want := []string{"START", "sub/deep/first", "sub/deep/talk"}; !slices.Equal(names, want) {
			t.Errorf("durable %v: steps of %v, want %v", durable, names, want)
		}
		g := nested(t, config, &ran)
		var text strings.Builder
		s, err := g.Resume(t.Context(), "thread", first(t, g, "well"), func(_ context.Context, piece string) error {
			text.WriteString(piece)
			return nil
		})
		if err != nil || !slices.Equal(s.Log, []string{"first well", "last"}) || text.String() != "well" ||
			ran.Load() != 1 {
			t.Errorf("durable %v: %v, text %q, first has run %d times, %v", durable, s.Log, text.String(),
				ran.Load(), err)
		}
		if seen := strings.Join(watching.lines, "\n"); !strings.Contains(seen, "sub/deep/first 1") ||
			!strings.Contains(seen, "sub/deep 1") {
			t.Errorf("the observer saw\n%s", seen)
		}
		drawn := g.Drawing()
		var edgesDrawn []string
		for _, e := range drawn.Edges {
			edgesDrawn = append(edgesDrawn, e.From+" "+e.To)
		}
		want := []string{
			"START sub", "sub sub/deep", "sub/deep sub/deep/first", "sub/deep/first sub/deep/talk",
			"sub/deep/talk last", "last END",
		}
		slices.Sort(edgesDrawn)
		slices.Sort(want)
		if !slices.Equal(edgesDrawn, want) {
			t.Errorf("the drawing has %q\nwant %q", edgesDrawn, want)
		}
	}
}
