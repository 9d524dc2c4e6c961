package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// A node that returns after its limit has failed, whatever it returns and however it noticed.
func TestReturnAfterTheLimit(t *testing.T) {
	interrupt := func(ctx context.Context) error { _, err := graph.Interrupt[string](ctx, "?"); return err }
	for name, work := range map[string]func(ctx context.Context) error{
		"at the end of its context": func(ctx context.Context) error { <-ctx.Done(); return nil },
		"at the deadline": func(ctx context.Context) error {
			deadline, _ := ctx.Deadline()
			time.Sleep(time.Until(deadline))
			return nil
		},
		"later":           func(context.Context) error { time.Sleep(80 * time.Millisecond); return nil },
		"after the grace": func(context.Context) error { time.Sleep(time.Hour); return nil },
		"with an error":   func(ctx context.Context) error { <-ctx.Done(); return errors.New("own") },
		"with the cause":  func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
		"with a question": func(ctx context.Context) error { <-ctx.Done(); return interrupt(ctx) },
		"with its question": func(ctx context.Context) error {
			err := interrupt(ctx)
			<-ctx.Done()
			return err
		},
	} {
		for _, durable := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, durable %v", name, durable), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					returnsLate(t, durable, name == "after the grace", work)
					time.Sleep(2 * time.Hour) // until what was stuck has ended
				})
			})
		}
	}
}

func returnsLate(t *testing.T, durable, stuck bool, work func(ctx context.Context) error) {
	t.Helper()
	build := func(more func(n *graph.Node[plain])) (plain, error) {
		attempts := 0
		b := plainGraph()
		more(b.Node("a", func(ctx context.Context, _ plain) (update, error) {
			if attempts++; attempts > 1 {
				return update{logged.Add("retried")}, nil
			}
			return update{logged.Add("late")}, work(ctx)
		}).Limit(50 * time.Millisecond))
		edges(b, "START a", "a END")
		g := compiled(t, b, graph.Config{Durable: durable})
		s, err := g.Run(t.Context(), "thread", nil, nil)
		if open, failed := g.Waiting(t.Context(), "thread"); len(open) > 0 || failed != nil {
			t.Errorf("%v wait, %v", open, failed)
		}
		return s, err
	}
	s, err := build(func(*graph.Node[plain]) {})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "longer than its limit of 50ms") {
		t.Errorf("alone: %v, %v", s.Log, err)
	}
	s, err = build(func(n *graph.Node[plain]) {
		n.OrElse(func(_ plain, err error) update {
			return update{logged.Add(fmt.Sprint("fallback ", errors.Is(err, context.DeadlineExceeded)))}
		})
	})
	if err != nil || !slices.Equal(s.Log, []string{"fallback true"}) {
		t.Errorf("with a fallback: %v, %v", s.Log, err)
	}
	s, err = build(func(n *graph.Node[plain]) { n.Retry(graph.RetryPolicy{}) })
	if stuck && err == nil || !stuck && (err != nil || !slices.Equal(s.Log, []string{"retried"})) {
		t.Errorf("with Retry: %v, %v", s.Log, err)
	}
}

// A question of an item whose node has failed waits for nobody.
func TestQuestionsOfFailedNodes(t *testing.T) {
	b := plainGraph()
	items := func(plain) []int { return []int{0, 1} }
	graph.Each(b, "map", items, func(ctx context.Context, _ plain, i int) (update, error) {
		if i == 1 {
			return nil, errCrash
		}
		_, err := graph.Interrupt[string](ctx, "item?")
		return nil, err
	}).Parallel(1).OrElse(func(plain, error) update { return update{logged.Add("fallback")} })
	b.Node("ask", func(ctx context.Context, _ plain) (update, error) {
		_, err := graph.Interrupt[string](ctx, "node?")
		return nil, err
	})
	edges(b, "START map", "START ask", "map END", "ask END")
	g := compiled(t, b, graph.Config{})
	_, err := g.Run(t.Context(), "thread", nil, nil)
	open, failed := g.Waiting(t.Context(), "thread")
	if failed != nil || len(open) != 1 || open[0].Node != "ask" {
		t.Errorf("%v wait, %v, %v", open, err, failed)
	}
}
