package graph_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/graph/saver/sqlite"
)

// asking has nodes side by side that ask, the first by name the last to do so, and one that asks a step later.
func asking(t *testing.T, config graph.Config) *graph.Graph[plain] {
	b := plainGraph()
	ask := func(name string, after time.Duration) {
		b.Node(name, func(ctx context.Context, _ plain) (update, error) {
			time.Sleep(after)
			answer, err := graph.Interrupt[string](ctx, "color of "+name)
			return update{logged.Add(name + "=" + answer)}, err
		})
	}
	ask("anna", 30*time.Millisecond)
	ask("otto", 0)
	b.Node("early", noting("early"))
	ask("aaron", 0) // a step later
	edges(b, "START anna", "START otto", "START early", "early aaron", "aaron END", "anna END", "otto END")
	return compiled(t, b, config)
}

// Questions wait in the order of their nodes, and each answer is that of the question it names.
func TestAnswersNameTheirQuestions(t *testing.T) {
	for _, durable := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := asking(t, graph.Config{Durable: durable})
			ctx := t.Context()
			waiting := func(want ...string) map[string]string {
				t.Helper()
				open, err := g.Waiting(ctx, "thread")
				ids, nodes := map[string]string{}, []string{}
				for _, q := range open {
					ids[q.Node] = q.ID
					nodes = append(nodes, q.Node)
				}
				if err != nil || !slices.Equal(nodes, want) {
					t.Fatalf("durable %v: %v wait, %v; want %v", durable, nodes, err, want)
				}
				return ids
			}
			wantQuestion := func(err error, node string) {
				t.Helper()
				if q, ok := errors.AsType[*graph.InterruptError](err); !ok || q.Node != node {
					t.Fatalf("%v, want the question of %s", err, node)
				}
			}
			_, err := g.Run(ctx, "thread", nil, nil)
			wantQuestion(err, "anna")
			ids := waiting("anna", "otto", "aaron")

			for name, answers := range map[string]graph.Answers{
				"unknown": {"x": "red"}, "unknown beside a known one": {"x": "red", ids["otto"]: "blue"},
			} {
				if _, err := g.Resume(ctx, "thread", answers, nil); !errors.Is(err, graph.ErrUnknownQuestion) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if _, err := g.Resume(ctx, "thread", nil, nil); err == nil || errors.Is(err, graph.ErrInterrupted) {
				t.Errorf("no answer: %v", err)
			}
			if _, err := g.Resume(ctx, "thread", graph.Answers{ids["otto"]: func() {}}, nil); err == nil {
				t.Error("an answer that is no JSON was taken")
			}
			waiting("anna", "otto", "aaron")

			_, err = g.Resume(ctx, "thread", graph.Answers{ids["otto"]: "blue"}, nil)
			wantQuestion(err, "anna")
			if left := waiting("anna", "aaron"); left["anna"] != ids["anna"] {
				t.Error("a question that was not answered has another ID")
			}
			if _, err := g.Resume(ctx, "thread", graph.Answers{ids["otto"]: "green"}, nil); !errors.Is(err,
				graph.ErrUnknownQuestion) {
				t.Errorf("a second answer: %v", err)
			}
			s, err := g.Resume(ctx, "thread", graph.Answers{ids["aaron"]: "gold", ids["anna"]: "red"}, nil)
			want := []string{"anna=red", "early", "otto=blue", "aaron=gold"}
			if err != nil || !slices.Equal(s.Log, want) {
				t.Errorf("%v, %v; want %v", s.Log, err, want)
			}
			if _, err := g.Resume(ctx, "thread", graph.Answers{ids["anna"]: "red"}, nil); !errors.Is(err,
				graph.ErrNotWaiting) {
				t.Errorf("answering a turn that is over: %v", err)
			}
		})
	}
}

// approving is a graph whose node blocks after it was answered, until it gets a value, and fails with that.
func approving(t *testing.T, saver graph.Checkpointer, durable bool, ran *atomic.Int32,
	end chan error) *graph.Graph[plain] {
	b := plainGraph()
	b.Node("approve", func(ctx context.Context, _ plain) (update, error) {
		if _, err := graph.Interrupt[bool](ctx, "?"); err != nil {
			return nil, err
		}
		ran.Add(1)
		return update{logged.Add("sent")}, <-end
	})
	edges(b, "START approve", "approve END")
	return compiled(t, b, graph.Config{Checkpoints: saver, Durable: durable})
}

