package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-dev/rehearse/bench/machine"
	"github.com/rehearse-dev/rehearse/graph"
)

// report is what a process says of itself: this program or langgraph.mjs.
type report struct {
	Turns int            `json:"turns"`
	CPU   float64        `json:"cpu_us"`  // of all the turns, without start and warm-up
	Wall  float64        `json:"wall_us"` // of all the turns
	State *state         `json:"state,omitempty"`
	Added []added        `json:"added,omitempty"` // by turn
	Joins map[string]int `json:"joins,omitempty"`
}

// added is what one turn of a conversation leaves in the store, and what it took to get there.
type added struct {
	Bytes       int64 `json:"bytes"`
	Checkpoints int   `json:"checkpoints"`
	Steps       int   `json:"steps"`
	Nodes       int   `json:"nodes"`
	Finalize    int   `json:"finalize"`
}

// ours does what langgraph.mjs does, with the same arguments.
func ours(ctx context.Context, profile string, args []string) (*report, error) {
	numbers := make([]int, 2)
	for i, a := range args[min(1, len(args)):] {
		n, err := strconv.Atoi(a)
		if err != nil || i >= len(numbers) {
			return nil, fmt.Errorf("unusable arguments %q", args)
		}
		numbers[i] = n
	}
	switch {
	case len(args) == 3 && args[0] == "hold":
		return hold(ctx, profile, numbers[0], numbers[1], false)
	case len(args) == 3 && args[0] == "durable":
		return hold(ctx, profile, numbers[0], numbers[1], true)
	case len(args) == 2 && args[0] == "grow":
		return grow(ctx, numbers[0])
	}
	return nil, fmt.Errorf("unusable arguments %q", args)
}

// hold takes the turns of sessions that go on side by side, in rounds.
func hold(ctx context.Context, profile string, sessions, turns int, durable bool) (_ *report, err error) {
	config := func() graph.Config {
		return graph.Config{Checkpoints: graph.NewMemory(graph.MemoryLimits{}), Durable: durable}
	}
	warm, err := compile(config()) // goes away again
	if err != nil {
		return nil, err
	}
	for turn := range 10 {
		if err := round(ctx, warm, 10, turn); err != nil {
			return nil, err
		}
	}
	g, err := compile(config())
	if err != nil {
		return nil, err
	}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, err
		}
		defer pprof.StopCPUProfile()
	}
	began, before := time.Now(), machine.CPUUsed()
	for turn := range turns {
		if err := round(ctx, g, sessions, turn); err != nil {
			return nil, err
		}
	}
	r := &report{Turns: sessions * turns, CPU: micros(machine.CPUUsed() - before), Wall: micros(time.Since(began))}
	last, err := g.State(ctx, "s0")
	r.State = &last.State
	return r, err
}

// round takes one turn of every session, eight at a time.
func round(ctx context.Context, g *graph.Graph[state], sessions, turn int) error {
	var (
		all   sync.WaitGroup
		next  atomic.Int64
		mu    sync.Mutex
		fault error
	)
	for range 8 {
		all.Go(func() {
			for s := int(next.Add(1) - 1); s < sessions; s = int(next.Add(1) - 1) {
				if err := takeTurn(ctx, g, fmt.Sprint("s", s), turn); err != nil {
					mu.Lock()
					defer mu.Unlock()
					fault = err
					return
				}
			}
		})
	}
	all.Wait()
	return fault
}

func takeTurn(ctx context.Context, g *graph.Graph[state], thread string, turn int) error {
	text := fmt.Sprintf("question %d about tea", turn%10)
	_, err := g.Run(ctx, thread, update{input.Set(text), site.Set("shop"), session.Set(thread)}, nil)
	return err
}

// grow holds one conversation and looks at the store after each turn.
func grow(ctx context.Context, turns int) (*report, error) {
	store, seen := graph.NewMemory(graph.MemoryLimits{}), &watcher{}
	g, err := compile(graph.Config{Checkpoints: store, Observer: seen})
	if err != nil {
		return nil, err
	}
	r, size, checkpoints := &report{}, int64(0), 0
	for turn := range turns {
		seen.added = added{}
		if err := takeTurn(ctx, g, "g0", turn); err != nil {
			return nil, err
		}
		bytes, err := store.Size(ctx, "g0")
		if err != nil {
			return nil, err
		}
		records, err := store.List(ctx, "g0")
		if err != nil {
			return nil, err
		}
		seen.Bytes, seen.Checkpoints = bytes-size, len(records)-checkpoints
		r.Added = append(r.Added, seen.added)
		size, checkpoints = bytes, len(records)
	}
	return r, nil
}

// watcher counts the nodes and steps of a turn.
type watcher struct{ added }

func (w *watcher) NodeBegan(ctx context.Context, v graph.Visit) context.Context {
	w.Nodes++
	w.Steps = max(w.Steps, v.Step)
	if v.Node == "finalize" {
		w.Finalize++
	}
	return ctx
}

func (*watcher) NodeEnded(context.Context, graph.Visit) {}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
