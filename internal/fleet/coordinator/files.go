package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/fleet/worker"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// leadingDir is the folder in which a leader keeps the log and the reports of a run while it leads it.
func (s *Service) leadingDir(id string) string { return filepath.Join(s.Dir, "runs", id) }

// endedDir is the folder with the files of a run that has ended. It can be made anew from the store.
func (s *Service) endedDir(id string) string { return filepath.Join(s.Dir, "ended", id) }

// reports are those that a run of a server has.
var reports = []string{"html", "md", "junit"}

// keepRecord keeps the run.json of a run for all servers.
func (s *Service) keepRecord(ctx context.Context, id string, fence store.Fence, ended *result.Run) error {
	data, err := json.Marshal(ended)
	if err != nil {
		return fmt.Errorf("write the record of the run: %w", err)
	}
	return s.Store.PutRunFile(ctx, id, fence, runlog.RunFile, data)
}

// keepFiles keeps the files of a run that has ended, so that they need not be made anew.
func (s *Service) keepFiles(id string) {
	err := os.MkdirAll(filepath.Dir(s.endedDir(id)), 0o700)
	if err == nil {
		err = os.Rename(s.leadingDir(id), s.endedDir(id))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Log.Warn("the reports of the run are made anew when they are asked for", "run_id", id, "error", err)
	}
}

// RemoveFiles removes what this server has on its disk of a run that is in the store no more.
func (s *Service) RemoveFiles(id string) error {
	return errors.Join(os.RemoveAll(s.leadingDir(id)), os.RemoveAll(s.endedDir(id)))
}

// Files returns the folder with run.json, results.jsonl and the reports of a run that has ended, whichever server has
// led it. The error of one that has not ended is store.ErrRunUnfinished.
func (s *Service) Files(ctx context.Context, id string) (dir string, err error) {
	run, err := s.Store.Run(ctx, id)
	if err != nil {
		return "", err
	}
	if !run.Status.Ended() {
		return "", fmt.Errorf("the files of run %s: %w", run.ID, store.ErrRunUnfinished)
	}
	dir = s.endedDir(run.ID)
	stamps, err := s.Store.Stamps(ctx)
	if err != nil {
		return "", err
	}
	if err := s.dropErased(run.ID, stamps); err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, runlog.RunFile)); err == nil {
		return dir, nil
	}
	_, err, _ = s.making.Do(run.ID, func() (any, error) { return nil, s.makeFiles(ctx, run, dir, stamps[run.ID]) })
	return dir, err
}

// making begins the names of folders with files that are made just now.
const making = "making-"

// stampFile is the file beside those of a run with the stamp that it had when they were made.
const stampFile = "erased"

// dropErased removes what this server has on its disk of a run that has ended, where it has words that are erased: a
// session was erased since it was made.
func (s *Service) dropErased(id string, stamps map[string]string) error {
	stamp, erased := stamps[id]
	if !erased {
		return nil
	}
	made, err := os.ReadFile(filepath.Join(s.endedDir(id), stampFile))
	if err == nil && string(made) == stamp {
		return os.RemoveAll(s.leadingDir(id))
	}
	return s.RemoveFiles(id)
}

// makeFiles makes the files of a run from what is stored. The stamp is one that the run had before.
func (s *Service) makeFiles(ctx context.Context, run store.Run, dir, stamp string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("make the files of run %s: %w", run.ID, err)
		}
	}()
	record, err := s.record(ctx, run)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	made, err := os.MkdirTemp(filepath.Dir(dir), making)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(made) }() // there is nothing left of it, or it is worth nothing
	if err := s.writeLog(ctx, run.ID, made); err != nil {
		return err
	}
	if err := runlog.WriteRun(made, record); err != nil {
		return err
	}
	if err := report.New(record, runlog.ReadRecords(made, record)).
		Write(made, report.Formats().Choose(reports)); err != nil {
		return err
	}
	switch run.Kind {
	case runspec.KindClassify:
		err = s.classified(ctx, run.ID, record, made)
		if err != nil && run.Status == store.RunFailed && !store.IsUnavailable(err) && ctx.Err() == nil {
			err = nil // what kept the run from being held keeps it from being opened again; its record says why
		}
	case runspec.KindReplay:
		err = s.replayReports(ctx, run.ID, made)
	}
	if err != nil {
		return err
	}
	if stamp != "" {
		if err := os.WriteFile(filepath.Join(made, stampFile), []byte(stamp), 0o600); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(made, dir)
}

