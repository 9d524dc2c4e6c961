package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	latency = 50 * time.Millisecond
	// longRuns bounds how often a case of many seconds is repeated.
	longRuns = 3
	startups = 20
)

// spec is one case: a workload and the goals for rehearse.
type spec struct {
	id, what string
	work     workload
	goals    []goal
	long     bool
}

// specs is the list of cases in which conversations are held, with the goals of docs/speed.md.
func specs() []spec {
	slow := workload{conversations: 200, turns: 4, latency: latency}
	judged := workload{conversations: 200, turns: 4, latency: latency, judged: true}
	small := []goal{rssBelow(60 * mb)}
	margin := func(w workload) time.Duration { return w.ideal() * 105 / 100 }
	return []spec{
		{
			id: "a", what: "200 × 4 turns, 0 ms", work: workload{conversations: 200, turns: 4},
			goals: []goal{cpuBelow(500 * time.Millisecond)},
		},
		{id: "b", what: "200 × 4 turns, 50 ms", work: slow, goals: []goal{wallWithin(margin(slow)), rssBelow(60 * mb)}},
		{id: "c", what: "200 × 4 turns, judged, 50 ms", work: judged, goals: []goal{wallWithin(margin(judged))}},
		{
			id: "d", what: "2,000 × 4 turns, 0 ms", work: workload{conversations: 2_000, turns: 4}, goals: small,
			long: true,
		},
		{id: "e1", what: "10,000 single turns, JSONL, 0 ms", work: workload{
			conversations: 10_000, turns: 1, single: true,
		}, goals: small, long: true},
		{id: "e2", what: "100,000 single turns, JSONL, 0 ms", work: workload{
			conversations: 100_000, turns: 1, single: true,
		}, goals: small, long: true},
	}
}

// floor measures the bare client in the cases that others are measured in too.
func (b *bencher) floor(ctx context.Context) {
	for _, c := range specs() {
		if b.wants(c.id) && !c.long {
			r := &row{Case: c.id, Tool: "bare client", What: c.what, Ideal: c.work.ideal()}
			b.perform(ctx, task{row: r, tool: &bare{}, work: c.work, runs: b.runs, warm: true})
		}
	}
}

// ours measures rehearse.
func (b *bencher) ours(ctx context.Context) {
	var tenth int64
	for _, c := range specs() {
		if !b.wants(c.id) {
			continue
		}
		r := &row{
			Case: c.id, Tool: ourName, What: c.what, Ideal: c.work.ideal(), Goals: slices.Clone(c.goals), Note: b.extra,
		}
		if c.id == "e2" && tenth > 0 {
			r.Goals = append(r.Goals, flat(tenth))
		}
		runs := b.runs
		if c.long {
			runs = min(runs, longRuns)
		}
		b.perform(ctx, task{
			row: r, tool: rehearse{b.rehearse, strings.Fields(b.extra)}, work: c.work, runs: runs, warm: !c.long,
		})
		if c.id == "e1" {
			tenth = r.rss()
		}
	}
	if b.wants("f") {
		b.startUp(ctx)
	}
	if b.cold && b.wants("g") {
		b.coldBuild(ctx)
	}
}

func (b *bencher) startUp(ctx context.Context) {
	b.times(ctx, &row{Case: "f", Tool: ourName, What: "version", Goals: []goal{wallBelow(30 * time.Millisecond)}},
		startups, program{name: b.rehearse, args: []string{"version"}})
	if b.mtbench == "" {
		return
	}
	r := &row{Case: "f2", Tool: ourName, What: "validate " + filepath.Base(b.mtbench)}
	path, err := filepath.Abs(b.mtbench)
	if err != nil {
		r.Error, b.rows = err.Error(), append(b.rows, r)
		return
	}
	b.times(ctx, r, b.runs, program{name: b.rehearse, args: []string{"validate", path}})
}

