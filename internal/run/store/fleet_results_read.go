package store

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Result is a stored result.
type Result struct {
	// ID names it within its run, and stays the same.
	ID string
	// Seq counts the results of the run from 1, in the order stored, without gaps.
	Seq    int64
	Worker string
	Key    result.Key
	// Record is the JSON of the result.Test, as it was stored.
	Record json.RawMessage
}

// Test returns the record.
func (r Result) Test() (*result.Test, error) {
	var t result.Test
	if err := json.Unmarshal(r.Record, &t); err != nil {
		return nil, fmt.Errorf("result %s in the store: %w", r.ID, err)
	}
	return &t, nil
}

// ResultFilter chooses results; what is empty chooses all.
type ResultFilter struct {
	Verdict result.Verdict
	// Code is one of the codes of the result's failures.
	Code                  result.Code
	Suite, TestID, Target string
	// Trial is nil for all; 0 is for results without trials and for aggregates.
	Trial *int
	// Text is to be found in the transcript, in either case.
	Text string
}

// Results returns a page of the results of a run in the order stored.
func (f *Fleet) Results(ctx context.Context, run string, filter ResultFilter, page PageOf) (Page[Result], error) {
	after, err := page.number(f, "results", 0)
	if err != nil {
		return Page[Result]{}, err
	}
	number, err := f.runNumber(ctx, run)
	if err != nil {
		return Page[Result]{}, err
	}
	limit := page.limit()
	var items []Result
	err = f.resultsAfter(ctx, number, filter, after, limit+1, func(r Result) bool {
		items = append(items, r)
		return true
	})
	if err != nil {
		return Page[Result]{}, err
	}
	return newPage(items, limit, func(last Result) *string { return newCursor("results", resultID(last.Seq)) }), nil
}

// AllResults yields the results of a run in the order stored. It reads them in pages, so that it needs no connection
// while the caller is busy. After an error it yields nothing more.
func (f *Fleet) AllResults(ctx context.Context, run string, filter ResultFilter) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		number, err := f.runNumber(ctx, run)
		if err != nil {
			yield(Result{}, err)
			return
		}
		after := int64(0)
		pages[Result]{size: func(r Result) int {
			return len(r.Record)
		}, read: func(ctx context.Context, limit int, take func(Result) bool) error {
			return f.resultsAfter(ctx, number, filter, after, limit, func(r Result) bool {
				after = r.Seq
				return take(r)
			})
		}}.each(ctx)(yield)
	}
}

// Result returns the result of a run with the id; without one the error is ErrUnknown.
func (f *Fleet) Result(ctx context.Context, run, id string) (found Result, err error) {
	number, err := f.runNumber(ctx, run)
	if err != nil {
		return found, err
	}
	seq, err := strconv.ParseInt(id, 10, 64)
	if err == nil && seq > 0 && seq <= maxResults && resultID(seq) == id {
		err = f.resultsAfter(ctx, number, ResultFilter{}, seq-1, 1, func(r Result) bool {
			if r.Seq == seq {
				found = r
			}
			return false
		})
		if err != nil {
			return found, err
		}
	}
	if found.Seq == 0 {
		return found, f.fault("look for a result in", fmt.Sprintf("run %s has no result %q", shortened(run),
			shortened(id)), "list the results of the run to see their ids", ErrUnknown)
	}
	return found, nil
}

// runNumber returns the number of a run.
func (f *Fleet) runNumber(ctx context.Context, run string) (number int64, err error) {
	err = f.read(ctx, "look for a run in", `SELECT number FROM exp.fleet_runs WHERE id = $1`, []any{plainText(run)},
		func(row scanner) error { return row.Scan(&number) })
	if err == nil && number == 0 {
		err = f.noRun(run)
	}
	return number, err
}

// resultsAfter hands over at most limit results behind a seq, until take returns false.
func (f *Fleet) resultsAfter(ctx context.Context, run int64, filter ResultFilter, after int64, limit int,
	take func(Result) bool) error {
	from, to := beforeRun(run)+min(after, maxResults), endOfRun(run)
	var q conditions
	var chosen string
	if filter.Text == "" {
		chosen = f.choose(&q, filter, from, to, limit)
	} else {
		places, err := f.search(ctx, filter, from, to, limit)
		if err != nil || len(places) == 0 {
			return err
		}
		names := make([]string, len(places))
		for i, place := range places {
			names[i] = q.arg(place)
		}
		chosen = strings.Join(names, ", ")
	}
	// The records are read for what was chosen only.
	return f.read(ctx, "read results from", `SELECT r.place, r.suite, r.test_id, r.target, r.trial, r.worker, d.record
		FROM exp.fleet_results r JOIN exp.fleet_records d ON d.place = r.place WHERE r.place IN (`+chosen+
		`) ORDER BY r.place`, q.args,
		func(row scanner) error {
			r, err := scanResult(row, run)
			if err == nil && !take(r) {
				err = errEnough
			}
			return err
		})
}

