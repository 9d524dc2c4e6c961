package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"sync"

	"github.com/rehearse-dev/rehearse/bench/machine"
)

const (
	sessions = 100  // beside each other: LangGraph.js takes seconds for them
	many     = 1000 // of the goals
	turns    = 10
	long     = 50 // turns of the conversation whose checkpoints are weighed
)

// row is one runtime in one setting.
type row struct {
	Name      string   `json:"name"`
	Sessions  int      `json:"sessions"`
	Processes int      `json:"processes"`
	Runs      []run    `json:"runs"`
	Added     []added  `json:"added_by_turn,omitempty"`
	Missed    []string `json:"goals_missed,omitempty"`

	hold, grow []string // commands; the rows without grow have the same conversation as another
	goals      bool
}

// bencher gathers rows.
type bencher struct {
	options
	Machine machine.Description
	Node    string
	Joins   map[string]int
	rows    []*row
	state   *state // of the first session after its last turn
}

func ourRows(self string) []*row {
	held := func(n int) []string { return []string{self, "-ours", "hold", strconv.Itoa(n), strconv.Itoa(turns)} }
	return []*row{
		{
			Name: "graph", Sessions: sessions, Processes: 1, hold: held(sessions),
			grow: []string{self, "-ours", "grow", strconv.Itoa(long)},
		},
		{Name: "graph", Sessions: many, Processes: 1, hold: held(many), goals: true},
		{Name: "graph, durable", Sessions: many, Processes: 1, hold: []string{
			self, "-ours", "durable", strconv.Itoa(many), strconv.Itoa(turns),
		}},
	}
}

func theirRows(node, script string) []*row {
	held := func(n int, durability string) []string {
		return []string{node, script, "hold", strconv.Itoa(n), strconv.Itoa(turns), durability}
	}
	grown := func(durability string) []string {
		return []string{node, script, "grow", strconv.Itoa(long), durability}
	}
	rows := []*row{
		{Name: "LangGraph.js", Sessions: sessions, Processes: 1, hold: held(sessions, "async"), grow: grown("async")},
		{
			Name: `LangGraph.js, durability "exit"`, Sessions: sessions, Processes: 1, hold: held(sessions, "exit"),
			grow: grown("exit"),
		},
	}
	if cores := runtime.NumCPU(); cores > 1 { // a process keeps one core busy
		share := sessions / cores
		rows = append(rows, &row{
			Name: "LangGraph.js, a process per core", Sessions: share * cores, Processes: cores,
			hold: held(share, "async"),
		})
	}
	return rows
}

// measure runs the rows in turn, so that a change of the machine's load reaches all of them.
func (b *bencher) measure(ctx context.Context) error {
	for _, r := range b.rows {
		if r.grow == nil {
			continue
		}
		grown, _, err := start(ctx, r.grow...)
		if err != nil {
			return err
		}
		r.Added = grown.Added
	}
	for n := range b.runs {
		for _, r := range b.rows {
			say("run %d of %d: %s, %d sessions", n+1, b.runs, r.Name, r.Sessions)
			if err := b.once(ctx, r); err != nil {
				return err
			}
		}
	}
	for _, r := range b.rows {
		r.settle()
	}
	return nil
}

// once runs all processes of a row side by side and adds up what they took.
func (b *bencher) once(ctx context.Context, r *row) error {
	reports, errs, took := make([]*report, r.Processes), make([]error, r.Processes), run{}
	memory := make([]int64, r.Processes)
	var all sync.WaitGroup
	for i := range r.Processes {
		all.Go(func() { reports[i], memory[i], errs[i] = start(ctx, r.hold...) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	count, cpu, wall := 0.0, 0.0, 0.0
	for i, p := range reports {
		count, cpu, wall = count+float64(p.Turns), cpu+p.CPU, max(wall, p.Wall)
		took.RSS += memory[i]
		if err := b.same(r, p.State); err != nil {
			return err
		}
	}
	took.CPU, took.Speed = cpu/count, count/wall*1e6
	r.Runs = append(r.Runs, took)
	return nil
}

// same fails when a conversation did not end as it did elsewhere: what is fast and wrong does not count.
func (b *bencher) same(r *row, got *state) error {
	if b.state == nil {
		b.state = got
	}
	if got == nil || len(got.Messages) != 2*turns || !reflect.DeepEqual(got, b.state) {
		return fmt.Errorf("%s: the conversation ended with %+v instead of %+v", r.Name, got, b.state)
	}
	return nil
}

// settle compares the medians with the goals.
func (r *row) settle() {
	if !r.goals {
		return
	}
	for text, missed := range map[string]bool{
		"≤ 100 µs":         r.of(cpuOf).Median > 100,
		"≥ 10,000 turns/s": r.of(speedOf).Median < 10_000,
		"≤ 120 MB":         r.of(rssOf).Median > 120e6,
	} {
		if missed {
			r.Missed = append(r.Missed, text)
		}
	}
}
