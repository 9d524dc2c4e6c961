package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// ReplayRuns returns the runs of replay that the store keeps. They end with the store. Runs of suites are in
// Store.Runs.
func (s *Store) ReplayRuns() *ReplayRuns { return &ReplayRuns{table: sqliteReplayRuns{s}} }

// sqliteReplayRuns are the tables of a file.
type sqliteReplayRuns struct{ store *Store }

func (t sqliteReplayRuns) place() string { return fileName(t.store.path) }

// replayRunColumns are in the order in which rows are put and read.
const replayRunColumns = `evaluation_run_id, variant_id, baseline_variant_id, flow_id, dataset_version, mode, gate, status, error,
	completion_match_score, turn_count_ratio, state_progression_match, avg_latency_ms, completion_time_seconds, data_collection_accuracy,
	support_coverage, sessions, pairs_dropped, is_better_than_baseline, non_inferior, verdict, outcome, intervals, settings, rules, fidelity, started_at, seen_at, ended_at`

func (t sqliteReplayRuns) putRun(ctx context.Context, r replayRunRow) error {
	err := t.store.write(ctx, func(tx *sql.Tx) error { return replaceRun(ctx, tx, r) })
	return t.store.explain(ctx, "write a replay run to", err)
}

func (t sqliteReplayRuns) claimRun(ctx context.Context, r replayRunRow, former *replay.Run) (claimed bool, err error) {
	err = t.store.write(ctx, func(tx *sql.Tx) error {
		query, args := `SELECT NOT EXISTS (SELECT 1 FROM conversation_replay_results WHERE evaluation_run_id = ?)`,
			[]any{r.ID}
		if former != nil {
			query = `SELECT EXISTS (SELECT 1 FROM conversation_replay_results WHERE evaluation_run_id = ? AND status = ? AND seen_at IS ?)`
			args = append(args, string(former.Status), microsOrNull(former.Seen))
		}
		if err := tx.QueryRowContext(ctx, query, args...).Scan(&claimed); err != nil || !claimed {
			return err
		}
		return replaceRun(ctx, tx, r)
	})
	return claimed && err == nil, t.store.explain(ctx, "begin a replay run in", err)
}

// replaceRun writes the row of a run in place of one with its id.
func replaceRun(ctx context.Context, tx *sql.Tx, r replayRunRow) error {
	args := []any{
		r.ID, r.VariantID, r.BaselineID, r.FlowID, r.DatasetVersion, string(r.Mode), r.Gate, string(r.Status), r.Error,
	}
	for _, f := range r.figures() {
		args = append(args, f.value)
	}
	args = append(args, r.Sessions, r.PairsDropped, r.Better, r.NonInferior, r.Verdict, r.Outcome, orNull(r.intervals),
		orNull(r.settings), orNull(r.rules), orNull(r.fidelity))
	for _, at := range r.times() {
		args = append(args, microsOrNull(at.value))
	}
	_, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO conversation_replay_results (`+replayRunColumns+`)
		VALUES (?`+strings.Repeat(", ?", len(args)-1)+`)`, args...)
	return err
}

func microsOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func (t sqliteReplayRuns) runs(ctx context.Context, id string, limit int) (all []replay.Run, err error) {
	if limit < 1 {
		limit = -1
	}
	err = t.store.each(ctx, `SELECT `+replayRunColumns+
		` FROM conversation_replay_results WHERE evaluation_run_id = ?1 OR ?1 = ''
		ORDER BY started_at DESC, evaluation_run_id LIMIT ?2`, []any{id, limit},
		func(rows *sql.Rows) error {
			r, err := scanReplayRun(rows)
			all = append(all, r)
			return err
		})
	return all, t.store.explain(ctx, "read replay runs from", err)
}

func scanReplayRun(rows *sql.Rows) (r replay.Run, err error) {
	var intervals, settings, rules, fidelity sql.NullString
	var started, seen, ended sql.NullInt64
	err = rows.Scan(&r.ID, &r.VariantID, &r.BaselineID, &r.FlowID, &r.DatasetVersion, &r.Mode, &r.Gate, &r.Status,
		&r.Error, &r.CompletionMatch, &r.TurnCountRatio, &r.StateProgression, &r.AvgLatencyMS, &r.CompletionSeconds,
		&r.DataAccuracy, &r.SupportCoverage, &r.Sessions, &r.PairsDropped, &r.Better, &r.NonInferior, &r.Verdict,
		&r.Outcome, &intervals, &settings, &rules, &fidelity, &started, &seen, &ended)
	r.Intervals, r.Settings, r.Rules, r.Fidelity = jsonOrNil(intervals.String), jsonOrNil(settings.String),
		jsonOrNil(rules.String), jsonOrNil(fidelity.String)
	for _, at := range []struct {
		to     *time.Time
		micros sql.NullInt64
	}{{&r.Started, started}, {&r.Seen, seen}, {&r.Ended, ended}} {
		if at.micros.Valid {
			*at.to = time.UnixMicro(at.micros.Int64).UTC()
		}
	}
	return r, err
}

func (t sqliteReplayRuns) sweep(ctx context.Context, before time.Time) (swept int, err error) {
	err = t.store.write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE conversation_replay_results
			SET status = ?, error = ?, seen_at = coalesce(seen_at, started_at), ended_at = coalesce(seen_at, started_at)
			WHERE status = ? AND coalesce(seen_at, started_at) < ?`, string(replay.Partially), brokenOff,
			string(replay.Running), before.UnixMicro())
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		swept = int(n)
		return err
	})
	return swept, t.store.explain(ctx, "end silent replay runs in", err)
}

