package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/testkit/race"
)

var errCrash = errors.New("the process has ended")

// mortal is a saver whose process ends after so many steps: nothing is saved any more.
type mortal struct {
	*graph.Memory
	left atomic.Int64
}

func (m *mortal) SaveStep(ctx context.Context, thread string, s graph.Step) error {
	if m.left.Add(-1) < 0 {
		return errCrash
	}
	return m.Memory.SaveStep(ctx, thread, s)
}

func (m *mortal) Save(ctx context.Context, thread string, r graph.Record) error {
	if m.left.Load() < 0 {
		return errCrash
	}
	return m.Memory.Save(ctx, thread, r)
}

// TestDurableLaw: a turn of a random graph that crashes after any number of steps, again and again, ends as one that
// nothing has disturbed.
func TestDurableLaw(t *testing.T) {
	graphs := 1_000
	if race.Enabled || testing.Short() {
		graphs = 100
	}
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(graphs) {
			p := randomPlan(rand.New(rand.NewPCG(seed, 0)))
			whole := graph.NewMemory(graph.MemoryLimits{})
			want, err := p.build(t, rand.New(rand.NewPCG(seed, 1)), graph.Config{Checkpoints: whole, Durable: true}).
				Run(t.Context(), "thread", update{logged.Add("input")}, nil)
			if err != nil {
				continue // two writers: an error every time
			}
			r := rand.New(rand.NewPCG(seed, 2))
			disk := graph.NewMemory(graph.MemoryLimits{})
			got, err := plain{}, errCrash
			for life := uint64(0); err != nil; life++ {
				if life > 100 {
					t.Fatalf("graph %d does not come to its end: %v", seed, err)
				}
				saver := &mortal{Memory: disk}
				saver.left.Store(int64(1 + r.IntN(4)))
				g := p.build(t, rand.New(rand.NewPCG(seed, 3+life)), graph.Config{Checkpoints: saver, Durable: true})
				if r.IntN(2) == 0 && life > 0 {
					got, err = g.Continue(t.Context(), "thread", nil)
				} else {
					got, err = g.Run(t.Context(), "thread", update{logged.Add("input")}, nil)
				}
				if err != nil && !errors.Is(err, errCrash) {
					t.Fatalf("graph %d: %v", seed, err)
				}
			}
			if toJSON(t, got) != toJSON(t, want) {
				t.Fatalf("graph %d gives\n%s\nundisturbed\n%s", seed, toJSON(t, got), toJSON(t, want))
			}
			one, _ := whole.Load(t.Context(), "thread", "")
			two, _ := disk.Load(t.Context(), "thread", "")
			if len(one) != 1 || len(two) != 1 || string(one[0].Values) != string(two[0].Values) ||
				string(one[0].Appended) != string(two[0].Appended) {
				t.Fatalf("graph %d saves %s %s\nundisturbed %s %s", seed, two[0].Values, two[0].Appended, one[0].Values,
					one[0].Appended)
			}
			if steps, err := disk.Steps(t.Context(), "thread"); len(steps) != 0 || err != nil {
				t.Fatalf("graph %d leaves %d steps, %v", seed, len(steps), err)
			}
		}
	})
}

