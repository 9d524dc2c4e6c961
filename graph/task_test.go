package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

var lookUp = graph.NewTask[string]("look-up")

// pair is a graph of a node that starts a task and one that comes after it.
func pair(t *testing.T, task func(context.Context) (string, error),
	then func(ctx context.Context, s plain) (update, error)) *graph.Graph[plain] {
	t.Helper()
	b := plainGraph()
	b.Node("starter", func(ctx context.Context, _ plain) (update, error) { return nil, lookUp.Start(ctx, task) })
	b.Node("then", then)
	edges(b, "START starter", "starter then", "then END")
	return compiled(t, b, graph.Config{})
}

func await(limit time.Duration) func(ctx context.Context, s plain) (update, error) {
	return func(ctx context.Context, _ plain) (update, error) {
		found, err := lookUp.Await(ctx, limit)
		return update{named.Set(found)}, err
	}
}

// patient is a task that takes its time, and writes down how it ended.
func patient(d time.Duration, ended *error) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		select {
		case <-time.After(d):
			return "found", nil
		case <-ctx.Done():
			*ended = context.Cause(ctx)
			return "found late", nil
		}
	}
}

func TestTasks(t *testing.T) {
	var ended error
	cancel := func(ctx context.Context, _ plain) (update, error) {
		lookUp.Cancel(ctx)
		return await(time.Second)(ctx, plain{})
	}
	for name, test := range map[string]struct {
		task func(context.Context) (string, error)
		then func(ctx context.Context, s plain) (update, error)
		want string
		is   error
		took time.Duration
	}{
		"awaited": {patient(time.Second, &ended), await(5 * time.Second), "found", nil, time.Second},
		"done before": {patient(0, &ended), func(ctx context.Context, s plain) (update, error) {
			time.Sleep(time.Second)
			return await(0)(ctx, s)
		}, "found", nil, time.Second},
		"awaited twice": {patient(time.Second, &ended), func(ctx context.Context, s plain) (update, error) {
			_, _ = lookUp.Await(ctx, time.Millisecond)
			return await(time.Second)(ctx, s)
		}, "found", nil, time.Second},
		"late":      {patient(time.Hour, &ended), await(5 * time.Second), "", graph.ErrTaskLate, 5 * time.Second},
		"cancelled": {patient(time.Hour, &ended), cancel, "", graph.ErrTaskCancelled, 0},
		"cancelled when done": {patient(0, &ended), func(ctx context.Context, s plain) (update, error) {
			time.Sleep(time.Second)
			return cancel(ctx, s)
		}, "", graph.ErrTaskCancelled, time.Second},
		"failed": {
			func(context.Context) (string, error) { return "no", errors.ErrUnsupported }, await(time.Second), "",
			errors.ErrUnsupported, 0,
		},
		"panicked": {
			func(context.Context) (string, error) { panic("boom") }, await(time.Second), "", graph.ErrPanic, 0,
		},
		"not awaited": {patient(time.Hour, &ended), func(context.Context, plain) (update, error) {
			return update{named.Set("on")}, nil
		}, "on", nil, 0},
		"deaf": {func(context.Context) (string, error) {
			time.Sleep(time.Hour)
			return "no", nil
		}, func(context.Context, plain) (update, error) {
			return update{named.Set("on")}, nil
		}, "on", nil, time.Second}, // the grace
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := pair(t, test.task, test.then)
				began := time.Now()
				s, err := g.Run(t.Context(), "thread", nil, nil)
				if s.Name != test.want || !errors.Is(err, test.is) {
					t.Errorf("%q, %v; want %q, %v", s.Name, err, test.want, test.is)
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("the turn took %v, want %v", took, test.took)
				}
				if left := g.Tasks(); left != 0 && name != "deaf" {
					t.Errorf("%d tasks are left", left)
				}
				time.Sleep(2 * time.Hour)
				if left := g.Tasks(); left != 0 {
					t.Errorf("%d tasks are left after hours", left)
				}
			})
		})
	}
}

// A task is no longer than its turn, and outlives the node that has started it.
func TestTaskContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended error
		g := pair(t, patient(time.Hour, &ended), func(ctx context.Context, _ plain) (update, error) {
			time.Sleep(time.Second)
			if ended != nil {
				t.Errorf("the task ended with its node: %v", ended)
			}
			return nil, errors.New("boom")
		})
		if _, err := g.Run(t.Context(), "thread", nil, nil); err == nil || ended == nil || g.Tasks() != 0 {
			t.Errorf("%v; the task ended with %v, %d are left", err, ended, g.Tasks())
		}
	})
}