func (t sqliteReplayRuns) putOutcomes(ctx context.Context, run string, rows []outcomeRow,
	seen time.Time) (known bool, err error) {
	err = t.store.write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx,
			`UPDATE conversation_replay_results SET seen_at = ? WHERE evaluation_run_id = ?`, microsOrNull(seen), run)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		if known = n > 0; err != nil || !known {
			return err
		}
		whole := len(rows) - len(rows)%rowsPerInsert
		return errors.Join(insertOutcomes(ctx, tx, run, rows[:whole], rowsPerInsert),
			insertOutcomes(ctx, tx, run, rows[whole:], 1))
	})
	return known, t.store.explain(ctx, "write replayed sessions to", err)
}

// insertOutcomes inserts rows, each at a time; each divides the number of rows.
func insertOutcomes(ctx context.Context, tx *sql.Tx, run string, rows []outcomeRow, each int) (err error) {
	if len(rows) == 0 {
		return nil
	}
	statement, err := tx.PrepareContext(ctx, insertOutcomeRows(each))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, statement.Close()) }()
	for ; len(rows) > 0; rows = rows[each:] {
		args := make([]any, 0, 5*each)
		for _, r := range rows[:each] {
			args = append(args, run, r.session, r.dropped, orNull(r.metrics), orNull(r.detail))
		}
		if _, err := statement.ExecContext(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// insertOutcomeRows returns the statement that inserts a number of rows.
func insertOutcomeRows(rows int) string {
	return `INSERT INTO conversation_replay_sessions (evaluation_run_id, session_id, dropped, metrics, detail)
		VALUES ` + strings.Repeat(", (?, ?, ?, ?, ?)", rows)[len(", "):] + `
		ON CONFLICT (evaluation_run_id, session_id)
			DO UPDATE SET dropped = excluded.dropped, metrics = excluded.metrics, detail = excluded.detail`
}

func (t sqliteReplayRuns) page(ctx context.Context, run, after string, limit int,
	take func(replay.Outcome) bool) error {
	err := t.store.each(ctx,
		`SELECT session_id, dropped, coalesce(metrics, ''), coalesce(detail, '') FROM conversation_replay_sessions
		WHERE evaluation_run_id = ? AND session_id > ? ORDER BY session_id LIMIT ?`, []any{run, after, limit},
		func(rows *sql.Rows) error {
			var r outcomeRow
			if err := rows.Scan(&r.session, &r.dropped, &r.metrics, &r.detail); err != nil {
				return err
			}
			if !take(r.outcome()) {
				return errEnough
			}
			return nil
		})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return t.store.explain(ctx, "read replayed sessions from", err)
}

func (t sqliteReplayRuns) runsOf(ctx context.Context, flow, session string) (ids []string, err error) {
	err = t.store.each(ctx, `SELECT s.evaluation_run_id FROM conversation_replay_results AS r
		JOIN conversation_replay_sessions AS s ON s.evaluation_run_id = r.evaluation_run_id AND s.session_id = ? WHERE r.flow_id = ?`,
		[]any{session, flow}, func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		})
	return ids, t.store.explain(ctx, "look for a replayed session in", err)
}

func (t sqliteReplayRuns) changeOutcome(ctx context.Context, run, session string,
	change func(*outcomeRow) error) (there bool, err error) {
	err = t.store.write(ctx, func(tx *sql.Tx) error {
		r := outcomeRow{session: session}
		err := tx.QueryRowContext(ctx,
			`SELECT dropped, coalesce(metrics, ''), coalesce(detail, '') FROM conversation_replay_sessions
			WHERE evaluation_run_id = ? AND session_id = ?`, run, session).Scan(&r.dropped, &r.metrics, &r.detail)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			err = change(&r)
		}
		if err != nil {
			return err
		}
		there = true
		_, err = tx.ExecContext(ctx, `UPDATE conversation_replay_sessions SET dropped = ?, metrics = ?, detail = ?
			WHERE evaluation_run_id = ? AND session_id = ?`, r.dropped, orNull(r.metrics), orNull(r.detail),
			run, session)
		return err
	})
	return there && err == nil, t.store.explain(ctx, "change a replayed session in", err)
}

func (t sqliteReplayRuns) forgotten(ctx context.Context) error {
	return t.store.explain(ctx, "erase a replayed session from", t.store.truncateLog(ctx))
}

// errEnough ends reading before the last row.
var errEnough = errors.New("enough was read")