// TestInterruptLaw: a random graph whose nodes ask, answered one question after the other, ends as one that was
// answered at once.
func TestInterruptLaw(t *testing.T) {
	graphs := 600
	if race.Enabled || testing.Short() {
		graphs = 60
	}
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(graphs) {
			p := randomPlan(rand.New(rand.NewPCG(seed, 0)))
			r := rand.New(rand.NewPCG(seed, 2))
			asks := make([]int, p.nodes)
			for i := range asks {
				asks[i] = max(0, r.IntN(4)-1)
			}
			asked := p
			asked.ask = func(ctx context.Context, node int) (string, error) {
				said := ""
				for n := range asks[node] {
					question := fmt.Sprintf("%s %d", nodeName(node), n)
					answer, err := graph.Interrupt[string](ctx, question)
					if err != nil {
						return "", err
					}
					said += answer
				}
				return said, nil
			}
			p.ask = func(_ context.Context, node int) (string, error) {
				said := ""
				for n := range asks[node] {
					said += fmt.Sprintf("to %s %d", nodeName(node), n)
				}
				return said, nil
			}
			want, err := p.build(t, rand.New(rand.NewPCG(seed, 1)), graph.Config{}).Run(t.Context(), "thread",
				update{logged.Add("input")}, nil)
			if err != nil {
				continue
			}
			disk := graph.NewMemory(graph.MemoryLimits{})
			config := graph.Config{Checkpoints: disk, Durable: seed%2 == 0}
			got, err := asked.build(t, rand.New(rand.NewPCG(seed, 3)), config).Run(t.Context(), "thread",
				update{logged.Add("input")}, nil)
			for life := uint64(0); err != nil; life++ {
				var question *graph.InterruptError
				if !errors.As(err, &question) || life > 100 {
					t.Fatalf("graph %d, life %d: %v", seed, life, err)
				}
				g := asked.build(t, rand.New(rand.NewPCG(seed, 4+life)), config)
				open, failed := g.Waiting(t.Context(), "thread")
				if failed != nil || len(open) == 0 || open[0].ID != question.ID {
					t.Fatalf("graph %d: Run says %+v, %+v wait, %v", seed, question, open, failed)
				}
				if _, failed := g.Run(t.Context(), "thread", nil, nil); !errors.Is(failed, graph.ErrWaiting) {
					t.Fatalf("graph %d: a turn of a waiting thread: %v", seed, failed)
				}
				text := strings.Trim(string(question.Question), `"`)
				got, err = g.Resume(t.Context(), "thread", first(t, g, "to "+text), nil)
			}
			if toJSON(t, got) != toJSON(t, want) {
				t.Fatalf("graph %d gives\n%s\nundisturbed\n%s", seed, toJSON(t, got), toJSON(t, want))
			}
		}
	})
}

// first returns an answer to the first question of the thread, or to none when none waits.
func first[S any](t *testing.T, g *graph.Graph[S], answer any) graph.Answers {
	t.Helper()
	open, err := g.Waiting(t.Context(), "thread")
	if err != nil {
		t.Fatal(err)
	}
	if len(open) == 0 {
		return graph.Answers{"nobody's": answer}
	}
	return graph.Answers{open[0].ID: answer}
}

// visitsOf counts how often nodes have run.
type visitsOf map[string]*atomic.Int32

func (v visitsOf) counted(b *graph.Builder[plain], name string,
	work func(ctx context.Context, s plain) (update, error)) *graph.Node[plain] {
	v[name] = new(atomic.Int32)
	return b.Node(name, func(ctx context.Context, s plain) (update, error) {
		v[name].Add(1)
		return work(ctx, s)
	})
}

func (v visitsOf) want(t *testing.T, want map[string]int) {
	t.Helper()
	for name, n := range want {
		if got := int(v[name].Load()); got != n {
			t.Errorf("node %q has run %d times, want %d", name, got, n)
		}
	}
}

func noting(text string) func(context.Context, plain) (update, error) {
	return func(context.Context, plain) (update, error) { return update{logged.Add(text)}, nil }
}

