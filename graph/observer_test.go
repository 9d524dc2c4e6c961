package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// watch is an observer that writes down what ends. It needs no lock: within a turn its calls come one at a time.
type watch struct {
	began int
	nodes []string
	steps int
	lines []string
}

type watchKey struct{}

func (w *watch) NodeBegan(ctx context.Context, v graph.Visit) context.Context {
	w.began++
	return context.WithValue(ctx, watchKey{}, v.Node)
}

func (w *watch) NodeEnded(ctx context.Context, v graph.Visit) {
	w.nodes = append(w.nodes, v.Node)
	w.steps = max(w.steps, v.Step)
	w.lines = append(w.lines, fmt.Sprintf("%s %s turn %d step %d %v err=%v fellback=%v ctx=%v",
		v.Thread, v.Node, v.Turn, v.Step, v.Duration, v.Err, v.FellBack, ctx.Value(watchKey{})))
}

func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := plainGraph()
		b.Node("a", func(ctx context.Context, _ plain) (update, error) {
			time.Sleep(time.Second)
			return update{named.Set(ctx.Value(watchKey{}).(string))}, nil
		})
		b.Node("b", func(context.Context, plain) (update, error) { return nil, errors.New("boom") }).OrElse(nil)
		b.Node("c", slow("c", time.Hour))
		b.Node("d", func(context.Context, plain) (update, error) { return nil, errors.New("fatal") })
		edges(b, "START a", "a b", "b c d", "c END", "d END")
		w := &watch{}
		_, err := compiled(t, b, graph.Config{Observer: w}).Run(t.Context(), "thread", nil, nil)
		if err == nil || w.began != len(w.nodes) {
			t.Errorf("%v: %d began, %d ended", err, w.began, len(w.nodes))
		}
		want := []string{
			"thread a turn 0 step 1 1s err=<nil> fellback=false ctx=a",
			"thread b turn 0 step 2 0s err=boom fellback=true ctx=b",
			"thread d turn 0 step 3 0s err=fatal fellback=false ctx=d",
			`thread c turn 0 step 3 0s err=node "d": fatal fellback=false ctx=c`,
		}
		if !slices.Equal(w.lines, want) {
			t.Errorf("observed %q\nwant %q", w.lines, want)
		}
	})
}
