package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// ReplayRuns returns the runs of replay that the database keeps in the tables exp.conversation_replay_results and
// exp.conversation_replay_sessions. They end with p.
func (p *Postgres) ReplayRuns() *ReplayRuns { return &ReplayRuns{table: postgresReplayRuns{p}} }

// postgresReplayRuns are the tables of the runs. The table of results may belong to an application.
type postgresReplayRuns struct{ db *Postgres }

func (t postgresReplayRuns) place() string { return t.db.server.String() }

func (t postgresReplayRuns) explain(ctx context.Context, op string, err error) error {
	return t.db.explainColumns(ctx, op, err, "exp.conversation_replay_results needs the columns "+
		strings.Join(strings.Fields(replayRunColumns), " ")+"; add them")
}

func (t postgresReplayRuns) putRun(ctx context.Context, r replayRunRow) error {
	err := t.db.upsert(ctx, "exp.conversation_replay_results", "evaluation_run_id", r.ID, r.cells())
	return t.explain(ctx, "write a replay run to", err)
}

func (t postgresReplayRuns) claimRun(ctx context.Context, r replayRunRow,
	former *replay.Run) (claimed bool, err error) {
	query, args := `SELECT NOT EXISTS (SELECT 1 FROM exp.conversation_replay_results WHERE `+isKey("evaluation_run_id")+
		`)`, []any{r.ID}
	if former != nil { // a session that is written meanwhile would change when the run was seen
		query = `SELECT count(*) > 0 FROM (SELECT 1 FROM exp.conversation_replay_results WHERE ` +
			isKey("evaluation_run_id") + `
			AND coalesce(status::text, '') = $2 AND seen_at IS NOT DISTINCT FROM $3::timestamptz FOR UPDATE) AS same`
		args = append(args, string(former.Status), timeOrNull(former.Seen))
	}
	err = t.db.upsertIf(ctx, "exp.conversation_replay_results", "evaluation_run_id", r.ID, r.cells(),
		func(tx pgx.Tx) (bool, error) {
			err := tx.QueryRow(ctx, query, args...).Scan(&claimed)
			return claimed, err
		})
	return claimed && err == nil, t.explain(ctx, "begin a replay run in", err)
}

// cells are what the columns of a run have, but for its id.
func (r *replayRunRow) cells() []cell {
	cells := []cell{
		{column: "variant_id", value: r.VariantID},
		{column: "baseline_variant_id", value: orNull(r.BaselineID)},
		{column: "flow_id", value: r.FlowID},
		{column: "dataset_version", value: r.DatasetVersion},
		{column: "mode", value: string(r.Mode)},
		{column: "gate", value: r.Gate},
		{column: "status", value: string(r.Status)},
		{column: "error", value: orNull(r.Error)},
		{"sessions", "::bigint", r.Sessions},
		{"pairs_dropped", "::bigint", r.PairsDropped},
		{"is_better_than_baseline", "::boolean", r.Better},
		{"non_inferior", "::boolean", r.NonInferior},
		{column: "verdict", value: orNull(r.Verdict)},
		{column: "outcome", value: orNull(r.Outcome)},
		{column: "intervals", value: orNull(r.intervals)},
		{column: "settings", value: orNull(r.settings)},
		{column: "rules", value: orNull(r.rules)},
		{column: "fidelity", value: orNull(r.fidelity)},
	}
	for _, f := range r.figures() {
		cells = append(cells, cell{f.column, "::float8", f.value})
	}
	for _, at := range r.times() {
		cells = append(cells, cell{at.column, "::timestamptz", timeOrNull(at.value)})
	}
	return cells
}

func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

