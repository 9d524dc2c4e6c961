// Package replayrun holds replays of logged conversations: it opens the log and the agents, has the engine of package
// replay play them, keeps what comes of it and writes the reports. A watch is a replay that looks again whenever the
// log has grown.
package replayrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Config says what is replayed, and where its results go.
type Config struct {
	Setup *wire.Setup
	Spec  replay.Spec
	// Store is the address of the log, of the variants and of the results.
	Store string
	// Log is the address of a database that has the log, which is only read; empty takes that of the store. Query finds
	// its rows.
	Log, Query string
	// Flows is the folder, or the file, of the flows that variants name, among the files of the setup. Prompts is the
	// folder of their prompts on the disk.
	Flows, Prompts string
	// Out is the folder of the reports; empty means one of the run's own below wire.StateDir.
	Out string
	// Assert is a file of assertions that every conversation must meet, among the files of the setup; empty for none.
	Assert string
	// Command, Version and Commit are written into run.json.
	Command         []string
	Version, Commit string
	// Sessions also writes each session in all its lanes to sessions.jsonl in that folder.
	Sessions bool
	// Lead, if set, says how a server leads the run: its crew, and where else sessions are kept. Nobody else holds the
	// run then.
	Lead func(*replay.Evaluation)
	// Interim makes the run an interim analysis of a watch of another process; nil for a run by days.
	Interim *runspec.Interim
	// Variants are the variants and prompts of whoever has no store.
	Variants replay.Variants
	// Progress is told now and then how many sessions are done, from one goroutine at a time; nil is allowed.
	Progress func(done int)
}

// Run is a replay run that is ready to be held. Close it.
type Run struct {
	// ID is the run's, Dir the folder of its reports.
	ID, Dir string

	config     Config
	history    *storage.History
	log        *storage.Log // nil where the history has the log
	noting     *RecordingVariants
	evaluation *replay.Evaluation
	// former is the row of the run that goes on; nil for a new one.
	former *replay.Run
	// checks are the assertions, and checksSum their hash; empty without any.
	checks    writtenChecks
	checksSum string
	guard     runner.Guard
	// sessions is how many the run set out to replay, once that is known.
	sessions int
	began    time.Time
}

