package evaluation

import (
	"cmp"
	"os"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// WriteImported writes trials that another program ran as a finished run in dir, with an aggregate for each test and
// all reports, and returns the report. A folder that has a run already is an input error.
func WriteImported(s *wire.Setup, dir string, run result.Run, trials []*result.Test) (*report.Report, error) {
	if runlog.IsRun(dir) {
		return nil, source.Invalid("%s has a run: choose another folder", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, source.AsInvalid(err)
	}
	now := s.Now()
	run.Schema, run.ID, run.Commit, run.StartedAt, run.EndedAt = result.Schema, RunID(now), Commit(),
		now.UTC(), now.UTC()
	log, err := runlog.Open(dir)
	if err != nil {
		return nil, err
	}
	log.Redact = s.Secrets().Bytes
	var records result.Tallies
	add := func(t *result.Test) error {
		t.RunID = run.ID
		records.Add(t)
		return log.Append(t)
	}
	of := map[result.Key][]*result.Test{}
	var tests []result.Key
	for _, t := range trials {
		key := t.Key()
		key.Trial = 0
		if of[key] == nil {
			tests = append(tests, key)
		}
		of[key] = append(of[key], t)
		if err := add(t); err != nil {
			return nil, err
		}
	}
	for _, key := range tests {
		all := of[key]
		slices.SortFunc(all, func(a, b *result.Test) int { return cmp.Compare(a.Trial, b.Trial) })
		test := &suite.Test{Suite: key.Suite, ID: key.TestID}
		test.Execution.Threshold = &all[0].Threshold
		test.Execution.Trials = suite.Trials{Count: len(all), Strategy: suite.MeanScore}
		if err := add(orchestrator.Aggregate(orchestrator.Unit{Test: test, Target: key.Target}, all, now)); err != nil {
			return nil, err
		}
	}
	if err := log.Close(); err != nil {
		return nil, err
	}
	run.Count(&records, nil)
	code, reason, message := run.Totals.Exit(false)
	run.Ended(code, reason)
	run.ExitMessage = message
	r := report.New(run, runlog.ReadRecords(dir, result.Run{}))
	if err := r.Write(dir, report.Formats()); err != nil {
		return nil, err
	}
	return r, runlog.WriteRun(dir, run)
}
