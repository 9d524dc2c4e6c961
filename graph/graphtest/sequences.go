package graphtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/graph"
)

// RunLives leads random lives of threads on a saver: turns, failures, questions and answers, forks, updates,
// compactions and deletions, each again and again with a graph that remembers nothing, as another process has it. What
// comes of it is what comes of it in graph.Memory with one graph: the same states, questions, errors and histories.
// Open returns an empty saver and closes it through t.Cleanup.
func RunLives(t *testing.T, open func(t *testing.T) Saver) {
	lives := 30
	if testing.Short() {
		lives = 10
	}
	saver := open(t) // for all, with threads of their own
	for seed := range uint64(lives) {
		durable := seed%3 > 0
		want, got := newLife(t, graph.NewMemory(graph.MemoryLimits{}), durable, ""),
			newLife(t, saver, durable, fmt.Sprint("life ", seed, " "))
		r := rand.New(rand.NewPCG(seed, 0))
		var past []string
		for range 30 {
			d := drawDeed(r)
			past = append(past, fmt.Sprint(d))
			if r.IntN(3) == 0 {
				got.restart()
			}
			if w, g := want.do(d), got.do(d); w != g {
				t.Fatalf("life %d, durable %t, after\n%s\nthe saver has\n%s\nwant\n%s", seed, durable,
					strings.Join(past, "\n"), g, w)
			}
		}
	}
}

// deed is one thing that is done to a thread.
type deed struct {
	What, Thread, Other string
	Fails, Text         string
	Nth                 int
}

func drawDeed(r *rand.Rand) deed {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	d := deed{
		What: pick("run", "run", "run", "run", "again", "again", "continue", "answer",
			"answer", "answer", "answer", "abandon", "fork", "update", "merge", "replace", "compact", "delete"),
		Thread: pick("a", "b"), Other: pick("a", "b", "c"), Text: pick("x", "é👉", "", strings.Repeat("long ", 600)),
		Nth: r.IntN(4),
	}
	if r.IntN(4) == 0 {
		d.Fails = pick("map", "sub", "again", "ask")
	}
	return d
}

// life leads a life on one saver.
type life struct {
	t       *testing.T
	world   *world
	saver   graph.Checkpointer
	graph   *graph.Graph[story]
	durable bool
	prefix  string
	input   map[string]string // the last of each thread
}

func newLife(t *testing.T, saver graph.Checkpointer, durable bool, prefix string) *life {
	l := &life{t: t, world: &world{}, saver: saver, durable: durable, prefix: prefix, input: map[string]string{}}
	l.restart()
	return l
}

// restart goes on as another process.
func (l *life) restart() {
	l.t.Helper()
	g, err := l.world.graph(l.saver, l.durable)
	if err != nil {
		l.t.Fatal(err)
	}
	l.graph = g
}

// do does something, and tells what came of it for all threads.
func (l *life) do(d deed) string {
	ctx, g, thread := l.t.Context(), l.graph, l.prefix+d.Thread
	l.world.fails = d.Fails
	var s story
	var err error
	write := told{storyLog.Add(d.Text), storySum.Set(1)}
	switch d.What {
	case "run":
		l.input[thread] = d.Text
		s, err = g.Run(ctx, thread, write, nil)
	case "again": // goes on with a turn that has failed
		s, err = g.Run(ctx, thread, told{storyLog.Add(l.input[thread]), storySum.Set(1)}, nil)
	case "continue":
		s, err = g.Continue(ctx, thread, nil)
	case "answer":
		answers := graph.Answers{}
		waiting, failed := g.Waiting(ctx, thread)
		for _, q := range waiting[:min(len(waiting), 1)] {
			answers[q.ID] = d.Text
		}
		s, err = g.Resume(ctx, thread, answers, nil)
		err = cmp.Or(failed, err)
	case "abandon":
		err = g.Abandon(ctx, thread)
	case "fork":
		var records []graph.Record
		if records, err = g.History(ctx, thread); err == nil && len(records) > 0 {
			_, err = g.Fork(ctx, thread, records[d.Nth%len(records)].ID, l.prefix+d.Other)
		}
	case "compact":
		err = g.Compact(ctx, thread)
	case "delete":
		err = g.Delete(ctx, thread)
	default:
		_, err = g.UpdateState(ctx, thread, write, graph.UpdateOptions{
			Merge: d.What == "merge", Replace: d.What == "replace",
		})
	}
	l.world.fails = ""
	told := []string{outcome(s, err)}
	for _, name := range []string{"a", "b", "c"} {
		told = append(told, name+": "+l.look(ctx, l.prefix+name))
	}
	return strings.Join(told, "\n")
}

// outcome is what a call returned, as far as it is the same everywhere.
func outcome(s story, err error) string {
	question, asks := errors.AsType[*graph.InterruptError](err)
	for _, known := range []error{
		graph.ErrWaiting, graph.ErrNothingToContinue, graph.ErrHasState, graph.ErrNoCheckpoint, graph.ErrConflict,
		errFails,
	} {
		if errors.Is(err, known) {
			return "error: " + known.Error()
		}
	}
	switch {
	case asks:
		return "asks: " + question.Node + " " + string(question.Question)
	case err != nil:
		return "error"
	}
	data, err := json.Marshal(s)
	return fmt.Sprint(string(data), err)
}

// look tells what a thread is: its state, what it waits for, and its history with the places of parents in it.
func (l *life) look(ctx context.Context, thread string) string {
	at, err := l.graph.State(ctx, thread)
	var told strings.Builder
	told.WriteString(outcome(at.State, err) + fmt.Sprint(" turn ", at.Turn, " ", at.Source))
	waiting, err := l.graph.Waiting(ctx, thread)
	for _, q := range waiting {
		told.WriteString(" waits: " + q.Node + string(q.Question))
	}
	records, failed := l.graph.History(ctx, thread)
	for _, r := range records {
		parent := slices.IndexFunc(records, func(p graph.Record) bool { return p.ID == r.Parent })
		fmt.Fprint(&told, " [", r.Turn, r.Source, parent, "]")
		if then, err := l.graph.At(ctx, thread, r.ID); err != nil || then.Turn != r.Turn {
			fmt.Fprint(&told, " cannot be read: ", err)
		} else {
			fmt.Fprintf(&told, "%x", digest(outcome(then.State, nil)))
		}
	}
	return told.String() + fmt.Sprint(err, failed)
}
