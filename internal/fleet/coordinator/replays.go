package coordinator

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/fleet/worker"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/variants"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// replayID is the evaluation_run_id of a run. That of a look is its watch's to give.
func replayID(run string, spec *runspec.Spec) string {
	if spec.IsInterim() {
		return run
	}
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("rehearse run "+run)).String()
}

// openReplay opens a replay run whose files are unpacked: with the log, the variants and the results of the server's
// store.
func (s *Service) openReplay(ctx context.Context, opened *worker.Opened, spec runspec.Spec,
	change func(*replayrun.Config)) (*replayrun.Run, error) {
	c, err := replayrun.Submitted(opened.Setup, spec)
	var r *replayrun.Run
	if err == nil {
		c.Store = s.History
		change(&c)
		r, err = replayrun.Open(ctx, c)
	}
	if refused := opened.Setup.Refused(); refused != nil { // which may be why it cannot be opened
		if r != nil {
			err = r.Close()
		}
		return nil, errors.Join(refused, err)
	}
	if unknown, ok := errors.AsType[*replayrun.UnknownError](err); ok { // where the store is, is the server's own
		err = source.Invalid("%s is not in the store of the server: add it with `rehearse replay variant add`",
			unknown.What)
	}
	return r, opened.Masked(err)
}

// planReplay checks a replay run and returns what is known of it before its sessions are read.
func (s *Service) planReplay(ctx context.Context, opened *worker.Opened, spec runspec.Spec) (p Checked, err error) {
	r, err := s.openReplay(ctx, opened, spec, func(*replayrun.Config) {})
	p.programs = opened.Setup.StartsPrograms()
	if err != nil {
		return p, invalid(err)
	}
	p.Fingerprint = spec.Fingerprint()
	p.Suites, p.Targets = []string{spec.Replay.FlowID}, r.Variations()
	return p, r.Close()
}

