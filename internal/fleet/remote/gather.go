// Package remote has a server hold the run that a command asks for: it gathers the files that the run reads, follows
// it, and brings back what came of it. A record that its own results do not bear out is refused.
package remote

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec/bundle"
)

// Opener opens a configuration for the process that asks.
type Opener func(wire.Options) (*wire.Setup, error)

// Gathered is a run with every file that it reads.
type Gathered struct {
	Spec runspec.Spec
	// Tests is how many tests it has; 0 where nobody here can know.
	Tests int
	// root is the folder in which its names begin.
	root string
}

// Gather returns a run of the disk with every file that it reads. planned completes the configuration of its
// evaluation; nil has nothing to add.
func Gather(ctx context.Context, open Opener, spec runspec.Spec,
	planned func(evaluation.Config) (evaluation.Config, error)) (g Gathered, err error) {
	g.Spec, g.root, err = bundle.Gather(spec, reading(open, func(opened *wire.Setup, s runspec.Spec) ([]string, error) {
		c := evaluation.Config{Setup: opened, Spec: s}
		if planned != nil {
			completed, err := planned(c)
			if err != nil {
				return nil, err
			}
			c = completed
		}
		suites, tests, err := evaluation.Reads(ctx, c)
		g.Tests = tests
		if c.Suites != nil { // made of what the spec names already
			suites = nil
		}
		return suites, err
	}))
	return g, err
}

// GatherReplay is Gather for a replay run.
func GatherReplay(ctx context.Context, open Opener, spec runspec.Spec) (g Gathered, err error) {
	g.Spec, g.root, err = bundle.Gather(spec, reading(open, func(opened *wire.Setup, s runspec.Spec) ([]string, error) {
		return nil, replayrun.Reads(ctx, opened, s)
	}))
	return g, err
}

// reading returns what reads every file of a run through files that note it. The server tells the warnings.
func reading(open Opener,
	read func(*wire.Setup, runspec.Spec) ([]string, error)) func(source.Files, runspec.Spec) ([]string, error) {
	return func(files source.Files, s runspec.Spec) (suites []string, err error) {
		opened, err := open(wire.Options{
			Files: files, Config: s.Config, Model: s.Model, Dry: true, Warn: func(string) {},
		})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, opened.Close()) }()
		return read(opened, s)
	}
}

// Location returns the name that the working folder has for a file of the run.
func (g Gathered) Location(file string) string {
	whole := filepath.Join(g.root, file)
	here, err := filepath.Abs(".")
	if err != nil {
		return whole
	}
	if near, err := filepath.Rel(here, whole); err == nil {
		return near
	}
	return whole
}