// TestGoesOn: after a failure an equal input goes on, another one drops the turn, and Continue needs none.
func TestGoesOn(t *testing.T) {
	build := func(t *testing.T, disk *graph.Memory, fails *atomic.Bool) (*graph.Graph[plain], visitsOf) {
		b, ran := plainGraph(), visitsOf{}
		ran.counted(b, "a", func(context.Context, plain) (update, error) {
			return update{logged.Add("a"), count.Set(1)}, nil
		})
		b.Streaming("s", func(ctx context.Context, _ plain, out graph.TokenSink) (update, error) {
			return update{logged.Add("s")}, errors.Join(out(ctx, "to"), out(ctx, "ken"))
		})
		ran.counted(b, "z", func(context.Context, plain) (update, error) {
			if fails.Load() {
				return nil, errors.New("no network")
			}
			return update{logged.Add("z")}, nil
		})
		edges(b, "START a", "a s", "s z", "z END")
		return compiled(t, b, graph.Config{Checkpoints: disk, Durable: true}), ran
	}
	for name, c := range map[string]struct {
		again func(g *graph.Graph[plain], sink graph.TokenSink) (plain, error)
		runs  int // of a in the second attempt
		log   []string
		text  string
	}{
		"equal input": {func(g *graph.Graph[plain], sink graph.TokenSink) (plain, error) {
			return g.Run(context.Background(), "thread", update{logged.Add("hi")}, sink)
		}, 0, []string{"hi", "a", "s", "z"}, "token"},
		"continue": {func(g *graph.Graph[plain], sink graph.TokenSink) (plain, error) {
			return g.Continue(context.Background(), "thread", sink)
		}, 0, []string{"hi", "a", "s", "z"}, "token"},
		"another input": {func(g *graph.Graph[plain], sink graph.TokenSink) (plain, error) {
			return g.Run(context.Background(), "thread", update{logged.Add("ho")}, sink)
		}, 1, []string{"ho", "a", "s", "z"}, "token"},
	} {
		t.Run(name, func(t *testing.T) {
			disk := graph.NewMemory(graph.MemoryLimits{})
			fails := new(atomic.Bool)
			fails.Store(true)
			g, _ := build(t, disk, fails)
			if _, err := g.Continue(t.Context(), "thread", nil); !errors.Is(err, graph.ErrNothingToContinue) {
				t.Errorf("continuing a new thread: %v", err)
			}
			if _, err := g.Run(t.Context(), "thread", update{logged.Add("hi")}, nil); err == nil {
				t.Fatal("the turn has not failed")
			}
			if at, err := g.State(t.Context(), "thread"); err != nil || at.Turn != 0 || len(at.State.Log) > 0 {
				t.Errorf("after the failure: %+v, %v", at, err)
			}
			fails.Store(false)
			g, ran := build(t, disk, fails)
			var text strings.Builder
			s, err := c.again(g, func(_ context.Context, piece string) error { text.WriteString(piece); return nil })
			if err != nil || !slices.Equal(s.Log, c.log) || text.String() != c.text || s.Count != 1 {
				t.Errorf("it gives %v, count %d, text %q, %v", s.Log, s.Count, text.String(), err)
			}
			ran.want(t, map[string]int{"a": c.runs, "z": 1})
			if _, err := g.Continue(t.Context(), "thread", nil); !errors.Is(err, graph.ErrNothingToContinue) {
				t.Errorf("continuing a saved turn: %v", err)
			}
			at, err := g.State(t.Context(), "thread")
			if err != nil || at.Turn != 1 || at.State.Count != 1 {
				t.Errorf("turn %d, %+v, %v", at.Turn, at.State, err)
			}
		})
	}
}