// classified writes the reports of a classification into the folder with its records.
func (s *Service) classified(ctx context.Context, id string, record result.Run, dir string) (err error) {
	spec, err := s.spec(ctx, id)
	if err != nil {
		return err
	}
	opened, err := worker.Unpack(ctx, s.Dir, spec, s.Store.Blob, s.Setup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	classified, _, err := worker.Planned(evaluation.Config{Setup: opened.Setup, Spec: spec})
	if err != nil {
		return err
	}
	reports, err := classified.Decide(&record, dir)
	if err != nil {
		return err
	}
	return reports()
}

// record returns the run.json of a run. One that was cancelled while it waited has none: nobody has led it.
func (s *Service) record(ctx context.Context, run store.Run) (record result.Run, err error) {
	data, err := s.Store.RunFile(ctx, run.ID, runlog.RunFile)
	switch {
	case err != nil:
		return record, err
	case data != nil:
		return record, json.Unmarshal(data, &record)
	case run.ExitReason == nil || run.ExitCode == nil:
		return record, errors.New("it does not say how it ended")
	}
	why := ""
	if run.Error != nil { // it could not be begun
		why = *run.Error
	}
	return *s.cutShort(ctx, run.ID, *run.ExitCode, *run.ExitReason, why), nil
}

// cutShort returns the record of a run that could not be led to its end. It counts what is stored. A store that is away
// is waited for.
func (s *Service) cutShort(ctx context.Context, id string, code int, reason, message string) *result.Run {
	for {
		r, err := s.countStored(ctx, id)
		if store.IsUnavailable(err) && natsconn.Pause(ctx, time.Second) == nil {
			continue
		}
		r.Ended(code, reason)
		r.ExitMessage = message
		return r
	}
}

// countStored returns the record of a run by what is stored of it. An error says what could not be counted.
func (s *Service) countStored(ctx context.Context, id string) (*result.Run, error) {
	r := &result.Run{
		Schema: result.Schema, ID: id, Version: s.Version, Commit: evaluation.Commit(), StartedAt: s.Now().UTC(),
		EndedAt: s.Now().UTC(),
	}
	run, unknown := s.Store.Run(ctx, id)
	if unknown == nil {
		r.Fingerprint, r.Suites, r.Targets, r.StartedAt = run.Fingerprint, run.Suites, run.Targets, run.CreatedAt
		if run.StartedAt != nil {
			r.StartedAt = *run.StartedAt
		}
		if run.EndedAt != nil {
			r.EndedAt = *run.EndedAt
		}
	}
	r.DurationMS = float64(r.EndedAt.Sub(r.StartedAt).Microseconds()) / 1000
	records, has := &result.Tallies{}, map[result.Key]bool{}
	var uncounted error
	for stored, err := range s.Store.AllResults(ctx, id, store.ResultFilter{}) {
		if err != nil {
			uncounted = err
			r.Warnings = append(r.Warnings, "not all results are counted: "+err.Error())
			break
		}
		if t, err := runlog.Decode(stored.Record); err == nil {
			records.Add(t)
			if t.Trial == 0 { // the record of a whole test
				has[t.Key()] = true
			}
		}
	}
	planned, notRun, unplanned := s.planned(ctx, id, func(key result.Key) bool { return has[key] })
	if unplanned != nil {
		r.Warnings = append(r.Warnings, "it is not known how many tests the run set out to hold")
	}
	r.Count(records, planned)
	r.NotRun = notRun
	return r, errors.Join(unknown, uncounted, unplanned)
}

// planned returns how many tests a run set out to hold with each target, and which of them have no record.
func (s *Service) planned(ctx context.Context, id string,
	has func(result.Key) bool) (byTarget map[string]int, notRun []result.Key, err error) {
	spec, err := s.spec(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if spec.Kind == runspec.KindReplay {
		byTarget, err = s.plannedSessions(ctx, id)
		return byTarget, nil, err
	}
	p, err := s.plan(ctx, spec, nil, func(e *evaluation.Evaluation) { notRun = e.NotRun(has) })
	return p.ByTarget, notRun, err
}

// writeLog writes the stored results of a run as its log.
func (s *Service) writeLog(ctx context.Context, id, dir string) error {
	log, err := runlog.Open(dir)
	if err != nil {
		return err
	}
	for r, err := range s.Store.AllResults(ctx, id, store.ResultFilter{}) {
		if err == nil {
			err = log.Write(r.Record)
		}
		if err != nil {
			return errors.Join(err, log.Close())
		}
	}
	return log.Close()
}
