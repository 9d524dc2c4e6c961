package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

const (
	// MaxResult bounds the JSON of a result, in bytes.
	MaxResult = 64 << 20
	// maxResults bounds the results of a run, by the number of bits of their place.
	maxResults = 1<<32 - 1
)

// NewResult is a result that is to be stored.
type NewResult struct {
	Test *result.Test
	// Worker is who held the conversation.
	Worker string
	// Artifacts are what was kept of the conversation; their Key and Seq are the result's.
	Artifacts []Artifact
}

// Stored says what became of a NewResult.
type Stored struct {
	// Seq is the number of the result with this key in its run.
	Seq int64
	// New is false where a result with this key was there already, which stands.
	New bool
}

// PutResults stores results of a run, all or none, and says of each whether it was new: of several with the same key
// the first stands. New ones get the next seq and an event each, in their order. It refuses with ErrLeaseLost where the
// fence does not hold, with ErrRunEnded, with ErrUnknown, and with ErrTooLarge for a result over MaxResult. A few
// hundred results at once are stored fastest.
func (f *Fleet) PutResults(ctx context.Context, run string, fence Fence, results []NewResult) ([]Stored, error) {
	rows := make([]resultRow, len(results))
	for i, r := range results {
		var err error
		if rows[i], err = f.newResultRow(r); err != nil {
			return nil, err
		}
	}
	stored := make([]Stored, len(rows))
	err := f.write(ctx, "write results to", func(tx transaction) error {
		of, err := f.lockRun(ctx, tx, run, fence)
		if err != nil {
			return err
		}
		if err := findResults(ctx, tx, of.number, rows, stored); err != nil {
			return err
		}
		if of.lastSeq+int64(len(rows)) > maxResults {
			return f.fault("write results to", fmt.Sprintf("run %s has too many results", of.ID), "split its suites",
				ErrTooLarge)
		}
		return insertResults(ctx, tx, &of, rows, stored)
	})
	if err != nil {
		return nil, err
	}
	return stored, nil
}

// resultRow is a result as databases keep it.
type resultRow struct {
	test      *result.Test
	unit      unitHash
	worker    string
	record    []byte // packed
	text      string
	artifacts []Artifact
}

// unitHash stands for suite, test and target in keys, however long they are.
type unitHash [16]byte

func hashUnit(suite, test, target string) unitHash {
	h := sha256.New()
	for _, part := range []string{suite, test, target} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // of a hash it cannot fail
	}
	return unitHash(h.Sum(nil)[:len(unitHash{})])
}

func (f *Fleet) newResultRow(r NewResult) (row resultRow, err error) {
	record, err := json.Marshal(r.Test)
	if err != nil {
		return row, fmt.Errorf("result of test %q: %w", shortened(r.Test.TestID), err)
	}
	if len(record) > MaxResult {
		return row,
			f.fault("write results to", fmt.Sprintf("the result of test %q has %d bytes, and at most %d can be kept",
				shortened(r.Test.TestID), len(record), MaxResult), "let the agent answer less", ErrTooLarge)
	}
	key := *r.Test
	key.Suite, key.TestID, key.Target = plainText(key.Suite), plainText(key.TestID), plainText(key.Target)
	return resultRow{
		test: &key, unit: hashUnit(key.Suite, key.TestID, key.Target), worker: plainText(r.Worker),
		record: f.packers.pack(record), text: foldCase(transcript(r.Test)), artifacts: r.Artifacts,
	}, nil
}

// transcript is the text that a result is searched for.
func transcript(t *result.Test) string {
	var b strings.Builder
	for _, m := range t.Output {
		b.WriteString(m.Content.String())
		b.WriteByte('\n')
	}
	if len(t.Output) == 0 {
		for _, turn := range t.Turns {
			b.WriteString(turn.Input.String() + "\n" + turn.Output + "\n")
		}
	}
	return plainText(b.String())
}

// foldCase makes texts equal that differ in case only: of all runes that Unicode's simple folding holds equal, it takes
// the least.
func foldCase(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case r < unicode.MaxASCII:
			return r
		}
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, text)
}

// findResults fills in stored for the results that are there already.
func findResults(ctx context.Context, tx transaction, run int64, rows []resultRow, stored []Stored) error {
	keys := make([][]any, len(rows))
	for i, r := range rows {
		keys[i] = []any{run, r.unit[:], int64(r.test.Trial)}
	}
	return tx.each(ctx, `SELECT place FROM exp.fleet_results WHERE run = $1 AND unit = $2 AND trial = $3`, keys,
		func(i int, row scanner) error {
			var place int64
			err := row.Scan(&place)
			stored[i].Seq = place - beforeRun(run)
			return err
		})
}

