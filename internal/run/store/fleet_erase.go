package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// EraseSession takes the words of the sessions of an id in the log, of a flow, out of the results, transcripts and
// reports of the runs that have replayed them. Verdicts and figures stay. There may be none.
func (f *Fleet) EraseSession(ctx context.Context, flow, session string) error {
	const op = "erase a replayed session from"
	flow, session = plainText(flow), plainText(session)
	// The words of runs are asked first, since no index leads from a test to its results.
	type replayed struct {
		place   int64
		session string
	}
	results, err := list(ctx, f, op, `SELECT r.place, r.test_id FROM exp.fleet_words w
		JOIN exp.fleet_results r ON r.run = w.run
		WHERE w.kind = $1 AND w.value = $2 AND r.suite = $3 AND r.test_id COLLATE "C" >= $4
			AND r.test_id COLLATE "C" < $4::text || 'A' -- also with what follows an @`,
		[]any{wordSuite, word(flow), flow, session}, func(row scanner) (of replayed, err error) {
			return of, row.Scan(&of.place, &of.session)
		})
	results = slices.DeleteFunc(results, func(of replayed) bool { return replay.LoggedID(of.session) != session })
	if err != nil || len(results) == 0 {
		return err
	}
	for _, of := range results { // one at a time, as each may be large
		err := f.write(ctx, op, func(tx transaction) error { return f.eraseReplayed(ctx, tx, of.place, of.session) })
		if err != nil {
			return err
		}
	}
	return f.db.explain(ctx, op, f.db.truncateLog(ctx))
}

// eraseReplayed takes the words of a session out of its result at a place, unless that is the result of a test which
// has the name of a session.
func (f *Fleet) eraseReplayed(ctx context.Context, tx transaction, place int64, session string) error {
	var t *result.Test
	err := tx.read(ctx, `SELECT record FROM exp.fleet_records WHERE place = $1`, []any{
		place,
	}, func(row scanner) (err error) {
		t, err = scanPacked[result.Test](row)
		return err
	})
	if err != nil || t == nil || t.SessionID != session {
		return err
	}
	eraseWords(t)
	record, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("result of session %q: %w", shortened(session), err)
	}
	if _, err := tx.exec(ctx, `UPDATE exp.fleet_records SET record = $2 WHERE place = $1`, place,
		f.packers.pack(record)); err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `UPDATE exp.fleet_texts SET text = '' WHERE place = $1`, place); err != nil {
		return err
	}
	if err := f.eraseReported(ctx, tx, place>>32, replay.LoggedID(session)); err != nil {
		return err
	}
	return putRunFile(ctx, tx, place>>32, erasedFile, f.packers.pack([]byte(rand.Text())))
}

// erasedFile is the file of a run that has its stamp.
const erasedFile = "erased"

// Stamps returns a stamp for each run by its id from which something was erased, another one each time. What was made
// of the run under another stamp, or under none, has words that are erased.
func (f *Fleet) Stamps(ctx context.Context) (map[string]string, error) {
	stamps := map[string]string{}
	err := f.read(ctx, "read a file of a run from",
		`SELECT r.id, f.data FROM exp.fleet_files f JOIN exp.fleet_runs r ON r.number = f.run
		WHERE f.name = $1`, []any{erasedFile}, func(row scanner) error {
			var id string
			var packed []byte
			if err := row.Scan(&id, &packed); err != nil {
				return err
			}
			stamp, err := unpack(packed)
			stamps[id] = string(stamp)
			return err
		})
	return stamps, err
}

// eraseWords leaves of the result of a replayed session what was counted.
func eraseWords(t *result.Test) {
	t.Output, t.Cluster = []chat.Message{}, "" // the cluster names who it was
	for i := range t.Turns {
		t.Turns[i].Input = chat.Content{Text: replay.Erased}
		if t.Turns[i].Output != "" {
			t.Turns[i].Output = replay.Erased
		}
		t.Turns[i].ToolCalls, t.Turns[i].State = nil, nil
	}
	failures := [][]result.Failure{t.Failures}
	for i := range t.Scores {
		failures = append(failures, t.Scores[i].Failures)
		for j := range t.Scores[i].Assertions {
			a := &t.Scores[i].Assertions[j]
			a.Evidence, a.Spans, a.Voters = "", nil, nil
		}
	}
	for _, list := range failures { // which may quote the conversation
		for i := range list {
			list[i].Message = replay.Erased
		}
	}
}

// eraseReported takes the words of a session out of the report of a run, which shows some sessions.
func (f *Fleet) eraseReported(ctx context.Context, tx transaction, run int64, session string) error {
	var report *replay.Report
	err := tx.read(ctx, `SELECT data FROM exp.fleet_files WHERE run = $1 AND name = $2`, []any{
		run, ReplayFile,
	}, func(row scanner) (err error) {
		report, err = scanPacked[replay.Report](row)
		return err
	})
	if err != nil || report == nil || !report.EraseSession(session) {
		return err
	}
	data, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("report of a replay: %w", err)
	}
	_, err = tx.exec(ctx, `UPDATE exp.fleet_files SET data = $3 WHERE run = $1 AND name = $2`, run, ReplayFile,
		f.packers.pack(data))
	return err
}

// scanPacked reads a packed JSON document.
func scanPacked[T any](row scanner) (*T, error) {
	var packed []byte
	if err := row.Scan(&packed); err != nil {
		return nil, err
	}
	data, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	found := new(T)
	return found, json.Unmarshal(data, found)
}