// coldBuild builds the program as somebody does who has just fetched it and its modules.
func (b *bencher) coldBuild(ctx context.Context) {
	r := &row{Case: "g", Tool: ourName, What: "go build, empty cache", Goals: []goal{wallBelow(240 * time.Second)}}
	b.rows = append(b.rows, r)
	u, err := b.build(ctx)
	if err != nil {
		r.Error = err.Error()
	} else {
		r.Runs = []usage{u}
	}
	r.settle()
	b.report(r)
}

func (b *bencher) build(ctx context.Context) (u usage, err error) {
	module, err := os.Getwd()
	if err != nil {
		return u, err
	}
	dir := filepath.Join(b.dir, "build")
	return b.buildAt(ctx, module, dir, filepath.Join(dir, "cache"))
}

// buildAt builds the program of a module as "make build" does, into the folder dir. An empty cache means the user's
// build cache. Commits are not stamped, so that binaries of two commits differ by their code only.
func (b *bencher) buildAt(ctx context.Context, module, dir, cache string) (u usage, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return u, err
	}
	var env []string
	for _, name := range []string{"GOCACHE", "GOPATH", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "HOME"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value) // modules are there already: fetching them is not what is measured
		}
	}
	if cache != "" {
		env = append(env, "GOCACHE="+cache)
	}
	u, exit, err := measure(ctx, max(b.limit, 10*time.Minute), program{dir: dir, env: env, name: "go", args: []string{
		"build", "-C", module, "-trimpath", "-buildvcs=false", "-ldflags=-s -w",
		"-o", filepath.Join(dir, ourName), "./cmd/rehearse",
	}})
	if err == nil && exit != 0 {
		err = fmt.Errorf("%w; it printed: %s", exitError(exit), lastOutput(dir))
	}
	return u, err
}

// resultsDir is where runs leave their results, below the folder that they work in.
const resultsDir = "results"

// rehearse is the program at a path, with further arguments.
type rehearse struct {
	path  string
	extra []string
}

func (r rehearse) write(_ context.Context, dir string, w workload, url string) error {
	config := fmt.Sprintf(`target: echo
targets:
  echo: {provider: openai, model: echo, base_url: %q}
judge:
  model: {provider: openai, model: %s, base_url: %q}
`, url+"/v1", judgeModel, url+"/v1")
	return errors.Join(w.writeSuite(dir), os.WriteFile(filepath.Join(dir, "rehearse.yaml"), []byte(config), 0o600))
}

func (r rehearse) command(inputs, dir string, _ workload) program {
	args := []string{"run", filepath.Join(inputs, "suite.yaml"), "--workers", fmt.Sprint(inFlight), "--out", resultsDir}
	return program{dir: dir, name: r.path, args: append(args, r.extra...)}
}

// check wants exit code 0, and for each conversation one passed record of all turns in which every assertion passed.
func (r rehearse) check(dir string, w workload, exit int) error {
	if exit != 0 {
		return exitError(exit)
	}
	f, err := os.Open(filepath.Join(dir, resultsDir, "results.jsonl"))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	records := 0
	for d := json.NewDecoder(f); ; records++ {
		var t struct {
			TestID  string     `json:"test_id"`
			Verdict string     `json:"verdict"`
			Turns   []struct{} `json:"turns"`
			Scores  []struct {
				Assertions []struct {
					Passed bool `json:"passed"`
				} `json:"assertions"`
			} `json:"scores"`
		}
		err := d.Decode(&t)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("record %d: %w", records+1, err)
		}
		if t.Verdict != "pass" || len(t.Turns) != w.turns {
			return fmt.Errorf("record of %s: verdict %s after %d turns", t.TestID, t.Verdict, len(t.Turns))
		}
		passed := 0
		for _, score := range t.Scores {
			for _, a := range score.Assertions {
				if a.Passed {
					passed++
				}
			}
		}
		if passed != w.assertions() {
			return fmt.Errorf("record of %s: %d assertions passed instead of %d", t.TestID, passed, w.assertions())
		}
	}
	if records != w.conversations {
		return fmt.Errorf("%d records instead of %d", records, w.conversations)
	}
	return nil
}