// Open opens the log and both agents, and finds the run that goes on. Nothing is replayed yet.
func Open(ctx context.Context, c Config) (*Run, error) {
	if err := c.Spec.Check(); err != nil {
		return nil, err
	}
	if c.Spec.Judge != "" && c.Spec.BaselineID == "" && c.Assert == "" {
		return nil, source.Invalid("--judge compares replies with those of a baseline, and grades assertions: " +
			"add --baseline or --assert")
	}
	log, err := openLog(ctx, &c)
	if err != nil {
		return nil, err
	}
	find := storage.FindHistory
	if log != nil {
		find = storage.OpenHistory
	}
	h, err := find(ctx, c.Store)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	r := &Run{config: c, history: h, log: log, noting: NewRecordingVariants(h.Variants)}
	r.config.Variants = r.noting
	if err := r.open(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Definitions returns the variants and the prompts that are replayed.
func (r *Run) Definitions() Definitions { return r.noting.Noted() }

// Variations returns the names of the agents that are replayed, the candidate first.
func (r *Run) Variations() []string {
	run := &r.evaluation.Head.Run
	if run.BaselineID == "" {
		return []string{run.VariantID}
	}
	return []string{run.VariantID, run.BaselineID}
}

// Close closes the store and the log.
func (r *Run) Close() error {
	r.guard.Close()
	return errors.Join(r.history.Close(), r.log.Close())
}

func (r *Run) open(ctx context.Context) error {
	c := &r.config
	if _, err := r.history.Runs.Sweep(ctx, c.Setup.Now()); err != nil {
		return err
	}
	if err := r.agents(ctx); err != nil {
		return err
	}
	e := r.evaluation
	e.Events, e.Runs, e.Now, e.Replayer.Now, e.Progress = r.history.Events, r.history.Runs, c.Setup.Now,
		c.Setup.Now, c.Progress
	if r.log != nil {
		e.Events = r.log
	}
	e.Pool = LocalPool(e, c.Setup.Log)
	if c.Lead != nil {
		c.Lead(e)
	}
	if err := r.identify(ctx); err != nil {
		return err
	}
	if c.Interim != nil {
		if err := r.looks(ctx, c.Interim); err != nil {
			return err
		}
	}
	r.ID, r.Dir = e.Head.Run.ID, c.Out
	if r.Dir == "" {
		r.Dir = filepath.Join(wire.StateDir, "replays", r.ID)
	}
	return nil
}

// agents opens what is replayed, and the simulated user.
func (r *Run) agents(ctx context.Context) error {
	c := &r.config
	from := &opener{&Variants{Setup: c.Setup, Store: c.Variants, Flows: c.Flows, Prompts: c.Prompts}, c.Spec.Mode}
	candidate, err := from.open(ctx, c.Spec.VariantID)
	if err != nil {
		return err
	}
	var baseline *replay.Opened
	if c.Spec.BaselineID != "" {
		if baseline, err = from.open(ctx, c.Spec.BaselineID); err != nil {
			return err
		}
	}
	var user replay.User
	if c.Spec.User != "" {
		model, err := c.Setup.Model(c.Spec.User)
		if err != nil {
			return err
		}
		user = &replay.ModelUser{Model: model}
	}
	if c.Assert != "" {
		if r.checks, err = readChecks(c.Setup.Files, c.Assert); err != nil {
			return err
		}
		if err := r.checks.open(c.Setup, c.Spec.Judge); err != nil {
			return err
		}
		if r.checksSum, err = r.checks.fingerprint(c.Setup, c.Assert, c.Spec.Judge); err != nil {
			return err
		}
		c.Spec.Assertions = map[string]any{"sum": r.checksSum}
		maps.Copy(c.Spec.Assertions, r.checks.written)
	}
	var judge replay.ReplyJudge
	if c.Spec.Judge != "" && baseline != nil {
		judging := wire.Judging{Name: c.Spec.Judge}
		opened, err := c.Setup.Judge(judging)
		if err != nil {
			return err
		}
		definition, err := c.Setup.JudgeDefinition(judging)
		if err != nil {
			return err
		}
		judge = replay.ReplyJudge{Judge: opened, Definition: definition}
	}
	if r.evaluation, err = c.Spec.Evaluation(candidate, baseline, user, judge); err != nil {
		return err
	}
	r.guard.Log = c.Setup.Log
	r.evaluation.Replayer.Checks, r.evaluation.Replayer.Guard = r.checks.Checks, &r.guard
	return nil
}

// alive is how long a run that goes on may have said nothing; it says so every second.
const alive = 15 * time.Second

// errElsewhere says that another process holds a run.
var errElsewhere = errors.New("still goes on elsewhere")

// isActive reports whether another process is replaying a run.
func isActive(run *replay.Run, now time.Time) bool {
	return run.Status == replay.Running && now.Sub(run.Seen) < alive
}

// identify gives the run its id, or finds the run that goes on.
func (r *Run) identify(ctx context.Context) error {
	run := &r.evaluation.Head.Run
	if run.ID == "" {
		run.ID = uuid.NewString()
		return nil
	}
	if _, err := uuid.Parse(run.ID); err != nil {
		return source.Invalid("--evaluation_run_id %q is no UUID: leave it out for a new one", run.ID)
	}
	former, err := r.history.Runs.Run(ctx, run.ID)
	switch {
	case errors.Is(err, replay.ErrUnknown):
		return nil
	case err != nil:
		return err
	case r.config.Lead == nil && isActive(&former, r.config.Setup.Now()):
		return elsewhere(run.ID)
	case !source.SameJSON(run.Settings, former.Settings):
		return source.Invalid("run %s was another one: its variants, targets, flows, prompts or days differ; "+
			"leave --evaluation_run_id out for a new run", run.ID)
	}
	r.evaluation.Resumed, r.former = true, &former
	return nil
}

func elsewhere(id string) error {
	return source.Invalid("run %s %w: wait for it, or until it has been silent for %s", id, errElsewhere, alive)
}

// claim makes a run with a given id this process's: of several that begin it at once, one does. A server leads its runs
// by its leases.
func (r *Run) claim(ctx context.Context) error {
	if r.config.Lead != nil || r.config.Spec.RunID == "" {
		return nil
	}
	row := r.evaluation.Head.Run
	row.Status, row.Started = replay.Running, r.config.Setup.Now()
	row.Seen = row.Started
	claimed, err := r.history.Runs.ClaimRun(ctx, row, r.former)
	if err == nil && !claimed {
		err = elsewhere(r.ID)
	}
	return err
}

// Run replays the sessions and writes the reports. Results are kept in the store as they are finished. An error says
// that there is no report and, where the run can go on, how.
func (r *Run) Run(ctx context.Context) (_ *replay.Report, err error) {
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return nil, source.Invalid("cannot make the folder of the reports: %w", err)
	}
	if err := r.claim(ctx); err != nil { // before the reports of another process are taken away
		return nil, err
	}
	if r.config.Lead != nil { // a server has records of its own
		return r.finish(ctx)
	}
	r.began = r.config.Setup.Now()
	f, err := r.openFolders(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	r.evaluation.Store, r.evaluation.Logged = f.store, f.has
	r.evaluation.Planned = func(sessions int) error {
		r.sessions = sessions
		return f.plan(sessions)
	}
	report, err := r.finish(ctx)
	code, reason := result.ExitNotRun, result.ReasonAborted
	switch {
	case ctx.Err() != nil:
		code, reason = result.ExitInterrupted, result.ReasonInterrupted
	case err == nil:
		code, reason = report.ExitCode(), result.ReasonPassed
		if code != result.ExitPassed {
			reason = result.ReasonFailed
		}
	}
	message := ""
	if err != nil {
		message = r.config.Setup.Secrets().Text(err.Error())
	}
	return report, errors.Join(err, f.end(r.sessions, code, reason, message))
}

// finish replays the sessions that are left and writes the reports.
func (r *Run) finish(ctx context.Context) (*replay.Report, error) {
	if err := Clear(r.Dir, r.config.Sessions); err != nil {
		return nil, err
	}
	report, err := r.evaluate(ctx)
	switch {
	case err == nil:
		return report, Write(r.Dir, report)
	case errors.Is(err, replay.ErrNoSessions):
		place := r.config.Store
		if r.config.Lead != nil { // its address is the server's own
			place = "the store of the server"
		}
		var table replay.LogToFigures
		if nothing, ok := errors.AsType[*replay.NothingError](err); ok {
			table = nothing.Table
		}
		if r.log != nil {
			return nil, source.Invalid("the log has no conversation of flow %q on these days:\n  %s",
				r.config.Spec.FlowID, strings.Join(table.Lines(), "\n  "))
		}
		return nil, r.config.Spec.Nothing(ctx, r.evaluation.Events, place, table)
	case errors.Is(err, replay.ErrNothingReplayed):
		return nil, fmt.Errorf(
			"%w: a lane failed in each of them%s; the table exp.conversation_replay_sessions says why (run %s)", err,
			firstLoss(report), r.ID)
	}
	return nil, fmt.Errorf("%w (what was replayed is kept: go on with --evaluation_run_id %s)", err, r.ID)
}

// firstLoss is why the first session was lost; empty where that is not known.
func firstLoss(report *replay.Report) string {
	if report == nil || len(report.Sessions) == 0 || report.Sessions[0].Dropped == "" {
		return ""
	}
	return ", as in " + report.Sessions[0].SessionID + " the " + text.OneLine(report.Sessions[0].Dropped, maxLoss)
}

// maxLoss bounds what an error says of a lost session.
const maxLoss = 300