func (t postgresReplayRuns) runs(ctx context.Context, id string, limit int) ([]replay.Run, error) {
	rows, _ := t.db.pool.Query(ctx,
		`SELECT evaluation_run_id::text, coalesce(variant_id::text, ''), coalesce(baseline_variant_id::text, ''),
			coalesce(flow_id::text, ''), coalesce(dataset_version::text, ''), coalesce(mode::text, ''), coalesce(gate::text, ''),
			coalesce(status::text, ''), coalesce(error::text, ''),
			completion_match_score::float8, turn_count_ratio::float8, state_progression_match::float8, avg_latency_ms::float8,
			completion_time_seconds::float8, data_collection_accuracy::float8, support_coverage::float8,
			coalesce(sessions, 0)::bigint, coalesce(pairs_dropped, 0)::bigint, is_better_than_baseline, non_inferior,
			coalesce(verdict::text, ''), coalesce(outcome::text, ''), coalesce(intervals::text, ''), coalesce(settings::text, ''),
			coalesce(rules::text, ''), coalesce(fidelity::text, ''), started_at, seen_at, ended_at
		FROM exp.conversation_replay_results
		WHERE evaluation_run_id IS NOT NULL AND ($1 = '' OR `+isKey("evaluation_run_id")+`)
		ORDER BY started_at DESC NULLS LAST, evaluation_run_id::text COLLATE "C" LIMIT CASE WHEN $2::bigint > 0 THEN $2::bigint END`,
		id, limit) // CollectRows returns its error
	all, err := pgx.CollectRows(rows, scanPostgresRun)
	return all, t.explain(ctx, "read replay runs from", err)
}

func scanPostgresRun(row pgx.CollectableRow) (r replay.Run, err error) {
	var intervals, settings, rules, fidelity string
	var started, seen, ended *time.Time
	err = row.Scan(&r.ID, &r.VariantID, &r.BaselineID, &r.FlowID, &r.DatasetVersion, &r.Mode, &r.Gate, &r.Status,
		&r.Error, &r.CompletionMatch, &r.TurnCountRatio, &r.StateProgression, &r.AvgLatencyMS, &r.CompletionSeconds,
		&r.DataAccuracy, &r.SupportCoverage, &r.Sessions, &r.PairsDropped, &r.Better, &r.NonInferior, &r.Verdict,
		&r.Outcome, &intervals, &settings, &rules, &fidelity, &started, &seen, &ended)
	r.Intervals, r.Settings, r.Rules, r.Fidelity = jsonOrNil(intervals), jsonOrNil(settings), jsonOrNil(rules),
		jsonOrNil(fidelity)
	for _, at := range []struct{ to, from *time.Time }{{&r.Started, started}, {&r.Seen, seen}, {&r.Ended, ended}} {
		if at.from != nil {
			*at.to = at.from.UTC()
		}
	}
	return r, err
}

func (t postgresReplayRuns) sweep(ctx context.Context, before time.Time) (int, error) {
	done, err := t.db.pool.Exec(ctx, `UPDATE exp.conversation_replay_results
		SET status = $1, error = $2, seen_at = coalesce(seen_at, started_at), ended_at = coalesce(seen_at, started_at)
		WHERE status::text = $3::text AND coalesce(seen_at, started_at) < $4`,
		string(replay.Partially), brokenOff, string(replay.Running), before)
	return int(done.RowsAffected()), t.explain(ctx, "end silent replay runs in", err)
}

const (
	// outcomesPerInsert and insertBytes bound the rows of one statement.
	outcomesPerInsert = 1_000
	insertBytes       = 8 << 20
)

func (t postgresReplayRuns) putOutcomes(ctx context.Context, run string, rows []outcomeRow,
	seen time.Time) (known bool, err error) {
	err = pgx.BeginFunc(ctx, t.db.pool, func(tx pgx.Tx) error {
		// Another writer of this run waits here. Otherwise two writers could each wait for a session of the other.
		done, err := tx.Exec(ctx, `UPDATE exp.conversation_replay_results SET seen_at = $2::timestamptz WHERE `+
			isKey("evaluation_run_id"), run, timeOrNull(seen))
		if known = done.RowsAffected() > 0; err != nil || !known {
			return err
		}
		for len(rows) > 0 && err == nil {
			n, bytes := 0, 0
			for n < len(rows) && n < outcomesPerInsert && bytes < insertBytes {
				bytes += rows[n].size()
				n++
			}
			err = insertOutcomeArrays(ctx, tx, run, rows[:n])
			rows = rows[n:]
		}
		return err
	})
	return known && err == nil, t.explain(ctx, "write replayed sessions to", err)
}