// beforeRun is the place before the first result of a run. endOfRun is that of the last one that it can have.
func beforeRun(run int64) int64 { return run << 32 }
func endOfRun(run int64) int64  { return run<<32 | maxResults }

// The columns of the tables of results, in the order of their rows.
var (
	resultColumns = [...]string{
		"place", "run", "unit", "trial", "suite", "test_id", "target", "verdict", "codes", "worker", "score",
		"duration", "event",
	}
	recordColumns   = [...]string{"place", "record"}
	textColumns     = [...]string{"place", "text"}
	artifactColumns = [...]string{"place", "n", "turn", "kind", "sha256", "bytes", "truncated"}
)

// insertResults adds the results that are not stored yet, and counts them.
func insertResults(ctx context.Context, tx transaction, run *runRow, rows []resultRow, stored []Stored) error {
	type key struct {
		unit  unitHash
		trial int
	}
	fresh := map[key]int64{}
	var results, records, texts, artifacts [][]any
	for i, r := range rows {
		at := key{r.unit, r.test.Trial}
		if stored[i].Seq > 0 {
			continue
		}
		if seq := fresh[at]; seq > 0 { // twice among these
			stored[i].Seq = seq
			continue
		}
		run.lastSeq++
		run.lastEvent++
		stored[i] = Stored{Seq: run.lastSeq, New: true}
		fresh[at] = run.lastSeq
		run.count(r.test)
		place := beforeRun(run.number) + run.lastSeq
		results = append(results, r.cells(place, run.number, run.lastEvent))
		records = append(records, []any{place, r.record})
		texts = append(texts, []any{place, r.text})
		for n, a := range r.artifacts {
			artifacts = append(artifacts, a.cells(place, n+1))
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	for _, table := range []struct {
		name    string
		columns []string
		rows    [][]any
	}{
		{"fleet_results", resultColumns[:], results},
		{"fleet_records", recordColumns[:], records},
		{"fleet_texts", textColumns[:], texts},
		{"fleet_artifacts", artifactColumns[:], artifacts},
	} {
		if len(table.rows) == 0 {
			continue
		}
		if err := tx.insert(ctx, table.name, table.columns, table.rows); err != nil {
			return err
		}
	}
	c := run.Counts
	_, err := tx.exec(ctx, `UPDATE exp.fleet_runs SET last_seq = $2, last_event = $3, done = $4, passed = $5, failed = $6, errors = $7, skipped = $8
		WHERE number = $1`, run.number, run.lastSeq, run.lastEvent, int64(run.Progress.Done),
		int64(c.Passed), int64(c.Failed), int64(c.Errors), int64(c.Skipped))
	return err
}

// cells are the row of a result without its record.
func (r *resultRow) cells(place, run, event int64) []any {
	var score, duration any
	if r.test.Verdict.Graded() {
		score = r.test.Score
	}
	if r.test.Verdict.Graded() && r.test.Trials == nil {
		duration = int64(r.test.DurationMS * 1000)
	}
	return []any{
		place, run, r.unit[:], int64(r.test.Trial), r.test.Suite, r.test.TestID, r.test.Target, string(r.test.Verdict),
		codesCell(r.test.Codes()), r.worker, score, duration, event,
	}
}

// codesCell returns failure codes as one text, with a comma before and after each.
func codesCell(codes []result.Code) string {
	if len(codes) == 0 {
		return ""
	}
	var b strings.Builder
	for _, c := range codes {
		b.WriteString("," + string(c))
	}
	return plainText(b.String() + ",")
}

// count counts a result as result.Tally does.
func (r *runRow) count(t *result.Test) {
	if t.Trials == nil && t.Ran() {
		r.Progress.Done++
	}
	if t.Trial > 0 {
		return
	}
	switch t.Verdict {
	case result.Pass:
		r.Counts.Passed++
	case result.Fail:
		r.Counts.Failed++
	case result.Error:
		r.Counts.Errors++
	case result.Ungraded:
		r.Counts.Ungraded++
	case result.Skip:
		r.Counts.Skipped++
	}
}

// resultID is the id of a result within its run.
func resultID(seq int64) string { return strconv.FormatInt(seq, 10) }
