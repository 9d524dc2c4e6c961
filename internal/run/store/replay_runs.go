package store

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// ReplayRuns stores the runs of replay and the outcomes of their sessions, in a store's file or in a PostgreSQL
// database, with the same answers. Runs of suites are in the index of a Store. It is safe for concurrent use and for
// several processes. Store.ReplayRuns and Postgres.ReplayRuns return it. Text, times and JSON come back as Events
// describes it. In PostgreSQL the table exp.conversation_replay_results may belong to an application, with UUIDs as
// ids; NULL is then read as empty.
type ReplayRuns struct {
	db database
}

var _ replay.Runs = (*ReplayRuns)(nil)

// ReplayRuns returns the runs of replay that the store has. They end with the store. Runs of suites are in Store.Runs.
func (s *Store) ReplayRuns() *ReplayRuns { return &ReplayRuns{sqliteDatabase{store: s}} }

// ReplayRuns returns the runs of replay that the database stores in the tables exp.conversation_replay_results and
// exp.conversation_replay_sessions. They end with p.
func (p *Postgres) ReplayRuns() *ReplayRuns {
	columns := replayRunTable + " needs the columns evaluation_run_id"
	for _, c := range new(replayRunRow).cells(postgresDatabase{}) {
		columns += ", " + c.column
	}
	return &ReplayRuns{postgresDatabase{p, columns + "; add them"}}
}

const replayRunTable = "exp.conversation_replay_results"

// brokenOff is the error of a run that was killed.
const brokenOff = "the program that ran it ended before the run was complete"

// PutRun writes the row of a run, and replaces an earlier row with its id. It does not change the sessions. A long
// Error is cut.
func (r *ReplayRuns) PutRun(ctx context.Context, run replay.Run) error {
	row, err := newReplayRunRow(run)
	if err != nil {
		return err
	}
	return r.db.explain(ctx, "write a replay run to",
		replaceRow(ctx, r.db, replayRunTable, "evaluation_run_id", row.ID, row.cells(r.db), nil))
}

// ClaimRun writes the row of a run that begins: where there is none, or, with a former one as Run has returned it,
// where its status and the time when it was seen are still those. It reports whether it did; of several processes that
// claim a run at once, one does.
func (r *ReplayRuns) ClaimRun(ctx context.Context, run replay.Run, former *replay.Run) (claimed bool, err error) {
	row, err := newReplayRunRow(run)
	if err != nil {
		return false, err
	}
	query, args := `SELECT NOT EXISTS (SELECT 1 FROM `+replayRunTable+` WHERE `+
		r.db.equalsID("evaluation_run_id", "$1")+`)`, []any{row.ID}
	if former != nil { // a session that is written meanwhile would change when the run was seen
		query = `SELECT count(*) > 0 FROM (SELECT 1 FROM ` + replayRunTable + ` WHERE ` +
			r.db.equalsID("evaluation_run_id", "$1") + `
			AND coalesce(status::text, '') = $2 AND seen_at IS NOT DISTINCT FROM $3::timestamptz FOR UPDATE) AS same`
		args = append(args, string(former.Status), r.db.time(former.Seen))
	}
	err = replaceRow(ctx, r.db, replayRunTable, "evaluation_run_id", row.ID, row.cells(r.db),
		func(tx transaction) (bool, error) {
			err := tx.read(ctx, query, args, func(row scanner) error { return row.Scan(&claimed) })
			return claimed, err
		})
	return claimed && err == nil, r.db.explain(ctx, "begin a replay run in", err)
}

// Run returns the run with the id. If there is none, the error wraps replay.ErrUnknown.
func (r *ReplayRuns) Run(ctx context.Context, id string) (replay.Run, error) {
	if id == "" {
		return replay.Run{}, r.unknown(id, "name one")
	}
	found, err := r.runs(ctx, plainText(id), 0)
	if err == nil && len(found) == 0 {
		err = r.unknown(id, "use the id that the run told at its end")
	}
	if err != nil {
		return replay.Run{}, err
	}
	return found[0], nil
}

func (r *ReplayRuns) unknown(id, hint string) error {
	return fmt.Errorf("look for replay run %q in %s: %w; %s", shortened(id), r.db.name(), replay.ErrUnknown, hint)
}

// Runs returns the runs that started last, newest first; a limit below 1 means all. Those without a time come last.
func (r *ReplayRuns) Runs(ctx context.Context, limit int) ([]replay.Run, error) {
	return r.runs(ctx, "", limit)
}

