package main

import (
	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/data/importer"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// importRun writes the finished trials of another tool as a run and prints its summary. The exit code is 0 whatever the
// trials came to.
func importRun(env *Env, format string, files []string, dir string, hasSuite bool) error {
	switch {
	case hasSuite:
		return usage("--run and --suite exclude each other: import twice")
	case format != "tau-bench":
		return usage("--run needs the format tau-bench, got %q", format)
	}
	trials, err := importer.Outcomes(files)
	if err != nil {
		return outcome(err)
	}
	s, err := env.open(wire.Options{})
	if err != nil {
		return outcome(err)
	}
	defer env.closed(s)
	run := result.Run{
		Version: version(), Command: append([]string{"import", format}, files...), Suites: files,
		Targets: []string{"recorded"},
	}
	r, err := evaluation.WriteImported(s, dir, run, trials)
	if err != nil {
		return outcome(err)
	}
	return r.Text(env.Stdout, report.TextOptions{Quiet: true, Dir: dir})
}
