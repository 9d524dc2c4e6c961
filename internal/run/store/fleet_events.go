package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// The kinds of events of a run.
const (
	EventStatus = "status"
	EventResult = "result"
	EventEnd    = "end"
)

// RunEvent tells that something about a run has changed.
type RunEvent struct {
	// ID counts the events of the run from 1, without gaps, the same for everybody who reads them.
	ID   int64
	Kind string
	// Data is the run as it became (EventStatus, EventEnd), or a ResultEvent.
	Data json.RawMessage
}

// ResultEvent is the Data of an event of a result.
type ResultEvent struct {
	ID     string `json:"id"`
	Seq    int64  `json:"seq"`
	Suite  string `json:"suite"`
	TestID string `json:"test_id"`
	Target string `json:"target"`
	// Trial is 0 for a test without trials and for an aggregate.
	Trial int `json:"trial"`
	// Score is nil for a result that could not be graded.
	Score   *float64       `json:"score"`
	Verdict result.Verdict `json:"verdict"`
}

// addEvents adds an event of a run's status, and one of its end.
func addEvents(ctx context.Context, tx transaction, run *runRow, body string, ended bool) error {
	kinds := []string{EventStatus}
	if ended {
		kinds = append(kinds, EventEnd)
	}
	var rows [][]any
	for _, kind := range kinds {
		run.lastEvent++
		rows = append(rows, []any{run.number, run.lastEvent, kind, body})
	}
	return tx.insert(ctx, "fleet_events", []string{"run", "id", "kind", "data"}, rows)
}

// RunEvents returns at most limit events of a run behind the one with the id after, 0 for all; a limit of 0 is
// MaxLimit. The first event is of the status queued. After EventEnd there is none.
func (f *Fleet) RunEvents(ctx context.Context, run string, after int64, limit int) ([]RunEvent, error) {
	if limit <= 0 || limit > MaxLimit {
		limit = MaxLimit
	}
	after = max(after, 0)
	var row runRow
	row, err := f.runRow(ctx, f.db.page, run)
	if err != nil {
		return nil, f.db.explain(ctx, "read events of a run from", err)
	}
	if after >= row.lastEvent {
		return nil, nil
	}
	told, err := f.statusEvents(ctx, row.number, after, limit)
	if err != nil {
		return nil, err
	}
	events, err := f.resultEvents(ctx, &row, after, limit)
	if err != nil {
		return nil, err
	}
	events = append(events, told...)
	slices.SortFunc(events, func(a, b RunEvent) int { return int(a.ID - b.ID) })
	// Results may have been stored between the two queries. What is behind a gap is left to the next call.
	n := 0
	for n < len(events) && n < limit && events[n].ID == after+int64(n)+1 {
		n++
	}
	return events[:n], nil
}

func (f *Fleet) statusEvents(ctx context.Context, run, after int64, limit int) ([]RunEvent, error) {
	return list(ctx, f, "read events of a run from",
		`SELECT id, kind, data FROM exp.fleet_events WHERE run = $1 AND id > $2 ORDER BY id LIMIT $3`,
		[]any{run, after, int64(limit)}, func(row scanner) (e RunEvent, err error) {
			var data string
			err = row.Scan(&e.ID, &e.Kind, &data)
			e.Data = json.RawMessage(data)
			return e, err
		})
}

// resultEvents makes the events of results, which are not written down: a result knows the id of its event.
func (f *Fleet) resultEvents(ctx context.Context, run *runRow, after int64, limit int) ([]RunEvent, error) {
	others := run.lastEvent - run.lastSeq // so many ids at most are not of results before any of them
	return list(ctx, f, "read events of a run from",
		`SELECT place, event, suite, test_id, target, trial, score, verdict FROM exp.fleet_results
		WHERE place > $1 AND place <= $2 AND event > $3 ORDER BY place LIMIT $4`,
		[]any{beforeRun(run.number) + max(after-others, 0), endOfRun(run.number), after, int64(limit)},
		func(row scanner) (e RunEvent, err error) {
			var place, trial int64
			var r ResultEvent
			if err := row.Scan(&place, &e.ID, &r.Suite, &r.TestID, &r.Target, &trial, &r.Score,
				&r.Verdict); err != nil {
				return e, err
			}
			r.Seq, r.Trial = place-beforeRun(run.number), int(trial)
			r.ID = resultID(r.Seq)
			e.Kind = EventResult
			if e.Data, err = json.Marshal(r); err != nil {
				err = fmt.Errorf("event %d of run %s: %w", e.ID, run.ID, err)
			}
			return e, err
		})
}
