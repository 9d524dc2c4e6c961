package graph_test

import (
	"context"
	"encoding/json"
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

func told(e graph.Event[plain]) string {
	switch e.Mode {
	case graph.Tokens:
		return fmt.Sprintf("tokens %s %d %q", e.Node, e.Step, e.Text)
	case graph.Updates:
		return fmt.Sprintf("updates %s %d %s", e.Node, e.Step, e.Update)
	case graph.Values:
		return fmt.Sprintf("values %d %v", e.Step, e.State.Log)
	case graph.Custom:
		return fmt.Sprintf("custom %s %v", e.Node, e.Value)
	}
	return fmt.Sprintf("tools %s %s %s %s", e.Node, e.Tool.Name, e.Tool.Args, e.Tool.Result)
}

func streamed(t *testing.T) (*graph.Graph[plain], func() context.Context) {
	var after context.Context
	b := plainGraph()
	b.Node("a", func(ctx context.Context, _ plain) (update, error) {
		after = ctx
		call := graph.ToolEvent{ID: "1", Name: "find", Args: json.RawMessage(`{}`)}
		err := errors.Join(graph.Emit(ctx, 1), graph.EmitTool(ctx, call))
		call.Result = json.RawMessage(`[]`)
		return update{logged.Add("a"), sum.Set(2)}, errors.Join(err, graph.EmitTool(ctx, call))
	})
	b.Streaming("s", func(ctx context.Context, _ plain, out graph.TokenSink) (update, error) {
		return update{logged.Add("s")}, errors.Join(out(ctx, "to"), out(ctx, "ken"))
	})
	edges(b, "START a", "a s", "s END")
	return compiled(t, b, graph.Config{}), func() context.Context { return after }
}

func TestStream(t *testing.T) {
	all := []string{
		"custom a 1", "tools a find {} ", "tools a find {} []", `updates a 1 {"log":["a"],"sum":2}`, "values 1 [hi a]",
		`tokens s 2 "to"`, `tokens s 2 "ken"`, `updates s 2 {"log":["s"]}`, "values 2 [hi a s]",
	}
	for name, modes := range map[string][]graph.Mode{
		"all": nil, "updates": {graph.Updates}, "values": {graph.Values},
		"tokens and tools": {graph.Tokens, graph.Tools}, "custom": {graph.Custom},
	} {
		t.Run(name, func(t *testing.T) {
			var want, got []string
			for _, line := range all {
				mode, _, _ := strings.Cut(line, " ")
				if len(modes) == 0 || slices.Contains(modes, graph.Mode(mode)) {
					want = append(want, line)
				}
			}
			g, after := streamed(t)
			s, err := g.Stream(t.Context(), "thread", update{logged.Add("hi")}, func(e graph.Event[plain]) error {
				got = append(got, told(e))
				return nil
			}, modes...)
			if err != nil || len(s.Log) != 3 || !slices.Equal(got, want) {
				t.Errorf("%v, %v, told\n%s\nwant\n%s", s.Log, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if err := graph.Emit(after(), 2); !errors.Is(err, graph.ErrSettled) {
				t.Errorf("a node that has settled: %v", err)
			}
		})
	}
	g, after := streamed(t)
	if _, err := g.Run(t.Context(), "thread", nil, nil); err != nil {
		t.Errorf("without a stream: %v", err)
	}
	if err := graph.EmitTool(after(), graph.ToolEvent{}); !errors.Is(err, graph.ErrSettled) {
		t.Errorf("a node that has settled without a stream: %v", err)
	}
	if _, err := g.Stream(t.Context(), "thread", nil, func(graph.Event[plain]) error { return nil },
		"nonsense"); err == nil {
		t.Error("an unknown mode was taken")
	}
}

// The reader's error ends the turn, whichever event it was, and nothing is saved.
func TestStreamEnds(t *testing.T) {
	for n := range 9 {
		synctest.Test(t, func(t *testing.T) {
			g, _ := streamed(t)
			calls := 0
			_, err := g.Stream(t.Context(), "thread", nil, func(graph.Event[plain]) error {
				if calls++; calls == n+1 {
					time.Sleep(time.Second) // a turn that did not wait for its reader would be saved by then
					return errCrash
				}
				return nil
			})
			at, _ := g.State(t.Context(), "thread")
			if !errors.Is(err, errCrash) || calls != n+1 || at.ID != "" {
				t.Errorf("event %d: %v, %d calls, %q saved", n, err, calls, at.ID)
			}
		})
	}
}

// Nodes side by side are told one at a time.
func TestStreamOneAtATime(t *testing.T) {
	b := plainGraph()
	for i := range 8 {
		name := nodeName(i)
		b.Node(name, func(ctx context.Context, _ plain) (update, error) {
			for k := range 20 {
				if err := graph.Emit(ctx, k); err != nil {
					return nil, err
				}
			}
			return update{logged.Add(name)}, nil
		})
		edges(b, "START "+name, name+" END")
	}
	var busy atomic.Int32
	next := map[string]int{}
	_, err := compiled(t, b, graph.Config{}).Stream(t.Context(), "thread", nil, func(e graph.Event[plain]) error {
		if busy.Add(1) > 1 {
			t.Error("two at a time")
		}
		defer busy.Add(-1)
		time.Sleep(time.Microsecond)
		switch {
		case e.Mode == graph.Custom && e.Value != next[e.Node], e.Mode == graph.Updates && next[e.Node] != 20:
			t.Errorf("node %s: %v after %d", e.Node, e.Value, next[e.Node])
		}
		next[e.Node]++
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
