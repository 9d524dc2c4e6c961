// Command bench measures rehearse from outside, as a user meets it: the whole program with its default settings,
// against a local OpenAI-compatible endpoint that answers after a known latency. It prints wall time, CPU, peak memory
// and requests beside the goals of docs/speed.md, and checks that every run gave the right results; a fast wrong answer
// is an error.
//
//	bin/bench -rehearse bin/rehearse            every case
//	bin/bench -rehearse bin/rehearse -case a,b  some cases
//	bin/bench -rehearse bin/rehearse -peers     AgentV and promptfoo beside it, installed from npm for the occasion
//	bin/bench -against COMMIT                   this work tree and that commit in turn, both built for it, as ratios
//
// Build it with `go build -C bench -o ../bin/bench .` (make bench does) and start it in the root of the repository.
// Missed goals are reported, not errors: on a busy machine they say little. Compare CPU first, then wall time.
// With -against the exit code is 1 if the mean ratio of CPU or of private memory is above 1.05, or if a run is not a
// measurement.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rehearse-dev/rehearse/bench/machine"
)

// options are the flags.
type options struct {
	rehearse string
	runs     int
	cases    string
	extra    string
	mtbench  string
	cold     bool
	peers    bool
	limit    time.Duration
	json     string
	against  string
	pairs    int
}

// wants reports whether the case was asked for, by its name or the letter that it begins with.
func (o options) wants(id string) bool {
	return o.cases == "" || slices.ContainsFunc(strings.Split(o.cases, ","), func(c string) bool {
		return c == id || c == id[:1]
	})
}

func main() {
	var o options
	serving := flag.Bool("serve", false, "be the endpoint (bench starts itself this way)")
	asking := flag.String("bare", "", "be the bare client of this address (bench starts itself this way)")
	latency := flag.Duration("latency", 0, "with -serve: answer after this time")
	flag.StringVar(&o.rehearse, "rehearse", "bin/rehearse", "program to measure")
	flag.IntVar(&o.runs, "runs", 5, "runs of each case after one to warm up; long cases take at most 3")
	flag.StringVar(&o.cases, "case", "", "only these cases, such as a,b (default all)")
	flag.StringVar(&o.extra, "args", "",
		"further arguments of rehearse run, such as '--format none'; the goals are for none")
	flag.StringVar(&o.mtbench, "mtbench", "", "suite to validate, such as the 827 conversations of MT-Bench-101")
	flag.BoolVar(&o.cold, "cold", false, "also build ./cmd/rehearse with an empty build cache")
	flag.BoolVar(&o.peers, "peers", false,
		"also measure AgentV and promptfoo, installed with npm into a temporary folder")
	flag.DurationVar(&o.limit, "limit", 5*time.Minute, "longest time for one run of a program")
	flag.StringVar(&o.json, "json", "", "also write everything to this file as JSON")
	flag.StringVar(&o.against, "against", "", "compare this work tree with a base commit; -case takes rows (show)")
	flag.IntVar(&o.pairs, "pairs", 5, "with -against: pairs of runs of each job; short jobs take more")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := func() error { return bench(ctx, o) }
	switch {
	case *serving:
		run = func() error { return serve(ctx, *latency) }
	case o.against != "":
		run = func() error { return compare(ctx, o) }
	case *asking != "":
		run = func() error { return holdBare(ctx, *asking, flag.Args()) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: "+err.Error())
		stop()
		os.Exit(1)
	}
}

// bench measures what was asked for and prints the table. Cases that went wrong are rows too, and make the error.
func bench(ctx context.Context, o options) (err error) {
	path, err := filepath.Abs(o.rehearse)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("nothing to measure: %w (build it with make build, or name it with -rehearse)", err)
	}
	o.rehearse = path
	dir, err := os.MkdirTemp("", "rehearse-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bencher{options: o, dir: dir, machine: machine.This()}
	fmt.Println(b.machine)
	b.floor(ctx)
	b.ours(ctx)
	if o.peers {
		b.peers(ctx)
	}
	b.print(os.Stdout)
	if o.json != "" {
		err = b.writeJSON(o.json)
	}
	for _, r := range b.rows {
		if r.Error != "" && r.Tool == ourName {
			err = errors.Join(err, fmt.Errorf("%s: %s", r.Case, r.Error))
		}
	}
	return errors.Join(err, ctx.Err())
}

// bencher gathers rows.
type bencher struct {
	options
	dir     string
	machine machine.Description
	rows    []*row
}

// say prints a line of progress, since a table that comes at the end of ten minutes is a long wait.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