// Sweep ends the runs that are Running and were last seen longer than replay.StaleAfter ago, because their process was
// killed. Their status becomes Partially, with an Error, and they end at the time when they were last seen. It returns
// their number.
func (r *ReplayRuns) Sweep(ctx context.Context, now time.Time) (int, error) {
	swept, err := r.db.exec(ctx, `UPDATE `+replayRunTable+`
		SET status = $1, error = $2, seen_at = coalesce(seen_at, started_at), ended_at = coalesce(seen_at, started_at)
		WHERE status::text = $3::text AND coalesce(seen_at, started_at) < $4`,
		string(replay.Partially), brokenOff, string(replay.Running), r.db.time(now.Add(-replay.StaleAfter)))
	return int(swept), r.db.explain(ctx, "end silent replay runs in", err)
}

// PutOutcomes adds sessions of a run, all or none. A known session is replaced; of several with the same id, the last
// counts. The run counts as seen now, even without any outcomes. If there is no such run, the error wraps
// replay.ErrUnknown. Metrics and Detail are JSON objects of at most 32 MB each, or none.
func (r *ReplayRuns) PutOutcomes(ctx context.Context, runID string, outcomes []replay.Outcome, now time.Time) error {
	rows, err := newOutcomeRows(outcomes)
	if err != nil {
		return err
	}
	if err := checkTime("now", now); err != nil {
		return fmt.Errorf("replay run %q: %w", shortened(runID), err)
	}
	id, known := plainText(runID), false
	err = r.db.write(ctx, func(tx transaction) error {
		// Another writer of this run waits here. Otherwise two writers could each wait for a session of the other.
		changed, err := tx.exec(ctx, `UPDATE `+replayRunTable+` SET seen_at = $2::timestamptz WHERE `+
			r.db.equalsID("evaluation_run_id", "$1"), id, r.db.time(now))
		if known = changed > 0; err != nil || !known {
			return err
		}
		lists := make([][]string, len(rows))
		for i, o := range rows {
			lists[i] = []string{id, o.session, o.dropped, o.metrics, o.detail}
		}
		return tx.upsert(ctx, "conversation_replay_sessions",
			[]string{"evaluation_run_id", "session_id", "dropped", "metrics jsonb", "detail jsonb"}, 2, lists)
	})
	if err == nil && !known {
		return r.unknown(runID, "put the run before its sessions")
	}
	return r.db.explain(ctx, "write replayed sessions to", err)
}

// outcomePage is the query of a page of the sessions of a run.
const outcomePage = `SELECT session_id, coalesce(dropped, ''), coalesce(metrics::text, ''), coalesce(detail::text, '')
	FROM exp.conversation_replay_sessions WHERE evaluation_run_id = $1 AND session_id > $2 ORDER BY session_id LIMIT $3`

// Outcomes yields the sessions of a run in the byte order of their ids. It reads them in pages, so that it needs no
// connection while the caller is busy. For an unknown run it yields nothing. After an error it yields nothing more.
func (r *ReplayRuns) Outcomes(ctx context.Context, runID string) iter.Seq2[replay.Outcome, error] {
	return func(yield func(replay.Outcome, error) bool) {
		after := ""
		pages[replay.Outcome]{size: outcomeSize, read: func(ctx context.Context, limit int,
			take func(replay.Outcome) bool) error {
			err := r.db.page(ctx, outcomePage, []any{plainText(runID), after, limit}, func(row scanner) error {
				var o outcomeRow
				if err := row.Scan(&o.session, &o.dropped, &o.metrics, &o.detail); err != nil {
					return err
				}
				after = o.session
				if !take(o.outcome()) {
					return errEnough
				}
				return nil
			})
			return r.db.explain(ctx, "read replayed sessions from", err)
		}}.each(ctx)(yield)
	}
}

// EraseSession takes the words of the sessions of an id in the log, of a flow, out of all runs. What was counted of
// them stays. There may be none.
func (r *ReplayRuns) EraseSession(ctx context.Context, flow, session string) error {
	flow, session = plainText(flow), plainText(session)
	type replayed struct{ run, session string }
	var found []replayed
	err := r.db.read(ctx, `SELECT s.evaluation_run_id, s.session_id FROM exp.conversation_replay_results AS r
		JOIN exp.conversation_replay_sessions AS s ON s.session_id COLLATE "C" >= $1
			AND s.session_id COLLATE "C" < $1::text || 'A' -- also with what follows an @
			AND s.evaluation_run_id IN (r.evaluation_run_id::text, upper(r.evaluation_run_id::text)) -- as a UUID, which has no case
		WHERE r.flow_id::text = $2`, []any{session, flow}, func(row scanner) error {
		var of replayed
		err := row.Scan(&of.run, &of.session)
		if replay.LoggedID(of.session) == session {
			found = append(found, of)
		}
		return err
	})
	if err != nil {
		return r.db.explain(ctx, "look for a replayed session in", err)
	}
	erased := false
	for _, of := range found { // one at a time, as each may be large
		there, err := r.eraseWords(ctx, of.run, of.session)
		if err != nil {
			return r.db.explain(ctx, "change a replayed session in", err)
		}
		erased = erased || there
	}
	if erased {
		err = r.db.truncateLog(ctx)
	}
	return r.db.explain(ctx, "erase a replayed session from", err)
}

