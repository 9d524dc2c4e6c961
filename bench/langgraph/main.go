// Command langgraph runs the answer path of the website chatbot on graph and on LangGraph.js: the same nodes, edges and
// writes, no models, checkpoints in memory. It prints what a turn takes on each, and fails when their conversations
// differ.
//
//	go run -C bench ./langgraph                     both, LangGraph.js installed from npm into a temporary folder
//	go run -C bench ./langgraph -alone              graph only, against its goals
//	go run -C bench ./langgraph -alone -profile p   the same, with a CPU profile
//
// Goals are reported, not errors: on a busy machine they say little.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/rehearse-dev/rehearse/bench/machine"
)

var packages = []string{"@langchain/langgraph@1.4.14", "@langchain/core@1.2.13", "zod@3.25.76"}

//go:embed langgraph.mjs
var script []byte

// options are the flags.
type options struct {
	runs    int
	alone   bool
	profile string
	modules string
	json    string
}

func main() {
	var o options
	child := flag.Bool("ours", false, "be the process that is measured (the bench starts itself this way)")
	flag.IntVar(&o.runs, "runs", 3, "runs of each case")
	flag.BoolVar(&o.alone, "alone", false, "only graph")
	flag.StringVar(&o.profile, "profile", "", "write a CPU profile of 1,000 sessions to this file, and nothing else")
	flag.StringVar(&o.modules, "modules", "", "folder with node_modules, instead of installing them")
	flag.StringVar(&o.json, "json", "", "also write everything to this file as JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	work := func() error { return bench(ctx, o) }
	if *child || o.profile != "" {
		work = func() error { return be(ctx, o.profile, flag.Args()) }
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: "+err.Error())
		stop()
		os.Exit(1)
	}
}

// be does the work of a measured process and prints its report.
func be(ctx context.Context, profile string, args []string) error {
	if len(args) == 0 {
		args = []string{"hold", "1000", "10"}
	}
	r, err := ours(ctx, profile, args)
	if err != nil {
		return err
	}
	if profile != "" {
		fmt.Printf("%.0f µs of CPU a turn, %.0f turns/s\n", r.CPU/float64(r.Turns), float64(r.Turns)/r.Wall*1e6)
		return nil
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

func bench(ctx context.Context, o options) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b := &bencher{options: o, Machine: machine.This(), rows: ourRows(self)}
	if !o.alone {
		if b.Node, err = nodeVersion(ctx); err != nil {
			return err
		}
		if o.modules == "" {
			if o.modules, err = os.MkdirTemp("", "rehearse-langgraph-"); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, os.RemoveAll(o.modules)) }()
			say("installing LangGraph.js with npm")
			if err := install(ctx, o.modules, packages); err != nil {
				return err
			}
		}
		// Node.js looks for modules beside the script.
		path := filepath.Join(o.modules, "langgraph.mjs")
		if err := os.WriteFile(path, script, 0o644); err != nil {
			return err
		}
		b.rows = append(b.rows, theirRows("node", path)...)
		joins, _, err := start(ctx, "node", path, "joins")
		if err != nil {
			return err
		}
		b.Joins = joins.Joins
	}
	if err := b.measure(ctx); err != nil {
		return err
	}
	b.print(os.Stdout)
	if o.json == "" {
		return nil
	}
	data, err := json.MarshalIndent(b.all(), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.json, append(data, '\n'), 0o644)
}

// say prints a line of progress.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
