package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// command is a command of rehearse that sends no request while it is measured. It works on a fresh copy of its inputs.
type command struct {
	program string
	args    []string
	// setup fills the folder of the inputs; nil leaves it empty. The endpoint at url may be used.
	setup func(ctx context.Context, program, dir, url string) error
	// prints is what the output must have: a command that does nothing is fast.
	prints *regexp.Regexp
	// verify returns what is wrong with the files that it wrote into dir; nil where it writes none.
	verify func(dir string) error
}

func (c command) write(ctx context.Context, dir string, _ workload, url string) error {
	if c.setup == nil {
		return nil
	}
	return c.setup(ctx, c.program, dir, url)
}

func (c command) prepare(inputs, dir string) error { return os.CopyFS(dir, os.DirFS(inputs)) }

func (c command) command(_, dir string, _ workload) program {
	return program{dir: dir, name: c.program, args: c.args}
}

func (c command) check(dir string, _ workload, exit int) error {
	if exit != 0 {
		return exitError(exit)
	}
	output, err := os.ReadFile(filepath.Join(dir, outputFile))
	if err != nil {
		return err
	}
	if !c.prints.Match(output) {
		return fmt.Errorf("its output does not match %s", c.prints)
	}
	if c.verify == nil {
		return nil
	}
	return c.verify(dir)
}

// number matches n, at least 1,000, with or without its comma.
func number(n int) *regexp.Regexp {
	digits := fmt.Sprint(n)
	return regexp.MustCompile(`\b` + digits[:len(digits)-3] + ",?" + digits[len(digits)-3:] + `\b`)
}

func versionCommand(program string) tool {
	return command{program: program, args: []string{"version"}, prints: regexp.MustCompile(`\bgo1`)}
}

func validateCommand(w workload) func(string) tool {
	return func(program string) tool {
		args := []string{"validate", "suite.yaml"}
		return command{program: program, args: args, prints: number(w.conversations), setup: runsOf(w)}
	}
}

func showCommand(w workload) func(string) tool {
	return func(program string) tool {
		args := []string{"show", "a/" + resultsDir}
		return command{program: program, args: args, prints: number(w.conversations), setup: runsOf(w, "a")}
	}
}

func compareCommand(w workload) func(string) tool {
	return func(program string) tool {
		args := []string{"compare", "a/" + resultsDir, "b/" + resultsDir}
		return command{program: program, args: args, prints: number(w.conversations), setup: runsOf(w, "a", "b")}
	}
}

// runsOf returns a setup that writes the suite of a workload and runs it once for each folder.
func runsOf(w workload, folders ...string) func(ctx context.Context, program, dir, url string) error {
	return func(ctx context.Context, program, dir, url string) error {
		r := rehearse{path: program}
		if err := r.write(ctx, dir, w, url); err != nil {
			return err
		}
		for _, folder := range folders {
			into := filepath.Join(dir, folder)
			if err := os.Mkdir(into, 0o755); err != nil {
				return err
			}
			err := setUp(ctx, r.command(dir, into, w), func(exit int) error { return r.check(into, w, exit) })
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// setupLimit is the longest time for one program of a setup.
const setupLimit = 5 * time.Minute

// setUp runs a program whose results are the input of what is measured.
func setUp(ctx context.Context, p program, check func(exit int) error) error {
	_, exit, err := measure(ctx, setupLimit, p)
	if err == nil {
		err = check(exit)
	}
	if err != nil {
		return fmt.Errorf("preparing with %s: %w; it printed: %s", strings.Join(p.args, " "), err, lastOutput(p.dir))
	}
	return nil
}
