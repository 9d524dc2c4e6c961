package replayrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Pool says how the sessions of an evaluation become jobs.
type Pool struct {
	orchestrator.StreamConfig
	// Payload returns what workers elsewhere replay a session by; nil where sessions are replayed in this process.
	Payload func(ctx context.Context, s *replay.Session) ([]byte, error)
	// Commands is true when replaying starts programs.
	Commands bool
	// FailOnLost ends the run at a session that could not be replayed, which otherwise is lost: whoever keeps a watch
	// replays it then, since a worker without what the agents need is no fault of theirs.
	FailOnLost bool
}

// Of returns what starts the crew of an evaluation.
func (c Pool) Of(e *replay.Evaluation) func(context.Context) replay.WorkerPool {
	return func(ctx context.Context) replay.WorkerPool {
		c.Kind = orchestrator.KindReplay
		return &pool{
			Pool: c, stream: orchestrator.NewStream(ctx, c.StreamConfig), run: &e.Head.Run, replayer: e.Replayer,
			measuring: e.Measuring,
		}
	}
}

// LocalPool returns what starts a crew in this process: as many sessions at once as the evaluation has workers, by a
// queue in memory.
func LocalPool(e *replay.Evaluation, log *slog.Logger) func(context.Context) replay.WorkerPool {
	return func(ctx context.Context) replay.WorkerPool {
		places := max(e.Workers, 1)
		here := Pool{StreamConfig: orchestrator.StreamConfig{
			RunID: e.Head.Run.ID, Workers: places, Queue: queue.NewMemory(places), Log: log,
		}}
		return here.Of(e)(ctx)
	}
}

// pool has sessions replayed as jobs of a queue.
type pool struct {
	Pool
	stream    *orchestrator.Stream
	run       *replay.Run
	replayer  *replay.Replayer
	measuring replay.Measuring
}

var _ replay.WorkerPool = (*pool)(nil)

// key is the key of the job of a session.
func (c *pool) key(s *replay.Session) result.Key {
	return result.Key{Suite: c.run.FlowID, TestID: s.ID, Target: c.run.VariantID}
}

// Begin implements replay.WorkerPool.
func (c *pool) Begin(ctx context.Context, s *replay.Session, ended func(replay.PairResult)) error {
	var here replay.PairResult
	return c.stream.Begin(ctx, orchestrator.Item{
		Key: c.key(s), Commands: c.Commands, Cost: float64(s.Turns()),
		Run: func(ctx context.Context) (err error) {
			here, err = c.replayer.Run(ctx, s, c.measuring)
			return err
		},
		Payload: func(ctx context.Context) ([]byte, error) { return c.Payload(ctx, s) },
		Ended:   func(r orchestrator.Return) { ended(c.held(s, here, r)) },
	})
}

// Pass implements replay.WorkerPool.
func (c *pool) Pass(s *replay.Session) { c.stream.Pass(c.key(s)) }

// Close implements replay.WorkerPool.
func (c *pool) Close() { c.stream.Close() }

// held returns what became of a session that was replayed here, or of which a worker elsewhere has sent something. One
// that could not be replayed, or whose result cannot be read, is lost.
func (c *pool) held(s *replay.Session, here replay.PairResult, r orchestrator.Return) replay.PairResult {
	h, why := here, r.Fault
	if r.Body != nil && why == "" {
		h, why = c.sent(s, r)
	}
	switch {
	case why != "" && c.FailOnLost:
		r.Err = errors.Join(r.Err, fmt.Errorf("session %s: %s", s.ID, why))
	case why != "":
		var err error
		if h, err = c.replayer.Lost(s, why); err != nil {
			r.Err = errors.Join(r.Err, err)
		}
	}
	h.Worker, h.Settle, h.Err = r.Worker, r.Settle, errors.Join(h.Err, r.Err)
	return h
}

// sent reads what a worker has sent of a session, or says why that is no result of it.
func (c *pool) sent(s *replay.Session, r orchestrator.Return) (h replay.PairResult, why string) {
	var o replay.Outcome
	err := json.Unmarshal(r.Body, &o)
	if err == nil {
		o.SessionID = s.ID // a worker may have masked it
		h, err = replay.PairResultOf(o)
	}
	if err != nil || !c.replayer.Complete(h.Pair) {
		return h, "worker " + r.Worker + " sent what is no result of the session"
	}
	h.Pair.SessionID, h.Pair.FlowID = s.ID, s.FlowID
	return h, ""
}
