package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

var _ replay.Watches = (*ReplayRuns)(nil)

// Watch returns the state of a watch, nil when there is none of the name.
func (r *ReplayRuns) Watch(ctx context.Context, name string) (*replay.WatchState, error) {
	var text string
	err := r.db.read(ctx, `SELECT state FROM exp.conversation_replay_watches WHERE name = $1`, []any{plainText(name)},
		func(row scanner) error { return row.Scan(&text) })
	if err != nil || text == "" {
		return nil, r.db.explain(ctx, "read a watch from", err)
	}
	var s replay.WatchState
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, fmt.Errorf("read watch %q in %s: %w", name, r.db.name(), err)
	}
	return &s, nil
}

// PutWatch keeps a state in place of one that had so many looks; -1 stands for none. It reports whether there was such
// a one.
func (r *ReplayRuns) PutWatch(ctx context.Context, name string, s *replay.WatchState,
	before int) (known bool, err error) {
	text, err := json.Marshal(s)
	if err != nil {
		return false, fmt.Errorf("write watch %q: %w", name, err)
	}
	query, args := `UPDATE exp.conversation_replay_watches SET state = $1, looks = $2 WHERE name = $3 AND looks = $4`,
		[]any{string(text), len(s.Interims), plainText(name), before}
	if before < 0 {
		query, args = `INSERT INTO exp.conversation_replay_watches (state, looks, name) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO NOTHING`, args[:3]
	}
	changed, err := r.db.exec(ctx, query, args...)
	return changed == 1, r.db.explain(ctx, "write a watch to", err)
}

// ReplayedSessions calls f with the id of each session of a run.
func (r *ReplayRuns) ReplayedSessions(ctx context.Context, runID string, f func(session string)) error {
	err := r.db.read(ctx, `SELECT session_id FROM exp.conversation_replay_sessions WHERE evaluation_run_id = $1`,
		[]any{plainText(runID)}, func(row scanner) error {
			var session string
			err := row.Scan(&session)
			if err == nil {
				f(session)
			}
			return err
		})
	return r.db.explain(ctx, "read replayed sessions from", err)
}