// TestApproval: a turn waits for a person, without Durable too, and the thread is as before meanwhile.
func TestApproval(t *testing.T) {
	disk := graph.NewMemory(graph.MemoryLimits{})
	build := func() (*graph.Graph[plain], visitsOf) {
		b, ran := plainGraph(), visitsOf{}
		ran.counted(b, "draft", noting("draft"))
		ran.counted(b, "ask", func(ctx context.Context, s plain) (update, error) {
			ok, err := graph.Interrupt[bool](ctx, map[string]string{"send?": s.Log[len(s.Log)-1]})
			if err != nil {
				return nil, err
			}
			name, err := graph.Interrupt[string](ctx, "who?")
			if err != nil {
				return nil, err
			}
			return update{logged.Add(fmt.Sprint(ok, " ", name))}, nil
		})
		ran.counted(b, "beside", func(context.Context, plain) (update, error) {
			time.Sleep(time.Millisecond)
			return update{logged.Add("beside")}, nil
		})
		ran.counted(b, "send", noting("send"))
		edges(b, "START draft", "draft ask", "draft beside", "ask send", "beside END", "send END")
		return compiled(t, b, graph.Config{Checkpoints: disk}), ran
	}
	g, _ := build()
	run := func() *graph.InterruptError {
		_, err := g.Run(t.Context(), "thread", update{logged.Add("hi")}, nil)
		question, ok := err.(*graph.InterruptError) //nolint:errorlint // Run returns it as it is
		if !ok || question.Node != "ask" || string(question.Question) != `{"send?":"draft"}` ||
			!errors.Is(err, graph.ErrInterrupted) {
			t.Fatalf("Run: %v", err)
		}
		return question
	}
	run()
	if err := g.Abandon(t.Context(), "thread"); err != nil {
		t.Fatal(err)
	}
	if open, err := g.Waiting(t.Context(), "thread"); len(open) > 0 || err != nil {
		t.Errorf("after Abandon %v wait, %v", open, err)
	}
	if _, err := g.Resume(t.Context(), "thread", first(t, g, true), nil); !errors.Is(err, graph.ErrNotWaiting) ||
		!errors.Is(err, graph.ErrNothingToContinue) {
		t.Errorf("answering nobody: %v", err)
	}
	run()
	g, _ = build()
	if _, err := g.Continue(t.Context(), "thread", nil); !errors.Is(err, graph.ErrWaiting) {
		t.Errorf("continuing a turn that waits: %v", err)
	}
	if at, err := g.State(t.Context(), "thread"); at.ID != "" || err != nil {
		t.Errorf("the state of a thread that waits: %+v, %v", at, err)
	}
	if _, err := g.Resume(t.Context(), "thread", first(t, g, "no bool"), nil); err == nil {
		t.Error("an answer of another kind was taken")
	}
	_, err := g.Resume(t.Context(), "thread", first(t, g, true), nil)
	if question := (*graph.InterruptError)(nil); !errors.As(err, &question) || string(question.Question) != `"who?"` {
		t.Fatalf("the second question: %v", err)
	}
	g, ran := build()
	s, err := g.Resume(t.Context(), "thread", first(t, g, "Ann"), nil)
	if want := []string{"hi", "draft", "true Ann", "beside", "send"}; err != nil || !slices.Equal(s.Log, want) {
		t.Errorf("it gives %v, %v; want %v", s.Log, err, want)
	}
	ran.want(t, map[string]int{"draft": 0, "beside": 0, "ask": 1, "send": 1})
	if _, err := g.Run(t.Context(), "thread", nil, nil); !errors.Is(err, graph.ErrInterrupted) {
		t.Errorf("the next turn: %v", err)
	}
}

// TestTasksBeginAnew: a task that a settled node had started is started again when another node awaits it.
func TestTasksBeginAnew(t *testing.T) {
	for _, durable := range []bool{true, false} {
		tasksBeginAnew(t, durable)
	}
}

func tasksBeginAnew(t *testing.T, durable bool) {
	t.Helper()
	disk := graph.NewMemory(graph.MemoryLimits{})
	started := 0
	enrich := graph.NewTask[string]("enrich")
	b := plainGraph()
	b.Node("a", func(ctx context.Context, _ plain) (update, error) {
		return update{logged.Add("a")}, enrich.Start(ctx, func(context.Context) (string, error) {
			started++
			return "known", nil
		})
	})
	b.Node("b", func(ctx context.Context, _ plain) (update, error) {
		if _, err := graph.Interrupt[string](ctx, "go on?"); err != nil {
			return nil, err
		}
		known, err := enrich.Await(ctx, time.Minute)
		return update{logged.Add(known)}, err
	})
	edges(b, "START a", "a b", "b END")
	g := compiled(t, b, graph.Config{Checkpoints: disk, Durable: durable})
	if _, err := g.Run(t.Context(), "thread", nil, nil); !errors.Is(err, graph.ErrInterrupted) {
		t.Fatal(err)
	}
	s, err := g.Resume(t.Context(), "thread", first(t, g, "yes"), nil)
	if err != nil || !slices.Equal(s.Log, []string{"a", "known"}) || started != 2 {
		t.Errorf("%v, %v, started %d times", s.Log, err, started)
	}
}