// choose returns the query of the places of the first results in a range that a filter chooses.
func (f *Fleet) choose(q *conditions, filter ResultFilter, from, to int64, limit int) string {
	tables, column := "exp.fleet_results r", "r.place"
	if filter.Text != "" {
		// The texts are read in order; CROSS JOIN keeps SQLite from beginning with the other table.
		tables, column = "exp.fleet_texts t CROSS JOIN exp.fleet_results r", "t.place"
		q.all = append(q.all, "r.place = t.place",
			f.db.contains("t.text", q.arg(foldCase(plainText(filter.Text)))))
	}
	q.where(column+" > %s", from)
	q.where(column+" <= %s", to)
	for _, equal := range []struct{ column, value string }{
		{"r.verdict", string(filter.Verdict)}, {"r.suite", filter.Suite}, {"r.test_id", filter.TestID},
		{"r.target", filter.Target},
	} {
		if equal.value != "" {
			q.where(equal.column+" = %s", plainText(equal.value))
		}
	}
	if filter.Code != "" {
		q.all = append(q.all, f.db.contains("r.codes", q.arg(","+plainText(string(filter.Code))+",")))
	}
	if filter.Trial != nil {
		q.where("r.trial = %s", int64(*filter.Trial))
	}
	return `SELECT ` + column + ` FROM ` + tables + ` WHERE ` + q.String() + ` ORDER BY ` + column + ` LIMIT ` +
		q.arg(int64(limit))
}

const (
	// searchers is how many parts of a run are searched for text at once: a file has one connection more.
	searchers = connections - 1
	// searchedAlone is the number of results that are not worth a division.
	searchedAlone = 30
)

// search finds the places of results with a text. It looks into every transcript until it has found enough, so several
// look at once.
func (f *Fleet) search(ctx context.Context, filter ResultFilter, from, to int64, limit int) ([]int64, error) {
	var last *int64
	err := f.read(ctx, "search results in", `SELECT max(place) FROM exp.fleet_texts WHERE place > $1 AND place <= $2`,
		[]any{from, to}, func(row scanner) error { return row.Scan(&last) })
	if err != nil || last == nil {
		return nil, err
	}
	parts := int64(1)
	if *last-from > searchedAlone {
		parts = searchers
	}
	size := (*last - from + parts - 1) / parts
	found := make([][]int64, parts)
	group, ctx := errgroup.WithContext(ctx)
	for i := range parts {
		group.Go(func() (err error) {
			var q conditions
			query := f.choose(&q, filter, from+i*size, min(from+(i+1)*size, *last), limit)
			found[i], err = list(ctx, f, "search results in", query, q.args,
				func(row scanner) (place int64, err error) {
					err = row.Scan(&place)
					return place, err
				})
			return err
		})
	}
	err = group.Wait()
	places := slices.Concat(found...)
	return places[:min(limit, len(places))], err
}

func scanResult(row scanner, run int64) (r Result, err error) {
	var place, trial int64
	var packed []byte
	if err := row.Scan(&place, &r.Key.Suite, &r.Key.TestID, &r.Key.Target, &trial, &r.Worker, &packed); err != nil {
		return r, err
	}
	r.Seq, r.Key.Trial = place-beforeRun(run), int(trial)
	r.ID = resultID(r.Seq)
	r.Record, err = unpack(packed)
	return r, err
}

// MeanDurations returns how long the conversations of tests took in runs that have ended, on average, by suite, test
// and target: the Trial of keys does not count and is 0 in the answer. Only conversations that could be graded count.
// Tests without any are left out.
func (f *Fleet) MeanDurations(ctx context.Context, keys []result.Key) (map[result.Key]time.Duration, error) {
	means := map[result.Key]time.Duration{}
	lists, units := [][]any{}, []result.Key{}
	for _, key := range keys {
		key.Trial = 0
		unit := hashUnit(plainText(key.Suite), plainText(key.TestID), plainText(key.Target))
		lists, units = append(lists, []any{unit[:]}), append(units, key)
	}
	err := f.write(ctx, "read durations from", func(tx transaction) error {
		return tx.each(ctx, `SELECT n, total FROM exp.fleet_durations WHERE unit = $1 AND n > 0`, lists, func(i int,
			row scanner) error {
			var n, total int64
			err := row.Scan(&n, &total)
			if n > 0 {
				means[units[i]] = time.Duration(math.Round(float64(total)/float64(n))) * time.Microsecond
			}
			return err
		})
	})
	return means, err
}

// countDurations adds how long the conversations of a run took to what is known, or takes it away again with the sign
// -1.
func countDurations(ctx context.Context, tx transaction, run, sign int64) error {
	// Two transactions that write the same rows in different orders would wait for each other.
	if err := tx.lock(ctx, "durations"); err != nil {
		return err
	}
	_, err := tx.exec(ctx, `INSERT INTO exp.fleet_durations AS known (unit, n, total)
		SELECT unit, $3 * count(duration), $3 * CAST(sum(duration) AS bigint) FROM exp.fleet_results
		WHERE place > $1 AND place <= $2 AND duration IS NOT NULL GROUP BY unit
		ON CONFLICT (unit) DO UPDATE SET n = known.n + excluded.n, total = known.total + excluded.total`,
		beforeRun(run), endOfRun(run), sign)
	return err
}