// eraseWords erases the words of a session of a run. It reports whether the run has it.
func (r *ReplayRuns) eraseWords(ctx context.Context, run, session string) (there bool, err error) {
	err = r.db.write(ctx, func(tx transaction) error {
		o := outcomeRow{session: session}
		err := tx.read(ctx, `SELECT coalesce(dropped, ''), coalesce(metrics::text, ''), coalesce(detail::text, '')
			FROM exp.conversation_replay_sessions WHERE evaluation_run_id = $1 AND session_id = $2 FOR UPDATE`,
			[]any{run, session}, func(row scanner) error {
				there = true
				return row.Scan(&o.dropped, &o.metrics, &o.detail)
			})
		if err != nil || !there {
			return err
		}
		if err := o.eraseWords(); err != nil {
			return err
		}
		_, err = tx.exec(ctx, `UPDATE exp.conversation_replay_sessions SET dropped = $3, metrics = $4, detail = $5
			WHERE evaluation_run_id = $1 AND session_id = $2`, run, session, r.db.optional(o.dropped),
			orNull(o.metrics), orNull(o.detail))
		return err
	})
	return there, err
}

func outcomeSize(o replay.Outcome) int {
	return len(o.SessionID) + len(o.Dropped) + len(o.Metrics) + len(o.Detail)
}

func (r *ReplayRuns) runs(ctx context.Context, id string, limit int) (all []replay.Run, err error) {
	if limit < 1 {
		limit = math.MaxInt64
	}
	err = r.db.read(ctx, `SELECT evaluation_run_id::text, coalesce(variant_id::text, ''),
			coalesce(baseline_variant_id::text, ''), coalesce(flow_id::text, ''), coalesce(dataset_version::text, ''),
			coalesce(mode::text, ''), coalesce(gate::text, ''), coalesce(status::text, ''), coalesce(error::text, ''),
			completion_match_score::float8, turn_count_ratio::float8, state_progression_match::float8,
			avg_latency_ms::float8, completion_time_seconds::float8, data_collection_accuracy::float8,
			support_coverage::float8, coalesce(sessions, 0)::bigint, coalesce(pairs_dropped, 0)::bigint,
			is_better_than_baseline, non_inferior, coalesce(verdict::text, ''), coalesce(outcome::text, ''),
			coalesce(intervals::text, ''), coalesce(settings::text, ''), coalesce(rules::text, ''),
			coalesce(fidelity::text, ''), started_at, seen_at, ended_at
		FROM `+replayRunTable+`
		WHERE evaluation_run_id IS NOT NULL AND ($1 = '' OR `+r.db.equalsID("evaluation_run_id", "$1")+`)
		ORDER BY started_at DESC NULLS LAST, evaluation_run_id::text COLLATE "C" LIMIT $2::bigint`,
		[]any{id, limit}, func(row scanner) error {
			run, err := scanReplayRun(row)
			all = append(all, run)
			return err
		})
	return all, r.db.explain(ctx, "read replay runs from", err)
}

func scanReplayRun(row scanner) (r replay.Run, err error) {
	var intervals, settings, rules, fidelity string
	err = row.Scan(&r.ID, &r.VariantID, &r.BaselineID, &r.FlowID, &r.DatasetVersion, &r.Mode, &r.Gate, &r.Status,
		&r.Error, &r.CompletionMatch, &r.TurnCountRatio, &r.StateProgression, &r.AvgLatencyMS, &r.CompletionSeconds,
		&r.DataAccuracy, &r.SupportCoverage, &r.Sessions, &r.PairsDropped, &r.Better, &r.NonInferior, &r.Verdict,
		&r.Outcome, &intervals, &settings, &rules, &fidelity, storedTime{&r.Started}, storedTime{&r.Seen},
		storedTime{&r.Ended})
	r.Intervals, r.Settings, r.Rules, r.Fidelity = jsonOrNil(intervals), jsonOrNil(settings), jsonOrNil(rules),
		jsonOrNil(fidelity)
	return r, err
}