func TestTaskErrors(t *testing.T) {
	work := func(context.Context) (string, error) { return "", nil }
	if err := lookUp.Start(t.Context(), work); err == nil {
		t.Error("a task was started outside of a turn")
	}
	if _, err := lookUp.Await(t.Context(), time.Second); err == nil {
		t.Error("a task was awaited outside of a turn")
	}
	lookUp.Cancel(t.Context())
	b := plainGraph()
	var kept context.Context
	b.Node("a", func(ctx context.Context, _ plain) (update, error) {
		kept = ctx
		_, none := lookUp.Await(ctx, time.Second)
		if !errors.Is(none, graph.ErrNoTask) {
			t.Errorf("awaiting what was not started: %v", none)
		}
		return nil, errors.Join(lookUp.Start(ctx, work), lookUp.Start(ctx, work))
	})
	edges(b, "START a", "a END")
	_, err := compiled(t, b, graph.Config{}).Run(t.Context(), "thread", nil, nil)
	if want := `graph "test": node "a": task "look-up": there is one in this turn already`; err == nil ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := lookUp.Start(kept, work); err == nil {
		t.Error("a task was started after its turn")
	}
}

// Nodes beside each other may be in any order. An awaiter at a later step gets what a slow starter starts, and learns
// that there is no task as soon as no node of an earlier step is at work; what is cancelled before it is started is not
// started.
func TestTasksBesideEachOther(t *testing.T) {
	for name, test := range map[string]struct {
		starter func(ctx context.Context, s plain) (update, error)
		awaiter func(ctx context.Context, s plain) (update, error)
		want    string
		is      error
	}{
		"started late": {func(ctx context.Context, _ plain) (update, error) {
			time.Sleep(time.Second)
			return nil, lookUp.Start(ctx, func(context.Context) (string, error) { return "found", nil })
		}, await(5 * time.Second), "found", nil},
		"never started": {func(context.Context, plain) (update, error) {
			time.Sleep(time.Second)
			return nil, nil
		}, await(5 * time.Second), "", graph.ErrNoTask},
		"not started in time": {func(context.Context, plain) (update, error) {
			time.Sleep(time.Minute)
			return nil, nil
		}, await(5 * time.Second), "", graph.ErrTaskLate},
		"cancelled before": {func(ctx context.Context, _ plain) (update, error) {
			time.Sleep(time.Second)
			return nil, lookUp.Start(ctx, func(context.Context) (string, error) { panic("it was started") })
		}, func(ctx context.Context, s plain) (update, error) {
			lookUp.Cancel(ctx)
			return await(5*time.Second)(ctx, s)
		}, "", graph.ErrTaskCancelled},
		"cancelled once it is started": {func(ctx context.Context, _ plain) (update, error) {
			time.Sleep(time.Second)
			return nil, lookUp.Start(ctx, patient(time.Hour, new(error)))
		}, func(ctx context.Context, s plain) (update, error) {
			if err := lookUp.Started(ctx); err != nil {
				return nil, err
			}
			lookUp.Cancel(ctx)
			return await(5*time.Second)(ctx, s)
		}, "", graph.ErrTaskCancelled},
		"not started, so not waited for": {func(context.Context, plain) (update, error) {
			time.Sleep(time.Second)
			return nil, nil
		}, func(ctx context.Context, _ plain) (update, error) { return nil, lookUp.Started(ctx) }, "", graph.ErrNoTask},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := plainGraph()
				b.Node("starter", test.starter)
				noted(b, "first", "join")
				var failed error
				b.Node("awaiter", test.awaiter).OrElse(func(_ plain, err error) update {
					failed = err
					return nil
				})
				edges(b, "START starter first", "first awaiter join", "awaiter join", "join END", "starter END")
				g := compiled(t, b, graph.Config{})
				began := time.Now()
				s, err := g.Run(t.Context(), "thread", nil, nil)
				waited := time.Since(began)
				if err != nil || s.Name != test.want || !errors.Is(failed, test.is) {
					t.Errorf("%q, %v, %v; want %q, %v", s.Name, failed, err, test.want, test.is)
				}
				if name != "not started in time" && waited > time.Second || g.Tasks() != 0 {
					t.Errorf("the turn took %v, %d tasks are left", waited, g.Tasks())
				}
			})
		})
	}
}

// After many turns that leave their tasks alone, nothing is left (2.10); each turn has its own task of a kind.
func TestTasksOfManyTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := bot(t, graph.Config{})
		for i := range 100 {
			for _, message := range []string{"redirect", "What is it?", "converted"} {
				if _, err := g.Run(t.Context(), fmt.Sprint("thread ", i%7),
					botUpdate{input.Set(message)}, nil); err != nil {
					t.Fatal(err)
				}
				if left := g.Tasks(); left != 0 {
					t.Fatalf("%d tasks are left", left)
				}
			}
		}
	})
}