// insertOutcomeArrays inserts rows by one statement.
func insertOutcomeArrays(ctx context.Context, tx pgx.Tx, run string, rows []outcomeRow) error {
	var text [4][]*string
	for i := range rows {
		for column, value := range []*string{&rows[i].session, &rows[i].dropped, &rows[i].metrics, &rows[i].detail} {
			if *value == "" {
				value = nil
			}
			text[column] = append(text[column], value)
		}
	}
	// Text, as arrays of JSONB take twice the time.
	_, err := tx.Exec(ctx,
		`INSERT INTO exp.conversation_replay_sessions (evaluation_run_id, session_id, dropped, metrics, detail)
		SELECT $1, a, b, c::jsonb, d::jsonb FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS incoming (a, b, c, d)
		ON CONFLICT (evaluation_run_id, session_id)
			DO UPDATE SET dropped = excluded.dropped, metrics = excluded.metrics, detail = excluded.detail`,
		run, text[0], text[1], text[2], text[3])
	return err
}

// outcomePage is the query of a page.
const outcomePage = `SELECT session_id, coalesce(dropped, ''), coalesce(metrics::text, ''), coalesce(detail::text, '')
	FROM exp.conversation_replay_sessions WHERE evaluation_run_id = $1 AND session_id > $2 ORDER BY session_id LIMIT $3`

func (t postgresReplayRuns) page(ctx context.Context, run, after string, limit int,
	take func(replay.Outcome) bool) error {
	err := t.db.page(ctx, outcomePage, []any{run, after, limit}, func(rows pgx.Rows) (goOn bool, err error) {
		var r outcomeRow
		err = rows.Scan(&r.session, &r.dropped, &r.metrics, &r.detail)
		return err == nil && take(r.outcome()), err
	})
	return t.explain(ctx, "read replayed sessions from", err)
}

func (t postgresReplayRuns) runsOf(ctx context.Context, flow, session string) ([]string, error) {
	rows, _ := t.db.pool.Query(ctx, `SELECT s.evaluation_run_id FROM exp.conversation_replay_results AS r
		JOIN exp.conversation_replay_sessions AS s ON s.session_id = $1
			AND s.evaluation_run_id IN (r.evaluation_run_id::text, upper(r.evaluation_run_id::text)) -- as a UUID, which has no case
		WHERE r.flow_id::text = $2`, session, flow) // CollectRows returns its error
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, t.explain(ctx, "look for a replayed session in", err)
}

func (t postgresReplayRuns) changeOutcome(ctx context.Context, run, session string,
	change func(*outcomeRow) error) (there bool, err error) {
	err = pgx.BeginFunc(ctx, t.db.pool, func(tx pgx.Tx) error {
		r := outcomeRow{session: session}
		err := tx.QueryRow(ctx, `SELECT coalesce(dropped, ''), coalesce(metrics::text, ''), coalesce(detail::text, '')
			FROM exp.conversation_replay_sessions WHERE evaluation_run_id = $1 AND session_id = $2 FOR UPDATE`,
			run, session).
			Scan(&r.dropped, &r.metrics, &r.detail)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err == nil {
			err = change(&r)
		}
		if err != nil {
			return err
		}
		there = true
		_, err = tx.Exec(ctx, `UPDATE exp.conversation_replay_sessions SET dropped = nullif($3, ''), metrics = $4::jsonb, detail = $5::jsonb
			WHERE evaluation_run_id = $1 AND session_id = $2`, run, session, r.dropped, orNull(r.metrics),
			orNull(r.detail))
		return err
	})
	return there && err == nil, t.explain(ctx, "change a replayed session in", err)
}

// forgotten has nothing to do: a server writes over what was deleted in its own time.
func (t postgresReplayRuns) forgotten(context.Context) error { return nil }