// While one goes on with a turn, all others get ErrBusy; when it has failed, the next one may try.
func TestBusy(t *testing.T) {
	for _, durable := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			disk, ran, end := graph.NewMemory(graph.MemoryLimits{}), new(atomic.Int32), make(chan error)
			one, two := approving(t, disk, durable, ran, end), approving(t, disk, durable, ran, end)
			ctx := t.Context()
			if _, err := one.Run(ctx, "thread", nil, nil); !errors.Is(err, graph.ErrInterrupted) {
				t.Fatal(err)
			}
			answers := first(t, one, true)
			for attempt, outcome := range []error{errCrash, nil} {
				done := make(chan error)
				go func() { _, err := one.Resume(ctx, "thread", answers, nil); done <- err }()
				synctest.Wait()
				time.Sleep(time.Minute) // longer than a claim that nobody renews
				for name, call := range map[string]func() error{
					"Resume":   func() error { _, err := two.Resume(ctx, "thread", answers, nil); return err },
					"Continue": func() error { _, err := two.Continue(ctx, "thread", nil); return err },
					"Abandon":  func() error { return two.Abandon(ctx, "thread") },
				} {
					if err := call(); !errors.Is(err, graph.ErrBusy) {
						t.Errorf("%s: %v, want ErrBusy", name, err)
					}
				}
				end <- outcome
				if err := <-done; !errors.Is(err, outcome) || int(ran.Load()) != attempt+1 {
					t.Errorf("attempt %d: %v, the node has run %d times", attempt, err, ran.Load())
				}
			}
			if _, err := two.Resume(ctx, "thread", answers, nil); !errors.Is(err, graph.ErrNotWaiting) {
				t.Errorf("answering once more: %v", err)
			}
		})
	}
}

// A durable turn that is under way cannot be continued by another one.
func TestContinueOfARunningTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk, ran, end := graph.NewMemory(graph.MemoryLimits{}), 0, make(chan error)
		b := plainGraph()
		b.Node("a", func(context.Context, plain) (update, error) { ran++; return nil, <-end })
		edges(b, "START a", "a END")
		g := compiled(t, b, graph.Config{Checkpoints: disk, Durable: true})
		done := make(chan error)
		for _, outcome := range []error{errCrash, nil} {
			go func() {
				var err error
				if outcome != nil {
					_, err = g.Run(t.Context(), "thread", nil, nil)
				} else {
					_, err = g.Continue(t.Context(), "thread", nil)
				}
				done <- err
			}()
			synctest.Wait()
			for range 2 {
				if _, err := g.Continue(t.Context(), "thread", nil); !errors.Is(err, graph.ErrBusy) {
					t.Errorf("Continue: %v, want ErrBusy", err)
				}
			}
			if _, err := g.Run(t.Context(), "thread", nil, nil); !errors.Is(err, graph.ErrBusy) {
				t.Errorf("Run: %v, want ErrBusy", err)
			}
			end <- outcome
			if err := <-done; !errors.Is(err, outcome) {
				t.Error(err)
			}
		}
		if ran != 2 {
			t.Errorf("the node has run %d times, want once for each attempt", ran)
		}
	})
}

// Of many approvals at once one counts, with savers that share nothing but the data.
func TestDoubleApproval(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 50
	}
	disk := graph.NewMemory(graph.MemoryLimits{})
	path := "sqlite:" + filepath.Join(t.TempDir(), "threads.db")
	open := func() graph.Checkpointer {
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	for name, savers := range map[string][2]graph.Checkpointer{
		"memory": {disk, disk}, "sqlite": {open(), open()},
	} {
		n := rounds
		if name == "sqlite" {
			n /= 10
		}
		ran, end := new(atomic.Int32), make(chan error)
		close(end)
		one := approving(t, savers[0], false, ran, end)
		two := approving(t, savers[1], false, ran, end)
		for i := range n {
			thread := fmt.Sprint("thread ", i)
			_, err := one.Run(t.Context(), thread, nil, nil)
			q, ok := errors.AsType[*graph.InterruptError](err)
			if !ok {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			var approved atomic.Int32
			for _, g := range []*graph.Graph[plain]{one, two} {
				all.Go(func() {
					switch _, err := g.Resume(t.Context(), thread, graph.Answers{q.ID: true}, nil); {
					case err == nil:
						approved.Add(1)
					case !errors.Is(err, graph.ErrBusy) && !errors.Is(err, graph.ErrNotWaiting):
						t.Error(err)
					}
				})
			}
			all.Wait()
			if int(ran.Load()) != i+1 || approved.Load() != 1 {
				t.Fatalf("%s, round %d: the node has run %d times, %d approved", name, i, ran.Load(), approved.Load())
			}
		}
	}
}

// unclaimable is a saver that somebody else claims threads of.
type unclaimable struct {
	*graph.Memory
	taken atomic.Bool
}

func (u *unclaimable) ClaimTurn(ctx context.Context, thread, by string, lasts time.Duration) (string, error) {
	if u.taken.Load() {
		return "another", graph.ErrBusy
	}
	return u.Memory.ClaimTurn(ctx, thread, by, lasts)
}

// Who loses its claim stops.
func TestLostClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		saver := &unclaimable{Memory: graph.NewMemory(graph.MemoryLimits{})}
		b := plainGraph()
		b.Node("a", func(ctx context.Context, _ plain) (update, error) { <-ctx.Done(); return nil, ctx.Err() })
		edges(b, "START a", "a END")
		g := compiled(t, b, graph.Config{Checkpoints: saver, Durable: true})
		time.AfterFunc(7*time.Second, func() { saver.taken.Store(true) })
		began := time.Now()
		_, err := g.Run(t.Context(), "thread", nil, nil)
		if took := time.Since(began); !errors.Is(err, graph.ErrBusy) || took > 15*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}