// replay has the sessions of a run replayed that are not kept yet, and makes the report.
func (s *Service) replay(ctx context.Context, run store.Run, fence store.Fence) (_ *result.Run, err error) {
	spec, payload, err := s.offer(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	opened, err := worker.Unpack(ctx, s.Dir, spec, nil, s.rules(&spec))
	if err != nil {
		return nil, err
	}
	defer func() { err = opened.Masked(errors.Join(err, opened.Close())) }()
	returns, err := s.Conn.Lead(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	defer returns.Close()
	l, err := newActiveRun(ctx, s, run.ID, payload.Bundle, fence, returns)
	if err != nil {
		return nil, err
	}
	l.sessions = true
	quiet, err := s.Conn.Notices(run.ID, l.notice)
	if err != nil {
		return nil, err
	}
	defer quiet()
	defer l.group.Wait()
	var over context.CancelFunc
	l.passing, over = context.WithCancel(ctx)
	defer over()
	var r *replayrun.Run
	r, err = s.openReplay(ctx, opened, spec, func(c *replayrun.Config) {
		c.Spec.RunID, c.Out = replayID(run.ID, &spec), s.leadingDir(run.ID)
		c.Lead = func(e *replay.Evaluation) {
			l.target = e.Head.Run.VariantID
			// else the author bounds what is under way, wherever it is held
			places := cmp.Or(spec.Limits.Workers, s.window(ctx))
			e.Workers, e.Store, e.Known = max(places/8, 1), l.storeSessions, l.known
			e.Pool = replayrun.Pool{
				StreamConfig: orchestrator.StreamConfig{
					RunID: run.ID, Workers: places, MaxBytes: room, Queue: l, Returns: l, Log: s.Log,
				}, Commands: opened.Setup.StartsPrograms(), FailOnLost: spec.IsInterim(),
				Payload: func(ctx context.Context, session *replay.Session) ([]byte, error) {
					return s.sessionPayload(ctx, run.ID, payload, r.Definitions(), session)
				},
			}.Of(e)
		}
	})
	if err != nil {
		return nil, err
	}
	report, err := r.Run(ctx)
	err = errors.Join(err, r.Close())
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	return s.replayed(ctx, run.ID, fence, report, err)
}

// room bounds the sessions of a run that are queued or held, in bytes of their JSON; inlined is the largest session
// that goes in a job.
const (
	room    = 64 << 20
	inlined = 256 << 10
)

// sessionPayload returns what the job of a session carries.
func (s *Service) sessionPayload(ctx context.Context, run string, p payload, d replayrun.Definitions,
	session *replay.Session) ([]byte, error) {
	data, err := json.Marshal(session)
	if err != nil {
		return nil, fmt.Errorf("write session %s: %w", session.ID, err)
	}
	p.Definitions, p.Session = &d, data
	if len(data) > inlined {
		sum := sha256.Sum256(data)
		p.Session, p.SessionAt = nil, hex.EncodeToString(sum[:])
		s.offering(run, p.SessionAt)
		if err := s.Conn.PutBundle(ctx, p.SessionAt, bytes.NewReader(data)); err != nil {
			return nil, err
		}
	}
	return p.with("")
}

// replayed keeps the report of a run, and says how it ended.
func (s *Service) replayed(ctx context.Context, id string, fence store.Fence, report *replay.Report,
	failed error) (*result.Run, error) {
	switch {
	case errors.Is(failed, replay.ErrNothingReplayed):
		return s.cutShort(ctx, id, result.ExitNotRun, result.ReasonErrors, failed.Error()), nil
	case source.IsInvalid(failed):
		return s.cutShort(ctx, id, result.ExitInvalid, result.ReasonAborted, failed.Error()), nil
	case failed != nil:
		return nil, failed
	}
	var written bytes.Buffer
	if err := variants.JSON(&written, report); err != nil {
		return nil, err
	}
	if err := s.Store.PutRunFile(ctx, id, fence, store.ReplayFile, written.Bytes()); err != nil {
		return nil, err
	}
	ended := s.cutShort(ctx, id, result.ExitPassed, result.ReasonPassed, "")
	if report.Gate != nil && report.Gate.ExitCode != result.ExitPassed {
		ended.Ended(report.Gate.ExitCode, result.ReasonFailed)
	}
	return ended, nil
}

// replayReports writes the reports of a replay run into the folder with its records. A run that came to no report has
// none.
func (s *Service) replayReports(ctx context.Context, id, dir string) error {
	data, err := s.Store.RunFile(ctx, id, store.ReplayFile)
	if err != nil || data == nil {
		return err
	}
	report := &replay.Report{}
	if err := json.Unmarshal(data, report); err != nil {
		return fmt.Errorf("read the report of the run: %w", err)
	}
	return replayrun.Write(dir, report)
}

// sessionRecord is the result of a session as runs show it: it passes when the candidate ended it as the log did.
func sessionRecord(run string, h *replay.PairResult, target string) *result.Test {
	p := h.Pair
	t := &result.Test{
		Schema: result.Schema, RunID: run, Suite: p.FlowID, TestID: p.SessionID, Target: target, SessionID: p.SessionID,
		Threshold: 1, Scores: []result.Score{}, Output: []chat.Message{}, Turns: []result.Turn{},
		Failures: []result.Failure{}, StartedAt: p.Started.UTC(),
	}
	candidate := p.Variation(replay.Candidate)
	switch {
	case h.Outcome.Dropped != "" || candidate == nil || candidate.Metrics == nil:
		t.Verdict, t.ExecutionStatus = result.Error, result.ExecutionError
		t.Failures = []result.Failure{{
			Code: result.EngineError, Source: "orchestrator",
			Message: cmp.Or(h.Outcome.Dropped, "the session has no figures"),
		}}
	case candidate.Metrics.CompletionMatch == nil:
		t.Verdict, t.ExecutionStatus = result.Skip, result.OK
		t.SkipReason = "it is not known how the logged session ended, so the end of the replay says nothing"
	case *candidate.Metrics.CompletionMatch < 1:
		t.Verdict, t.ExecutionStatus = result.Fail, result.QualityFailure
		t.Failures = []result.Failure{{
			Code: result.NodeMismatch, Source: "structured",
			Message: fmt.Sprintf("wanted the end of the log, which is %s; the replay ended otherwise", p.Outcome),
		}}
	default:
		t.Score, t.Verdict, t.ExecutionStatus = 1, result.Pass, result.OK
	}
	if candidate != nil {
		for i := range candidate.Turns {
			t.Turns = append(t.Turns, turnOf(i+1, &candidate.Turns[i]))
			t.Cost = t.Cost.Add(candidate.Turns[i].Cost)
		}
	}
	return t
}

// turnOf returns a turn of a lane as records have it.
func turnOf(index int, t *replay.VariationTurn) result.Turn {
	turn := result.Turn{
		Index: index, Input: chat.Content{Text: t.User}, Output: t.Bot, Attempts: 1, Node: t.State, Cost: t.Cost,
	}
	if t.LatencyMS != nil {
		turn.LatencyMS = result.Milliseconds(*t.LatencyMS)
	}
	return turn
}

// plannedSessions returns how many sessions a replay run set out to replay; nil until that is known.
func (s *Service) plannedSessions(ctx context.Context, id string) (map[string]int, error) {
	run, err := s.Store.Run(ctx, id)
	if err != nil || run.Progress.Conversations == nil || len(run.Targets) == 0 {
		return nil, err
	}
	return map[string]int{run.Targets[0]: *run.Progress.Conversations}, nil
}
