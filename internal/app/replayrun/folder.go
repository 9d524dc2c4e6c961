package replayrun

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/fingerprint"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// BaselineDir is the folder in a replay's folder that has the baseline's conversations.
const BaselineDir = "baseline"

// folders are the run folders of a replay in this process, one for each variant: the candidate's is the folder of the
// reports, the baseline's lies in it.
type folders struct {
	run      *Run
	variants []*folder
}

// folder is the run folder of one variant, which any command reads that reads the folders of suite runs.
type folder struct {
	name, dir string
	record    result.Run
	lock      *runlog.Lock
	log       *runlog.Log
	// logged are the sessions whose records an earlier part of the run wrote.
	logged map[string]bool
}

// openFolders makes the folders of a replay. Results of another run in them are moved aside.
func (r *Run) openFolders(ctx context.Context) (f *folders, err error) {
	f = &folders{run: r}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	head := &r.evaluation.Head
	named := func(of replay.Replayed) string { return strings.TrimPrefix(of.ID, "target:") }
	f.variants = []*folder{{
		name: replay.Candidate, dir: r.Dir, record: result.Run{Targets: []string{named(head.Candidate)}},
	}}
	if head.Baseline != nil {
		f.variants = append(f.variants, &folder{
			name: replay.Baseline, dir: filepath.Join(r.Dir, BaselineDir),
			record: result.Run{Targets: []string{named(*head.Baseline)}},
		})
	}
	for _, v := range f.variants {
		if err := f.open(ctx, v); err != nil {
			return f, err
		}
	}
	return f, nil
}

// open takes the folder of a variant and opens its log.
func (f *folders) open(ctx context.Context, v *folder) (err error) {
	r := f.run
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return source.Invalid("cannot make the folder of the results: %w", err)
	}
	if v.lock, err = runlog.AcquireLock(ctx, v.dir); err != nil {
		return source.AsInvalid(err)
	}
	foreign, err := runlog.Unrelated(v.dir, map[string][]string{})
	if err == nil && foreign != "" {
		err = source.Invalid("cannot write the results: %s is there and no run has written it: move it away, or "+
			"choose another folder with --out", filepath.Join(v.dir, foreign))
	}
	if err != nil {
		return err
	}
	v.logged = map[string]bool{}
	if before, err := runlog.ReadRun(v.dir); err == nil && before.ID == r.ID && r.evaluation.Resumed {
		for t, err := range runlog.Briefs(runlog.ReadRecords(v.dir, before)) {
			if err != nil {
				return err
			}
			if t.Trial == 0 {
				v.logged[t.TestID] = true
			}
		}
		v.record.StartedAt, v.record.DurationMS = before.StartedAt, before.DurationMS
	} else if _, err := runlog.MoveAside(v.dir, marks(true)); err != nil {
		return err
	}
	now := r.config.Setup.Now().UTC()
	v.record.Schema, v.record.ID = result.Schema, r.ID
	v.record.Version, v.record.Commit = r.config.Version, r.config.Commit
	v.record.Command, v.record.Suites = r.config.Command, []string{r.config.Spec.FlowID}
	v.record.ExitReason = result.ReasonRunning
	if v.record.StartedAt.IsZero() {
		v.record.StartedAt = now
	}
	if r.checks.written != nil {
		v.record.Config = r.checks.written
	}
	if err := runlog.WriteRun(v.dir, v.record); err != nil {
		return err
	}
	if v.log, err = runlog.Open(v.dir); err != nil {
		return err
	}
	v.log.Redact = r.config.Setup.Secrets().Bytes
	return nil
}

// plan records how many sessions the run set out to replay, so that one that dies does not look finished.
func (f *folders) plan(sessions int) error {
	for _, v := range f.variants {
		v.record.Count(&result.Tallies{}, map[string]int{v.record.Targets[0]: sessions})
		if err := runlog.WriteRun(v.dir, v.record); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether the folders have the records of a session.
func (f *folders) has(session string) bool {
	for _, v := range f.variants {
		if !v.logged[session] {
			return false
		}
	}
	return true
}

// store writes the records of sessions before the sessions count as finished.
func (f *folders) store(batch []replay.PairResult) error {
	for i := range batch {
		definition, err := f.definition(&batch[i])
		if err != nil {
			return err
		}
		for _, v := range f.variants {
			for _, t := range Records(batch[i].Outcome, v.name, v.record.Targets[0], f.run.config.Setup.Now()) {
				t.RunID, t.Definition = f.run.ID, definition
				if err := v.log.Append(t); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Records returns the records of one variant's conversations in a session, with target as their target. A session that
// was replayed several times has a record for each time, and last their aggregate.
func Records(o replay.Outcome, variant, target string, now time.Time) []*result.Test {
	var all []*result.Test
	for _, t := range o.Records {
		if t.Target == variant {
			own := *t
			own.Target = target
			all = append(all, &own)
		}
	}
	if len(all) > 0 && all[0].Trial > 0 {
		test := &suite.Test{Suite: all[0].Suite, ID: all[0].TestID, Cluster: all[0].Cluster}
		test.Execution.Strict = new(true)
		all = append(all, orchestrator.Aggregate(orchestrator.Unit{Test: test, Target: target}, all, now))
	}
	return all
}

// definition is a hash of what the user sent in the log, and of the assertions.
func (f *folders) definition(h *replay.PairResult) (string, error) {
	var sent []string
	if observed := h.Pair.Variation(replay.Observed); observed != nil {
		for i := range observed.Turns {
			sent = append(sent, observed.Turns[i].User)
		}
	}
	return fingerprint.Sum(f.run.config.Setup.Secrets(), []any{h.Pair.SessionID, sent, f.run.checksSum})
}

// end records how the replay ended in each folder: the candidate's has the exit code of the replay, the baseline's that
// of its conversations. sessions is how many the run set out to replay, 0 where that is not known.
func (f *folders) end(sessions, code int, reason, message string) error {
	var errs error
	for _, v := range f.variants {
		if v.log == nil {
			continue
		}
		errs = errors.Join(errs, v.log.Close())
		v.log = nil
		records := &result.Tallies{}
		for t, err := range runlog.Briefs(runlog.ReadRecords(v.dir, v.record)) {
			if err != nil {
				errs = errors.Join(errs, err)
				break
			}
			records.Add(t)
		}
		now := f.run.config.Setup.Now().UTC()
		v.record.Count(records, map[string]int{v.record.Targets[0]: sessions})
		v.record.DurationMS += float64(now.Sub(f.run.began).Microseconds()) / 1000
		v.record.EndedAt, v.record.ExitMessage = now, message
		own, why, _ := v.record.Totals.Exit(true)
		if v.name == replay.Candidate || code == result.ExitInterrupted || code == result.ExitNotRun {
			own, why = code, reason
		}
		v.record.Ended(own, why)
		errs = errors.Join(errs, runlog.WriteRun(v.dir, v.record))
	}
	return errs
}

// close closes what is open.
func (f *folders) close() error {
	var errs error
	for _, v := range f.variants {
		if v.log != nil {
			errs = errors.Join(errs, v.log.Close())
		}
		if v.lock != nil {
			errs = errors.Join(errs, v.lock.Release())
		}
	}
	return errs
}
