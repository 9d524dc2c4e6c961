package worker

import (
	"log/slog"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// jobLog returns the log of everything about one job.
func (w *Worker) jobLog(j orchestrator.Job, attempt int) *slog.Logger {
	log := w.Log.With("run_id", j.Run, "suite", j.Key.Suite, "test_case_id", j.Key.TestID, "target",
		wire.Shown(j.Key.Target))
	if j.Key.Trial > 0 {
		log = log.With("trial", j.Key.Trial)
	}
	if attempt > 1 {
		log = log.With("attempt", attempt)
	}
	return log
}

// logCompleted logs what came of a conversation: its ids, its verdict and its duration, and nothing that was said.
func logCompleted(log *slog.Logger, t *result.Test, o *natsconn.Return) {
	if t == nil {
		if o.Record != nil {
			log.Info("a session was replayed", "duration_ms", o.EndedAt.Sub(o.StartedAt).Milliseconds())
		}
		return
	}
	fields := []any{
		"verdict", t.Verdict, "duration_ms", o.EndedAt.Sub(o.StartedAt).Milliseconds(), "turns", len(t.Turns),
	}
	if t.ConversationID != "" {
		fields = append(fields, "conversation_id", t.ConversationID, "trace_id", trace.ID(t.ConversationID))
	}
	if codes := t.Codes(); len(codes) > 0 {
		fields = append(fields, "codes", codes)
	}
	log.Info("a conversation was held", fields...)
}
