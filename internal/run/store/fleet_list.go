package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// RunFilter chooses runs; what is empty chooses all.
type RunFilter struct {
	Status         RunStatus
	Name, Schedule string
	// Suite and Target are names among those of the run.
	Suite, Target string
	// Labels must all be there.
	Labels map[string]string
	// Since and Until bound when runs were created: at Since or later, and before Until.
	Since, Until time.Time
}

// Runs returns a page of runs, the one that was submitted last first.
func (f *Fleet) Runs(ctx context.Context, filter RunFilter, page PageOf) (Page[Run], error) {
	before, err := page.number(f, "runs", 0)
	if err != nil {
		return Page[Run]{}, err
	}
	var q conditions
	if before > 0 {
		q.where("number < %s", before)
	}
	for _, equal := range []struct{ column, value string }{
		{"status", string(filter.Status)}, {"name", filter.Name}, {"schedule", filter.Schedule},
	} {
		if equal.value != "" {
			q.where(equal.column+" = %s", word(equal.value))
		}
	}
	if filter.Suite != "" {
		q.hasWord(wordSuite, word(filter.Suite))
	}
	if filter.Target != "" {
		q.hasWord(wordTarget, word(filter.Target))
	}
	for _, key := range slices.Sorted(maps.Keys(filter.Labels)) {
		q.hasWord(wordLabel, labelWord(key, filter.Labels[key]))
	}
	if !filter.Since.IsZero() {
		q.where("created_at >= %s", micros(filter.Since))
	}
	if !filter.Until.IsZero() {
		q.where("created_at < %s", micros(filter.Until))
	}
	limit := page.limit()
	rows, err := f.runsWhere(ctx, q, "DESC", limit+1)
	if err != nil {
		return Page[Run]{}, err
	}
	found := newPage(rows, limit, func(last runRow) *string {
		return newCursor("runs", strconv.FormatInt(last.number, 10))
	})
	runs := Page[Run]{Items: make([]Run, 0, len(found.Items)), Next: found.Next}
	for _, row := range found.Items {
		runs.Items = append(runs.Items, row.Run)
	}
	return runs, nil
}

// hasWord adds the condition that a run is found by a word.
func (q *conditions) hasWord(kind, value string) {
	q.all = append(q.all, fmt.Sprintf(
		"number IN (SELECT run FROM exp.fleet_words WHERE kind = %s AND value = %s)", q.arg(kind), q.arg(value)))
}

func (f *Fleet) runsWhere(ctx context.Context, q conditions, direction string, limit int) ([]runRow, error) {
	where := ""
	if len(q.all) > 0 {
		where = " WHERE " + q.String()
	}
	return list(ctx, f, "read runs from",
		`SELECT `+runColumns+` FROM exp.fleet_runs`+where+` ORDER BY number `+direction+` LIMIT `+q.arg(int64(limit)),
		q.args, func(row scanner) (r runRow, err error) {
			err = r.scan(row)
			return r, err
		})
}

// Unfinished returns the runs that wait or go on, in the order of submission, at most so many of them.
func (f *Fleet) Unfinished(ctx context.Context, limit int) ([]Run, error) {
	var q conditions
	q.all = []string{"status IN (" + q.arg(string(RunQueued)) + ", " + q.arg(string(RunRunning)) + ")"}
	rows, err := f.runsWhere(ctx, q, "ASC", limit)
	runs := make([]Run, 0, len(rows))
	for _, row := range rows {
		runs = append(runs, row.Run)
	}
	return runs, err
}
