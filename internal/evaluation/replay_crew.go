package evaluation

import (
	"context"
	"errors"
	"log/slog"

	"rehearse/internal/orchestrator"
	"rehearse/internal/queue"
	"rehearse/internal/replay"
	"rehearse/internal/result"
)

// crew has sessions replayed as jobs of a queue, in this process.
type crew struct {
	*orchestrator.Stream
	run      *replay.Run
	replayer *replay.Replayer
	side     replay.Side
}

var _ replay.Crew = (*crew)(nil)

// Crew returns what replays the sessions of an evaluation in this process: so many at once, as jobs of a queue in memory.
func Crew(e *replay.Evaluation, log *slog.Logger) func(context.Context) replay.Crew {
	return func(ctx context.Context) replay.Crew {
		places := max(e.Workers, 1)
		return &crew{
			Stream: orchestrator.NewStream(ctx, orchestrator.StreamConfig{
				RunID: e.Head.Run.ID, Kind: orchestrator.KindReplay, Places: places, Queue: queue.NewMemory(places), Log: log,
			}),
			run: &e.Head.Run, replayer: e.Replayer, side: e.Side,
		}
	}
}

// sessionKey is the key of the job of a session.
func sessionKey(run *replay.Run, session string) result.Key {
	return result.Key{Suite: run.FlowID, TestID: session, Target: run.VariantID}
}

// Begin implements replay.Crew.
func (c *crew) Begin(ctx context.Context, s *replay.Session, ended func(replay.Held)) error {
	var held replay.Held
	return c.Stream.Begin(ctx, orchestrator.Item{
		Key: sessionKey(c.run, s.ID),
		Hold: func(ctx context.Context) (err error) {
			held, err = c.replayer.Hold(ctx, s, c.side)
			return err
		},
		Ended: func(r orchestrator.Return) {
			if r.Fault != "" {
				held, r.Err = c.replayer.Lost(s, r.Fault)
			}
			held.Err = errors.Join(held.Err, r.Err)
			ended(held)
		},
	})
}

// Pass implements replay.Crew.
func (c *crew) Pass(s *replay.Session) { c.Stream.Pass(sessionKey(c.run, s.ID)) }
