package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

var _ replay.Watches = (*ReplayRuns)(nil)

// watchTable is the part of the watches that differs between databases.
type watchTable interface {
	// watch returns the state of a watch, empty when there is none.
	watch(ctx context.Context, name string) (state string, err error)
	// putWatch writes a state in place of one with so many looks; -1 stands for none.
	putWatch(ctx context.Context, name, state string, looks, before int) (known bool, err error)
	// sessions hands the ids of the sessions of a run.
	sessions(ctx context.Context, run string, take func(session string)) error
}

// Watch returns the state of a watch, nil when there is none of the name.
func (r *ReplayRuns) Watch(ctx context.Context, name string) (*replay.WatchState, error) {
	text, err := r.table.watch(ctx, plainText(name))
	if err != nil || text == "" {
		return nil, err
	}
	var s replay.WatchState
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, fmt.Errorf("read watch %q in %s: %w", name, r.table.place(), err)
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
	return r.table.putWatch(ctx, plainText(name), string(text), len(s.Interims), before)
}

// ReplayedSessions calls f with the id of each session of a run.
func (r *ReplayRuns) ReplayedSessions(ctx context.Context, runID string, f func(session string)) error {
	return r.table.sessions(ctx, plainText(runID), f)
}

func (t sqliteReplayRuns) watch(ctx context.Context, name string) (state string, err error) {
	err = t.store.each(ctx, `SELECT state FROM conversation_replay_watches WHERE name = ?`, []any{name},
		func(rows *sql.Rows) error { return rows.Scan(&state) })
	return state, t.store.explain(ctx, "read a watch from", err)
}

func (t sqliteReplayRuns) putWatch(ctx context.Context, name, state string, looks, before int) (known bool, err error) {
	err = t.store.write(ctx, func(tx *sql.Tx) error {
		query, args := `UPDATE conversation_replay_watches SET state = ?1, looks = ?2 WHERE name = ?3 AND looks = ?4`,
			[]any{state, looks, name, before}
		if before < 0 {
			query, args = `INSERT INTO conversation_replay_watches (state, looks, name) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO NOTHING`, args[:3]
		}
		done, err := tx.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		known = n == 1
		return err
	})
	return known, t.store.explain(ctx, "write a watch to", err)
}

func (t sqliteReplayRuns) sessions(ctx context.Context, run string, take func(string)) error {
	err := t.store.each(ctx, `SELECT session_id FROM conversation_replay_sessions WHERE evaluation_run_id = ?`, []any{
		run,
	}, func(rows *sql.Rows) error {
		var session string
		err := rows.Scan(&session)
		take(session)
		return err
	})
	return t.store.explain(ctx, "read replayed sessions from", err)
}

func (t postgresReplayRuns) watch(ctx context.Context, name string) (state string, err error) {
	err = t.db.pool.QueryRow(ctx, `SELECT state FROM exp.conversation_replay_watches WHERE name = $1`, name).
		Scan(&state)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return state, t.explain(ctx, "read a watch from", err)
}

func (t postgresReplayRuns) putWatch(ctx context.Context, name, state string,
	looks, before int) (known bool, err error) {
	query, args := `UPDATE exp.conversation_replay_watches SET state = $1, looks = $2 WHERE name = $3 AND looks = $4`,
		[]any{state, looks, name, before}
	if before < 0 {
		query, args = `INSERT INTO exp.conversation_replay_watches (state, looks, name) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING`, args[:3]
	}
	done, err := t.db.pool.Exec(ctx, query, args...)
	return err == nil && done.RowsAffected() == 1, t.explain(ctx, "write a watch to", err)
}

func (t postgresReplayRuns) sessions(ctx context.Context, run string, take func(string)) error {
	rows, err := t.db.pool.Query(ctx,
		`SELECT session_id FROM exp.conversation_replay_sessions WHERE evaluation_run_id = $1`, run)
	if err != nil {
		return t.explain(ctx, "read replayed sessions from", err)
	}
	var session string
	_, err = pgx.ForEachRow(rows, []any{&session}, func() error {
		take(session)
		return nil
	})
	return t.explain(ctx, "read replayed sessions from", err)
}
