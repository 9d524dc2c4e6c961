package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rehearse-dev/rehearse/bench/checkout"
	"github.com/rehearse-dev/rehearse/bench/machine"
)

// sides are the two builds of a comparison, in the order in which they run.
var sides = [2]string{"base", "this tree"}

// job is one row of a comparison.
type job struct {
	id, name string
	// tool makes what does the job with the program at a path.
	tool func(program string) tool
	work workload
	// perPair is how often a short job runs on each side for one asked pair; every repetition is a pair of its own.
	perPair int
}

// jobs returns the rows of a comparison.
func jobs() []job {
	run := func(program string) tool { return rehearse{path: program} }
	fast, slow := workload{conversations: 200, turns: 4}, workload{conversations: 200, turns: 4, latency: latency}
	yaml := workload{conversations: 2_000, turns: 4}
	lines := workload{conversations: 20_000, turns: 1, single: true}
	return []job{
		{id: "a", name: "run: 200 × 4 turns, 0 ms", tool: run, work: fast, perPair: 3},
		{id: "b", name: "run: 200 × 4 turns, 50 ms", tool: run, work: slow, perPair: 2},
		{id: "yaml", name: "run: 2,000 × 4 turns in YAML, 0 ms", tool: run, work: yaml, perPair: 1},
		{id: "jsonl", name: "run: 20,000 single turns in JSONL, 0 ms", tool: run, work: lines, perPair: 1},
		{id: "version", name: "version", tool: versionCommand, perPair: 10},
		{id: "show", name: "show: 2,000 × 4 turns", tool: showCommand(yaml), perPair: 3},
		{id: "compare", name: "compare: 2 runs of 2,000 × 4 turns", tool: compareCommand(yaml), perPair: 3},
		{id: "validate", name: "validate: 2,000 × 4 turns in YAML", tool: validateCommand(yaml), perPair: 3},
		{id: "import", name: "replay import: 1,000 × 4 turns", tool: importCommand(1_000), perPair: 2},
		{id: "replay", name: "replay run: 1,000 × 4 turns", tool: replayCommand(1_000), perPair: 2},
	}
}

// compare builds the base commit and this work tree, measures both in turn, and prints the table of their ratios. The
// error says why the comparison fails.
func compare(ctx context.Context, o options) (err error) {
	if o.pairs < 1 {
		return fmt.Errorf("invalid -pairs %d: at least 1 is needed", o.pairs)
	}
	dir, err := os.MkdirTemp("", "rehearse-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bencher{options: o, dir: dir, machine: machine.This()}
	programs, title, err := b.buildSides(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n%s\n", b.machine, title)
	var rows []*pairing
	for _, j := range jobs() {
		if b.wants(j.id) {
			rows = append(rows, b.pair(ctx, j, programs))
		}
	}
	fmt.Println()
	machine.WriteTable(os.Stdout, comparisonTable(rows, len(jobs())))
	fmt.Println()
	for _, p := range rows {
		for _, text := range []string{p.NotComparable, p.Note} {
			if text != "" {
				fmt.Printf("%s: %s\n", p.Job, text)
			}
		}
	}
	if o.json != "" {
		data, err := json.MarshalIndent(map[string]any{
			"machine": b.machine, "sides": title, "measured_at": time.Now().UTC(), "rows": rows,
		}, "", "  ")
		if err := errors.Join(err, os.WriteFile(o.json, append(data, '\n'), 0o644)); err != nil {
			return err
		}
	}
	return errors.Join(judge(rows), ctx.Err())
}

// buildSides builds both programs with the same flags. The base's worktree is gone when it returns.
func (b *bencher) buildSides(ctx context.Context) (programs [2]string, title string, err error) {
	here, err := os.Getwd()
	if err != nil {
		return programs, "", err
	}
	tree, err := checkout.Describe(ctx, here)
	if err != nil {
		return programs, "", err
	}
	source, hash, remove, err := checkout.At(ctx, here, b.against)
	if err != nil {
		return programs, "", err
	}
	defer func() { err = errors.Join(err, remove()) }()
	for i, module := range [2]string{source, here} {
		say("building %s", sides[i])
		dir := filepath.Join(b.dir, fmt.Sprint("program-", i))
		if _, err := b.buildAt(ctx, module, dir, ""); err != nil {
			return programs, "", fmt.Errorf("building %s: %w", sides[i], err)
		}
		programs[i] = filepath.Join(dir, ourName)
	}
	return programs, fmt.Sprintf("base %.12s, this tree %s", hash, tree), nil
}

// pair measures both programs in turn. What goes wrong stands in the row.
func (b *bencher) pair(ctx context.Context, j job, programs [2]string) *pairing {
	p := &pairing{Job: j.name}
	if err := b.alternate(ctx, j, programs, p); err != nil {
		p.Error = err.Error()
	}
	p.compareFiles()
	say("%s: %s", p.Job, p.summary())
	return p
}

// alternate runs the job once with each program to warm up, and then in pairs, the base first.
func (b *bencher) alternate(ctx context.Context, j job, programs [2]string, p *pairing) (err error) {
	s, err := startServer(ctx, j.work.latency)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	var tasks [2]task
	var inputs [2]string
	for i, program := range programs {
		tasks[i] = task{tool: j.tool(program), work: j.work}
		inputs[i], err = b.inputs(ctx, tasks[i], s)
		defer func() { err = errors.Join(err, os.RemoveAll(inputs[i])) }()
		if err == nil {
			_, err = b.once(ctx, tasks[i], s, inputs[i])
		}
		switch {
		case err == nil:
		case i == 0 && rejected(err):
			p.NotComparable = "the base rejects it: " + err.Error()
		default:
			return fmt.Errorf("%s: %w", sides[i], err)
		}
	}
	if p.NotComparable != "" {
		return nil
	}
	for range b.pairs * j.perPair {
		for i, runs := range [2]*[]usage{&p.Base, &p.Tree} {
			u, err := b.once(ctx, tasks[i], s, inputs[i])
			if err != nil {
				return fmt.Errorf("%s, pair %d: %w", sides[i], len(p.Tree)+1, err)
			}
			*runs = append(*runs, u)
		}
	}
	return nil
}

// rejected reports whether the program refused its input or its command line, for which it has an exit code of its own.
func rejected(err error) bool {
	var code exitError
	return errors.As(err, &code) && code == 2
}
