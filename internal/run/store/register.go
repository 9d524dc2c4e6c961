package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
)

// The register lies beside the sessions, so that one transaction writes a turn and its row. Triggers take a row along
// with its session.
var _ sessionindex.Index = (*Checkpoints)(nil)

// The kinds of notes.
const (
	noteTurn     = "turn"
	noteFailure  = "failure"
	noteFeedback = "feedback"
)

const (
	// enterQuery writes the row of a session that is saved: ?11 says whether a turn was answered.
	enterQuery = `
		INSERT INTO session_rows (thread, site, session, started, last, turns, language, route, person, outcome, converted, email, failed, up, down,
			stateless, answered, logged, gone)
		VALUES (?1, ?2, ?3, ?12, ?4, ?5, ?6, ?7, ?8, 'open', ?9, ?10, 0, 0, 0, 0, ?11, iif(?11, ?5 - 1, ?5), 0)
		ON CONFLICT (thread) DO UPDATE SET
			last = ?4, language = iif(?6 = '', language, ?6), route = ?7, person = iif(?8 = '', person, ?8), outcome = iif(?11, 'open', outcome),
			converted = ?9, email = ?10, stateless = 0, answered = answered OR ?11, logged = iif(?11 OR turns = ?5, logged, ?5),
			gone = iif(?11, 0, gone), turns = ?5`
	dropNotesQuery = `DELETE FROM session_notes WHERE thread = ? AND kind <> 'failure' AND n > ?`
	putNoteQuery   = `INSERT INTO session_notes (thread, kind, n, mark, note) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (thread, kind, n) DO UPDATE SET mark = excluded.mark, note = excluded.note`
	thumbsQuery = `
		UPDATE session_rows SET
			up = (SELECT count(*) FROM session_notes WHERE thread = ?1 AND kind = 'feedback' AND mark = 'up'),
			down = (SELECT count(*) FROM session_notes WHERE thread = ?1 AND kind = 'feedback' AND mark = 'down')
		WHERE thread = ?1`
	failedQuery = `
		INSERT INTO session_rows (thread, site, session, started, last, turns, language, route, person, outcome, converted, email, failed, up, down,
			stateless, answered, logged, gone)
		VALUES (?1, ?2, ?3, ?4, ?4, 0, ?5, '', '', 'failed', 0, 0, 1, 0, 0, 1, 0, 0, 0)
		ON CONFLICT (thread) DO UPDATE SET last = ?4, outcome = 'failed', failed = failed + 1 RETURNING failed`
	oldFailuresQuery = `DELETE FROM session_notes WHERE thread = ? AND kind = 'failure' AND n <= ?`
	// dropStatelessQuery drops some sessions without an answer: old ones, and those that are too many.
	dropStatelessQuery = `
		DELETE FROM session_rows WHERE thread IN (SELECT thread FROM session_rows WHERE stateless AND last < ?1 ORDER BY last LIMIT 8)
			OR thread IN (SELECT thread FROM session_rows WHERE stateless ORDER BY last DESC LIMIT 8 OFFSET ?2)`
	blockedQuery  = `UPDATE session_rows SET last = ?, outcome = 'blocked' WHERE thread = ?`
	thereQuery    = `SELECT count(*) FROM session_rows WHERE thread = ?`
	loggedQuery   = `UPDATE session_rows SET logged = max(logged, ?2), gone = iif(?3, ?2, gone) WHERE thread = ?1`
	eraseRowQuery = `DELETE FROM session_rows WHERE thread = ?`
	notesQuery    = `SELECT kind, note FROM session_notes WHERE thread = ? ORDER BY kind, n`
	pendingQuery  = `
		SELECT ` + sessionColumns + ` FROM session_rows AS r WHERE thread IN (SELECT thread FROM session_rows WHERE logged < turns ORDER BY last LIMIT ?2)
			OR thread IN (SELECT thread FROM session_rows WHERE answered AND NOT converted AND gone <> turns AND last <= ?1 ORDER BY last LIMIT ?2)
		ORDER BY last, thread LIMIT ?2`

	sessionColumns = `site, session, started, last, turns, language, iif(converted, 'converted', outcome), route, email, failed, up, down, person, logged`
)

// SaveTurn saves a record with its leads and its entry: see sessionindex.Index.
func (c *Checkpoints) SaveTurn(ctx context.Context, thread string, r graph.Record, rows []lead.Row,
	e sessionindex.Entry) error {
	return c.Saver.SaveWith(ctx, thread, r, func(ctx context.Context, tx *sql.Tx) error {
		if err := c.addRows(ctx, tx, rows); err != nil {
			return err
		}
		if _, err := c.enter.Exec(ctx, tx, thread, e.Site, e.Session, e.At.UnixMicro(), e.Turns, e.Language,
			e.Route, e.Person,
			e.Converted, e.Email, e.Turn != nil, e.Began().UnixMicro()); err != nil {
			return err
		}
		if e.Turn != nil {
			note, err := json.Marshal(e.Turn)
			if err != nil {
				return err
			}
			_, err = c.putNote.Exec(ctx, tx, thread, noteTurn, e.Turn.Number, "", string(note))
			return err
		}
		if _, err := tx.ExecContext(ctx, dropNotesQuery, thread, e.Turns); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, thumbsQuery, thread)
		return err
	})
}

// alive is the condition of rows whose sessions have not expired, with its arguments.
func (c *Checkpoints) alive() (condition string, args []any) {
	if c.ttl <= 0 {
		return "true", nil
	}
	oldest := time.Now().Add(-c.ttl).UnixMilli()
	return `iif(stateless, last >= ?, EXISTS (SELECT 1 FROM checkpoint_threads AS t WHERE t.name = r.thread AND t.used >= ?))`,
		[]any{oldest * 1000, oldest}
}

// Sessions lists sessions: see sessionindex.Index.
func (c *Checkpoints) Sessions(ctx context.Context, q sessionindex.Query) ([]sessionindex.Row, error) {
	alive, args := c.alive()
	where := []string{alive}
	add := func(condition string, values ...any) { where, args = append(where, condition), append(args, values...) }
	if q.Site != "" {
		add("site = ?", q.Site)
	}
	if !q.Since.IsZero() {
		add("last >= ?", boundMicro(q.Since))
	}
	if !q.Until.IsZero() {
		add("last < ?", boundMicro(q.Until))
	}
	switch q.Outcome {
	case "":
	case sessionindex.Converted:
		add("converted")
	default:
		add("NOT converted AND outcome = ?", string(q.Outcome))
	}
	if q.After.Thread != "" {
		add("(last, thread) < (?, ?)", q.After.Last.UnixMicro(), q.After.Thread)
	}
	query := `SELECT ` + sessionColumns + ` FROM session_rows AS r WHERE ` + strings.Join(where, " AND ") +
		` ORDER BY last DESC, thread DESC LIMIT ?`
	rows, err := c.sessionRows(ctx, query, append(args, q.Limit)...)
	return rows, explain("list the sessions of", c.store.path, err)
}

func (c *Checkpoints) sessionRows(ctx context.Context, query string, args ...any) ([]sessionindex.Row, error) {
	found := []sessionindex.Row{}
	err := c.store.each(ctx, query, args, func(rows *sql.Rows) error {
		var r sessionindex.Row
		var started, last int64
		err := rows.Scan(&r.Site, &r.Session, &started, &last, &r.Turns, &r.Language, (*string)(&r.Outcome), &r.Route,
			&r.Email, &r.Failed, &r.Feedback.Up, &r.Feedback.Down, &r.Person, &r.Logged)
		r.Started, r.Last = time.UnixMicro(started).UTC(), time.UnixMicro(last).UTC()
		found = append(found, r)
		return err
	})
	return found, err
}

// Session returns what is kept of a session: see sessionindex.Index.
func (c *Checkpoints) Session(ctx context.Context, site, session string) (*sessionindex.Stored, error) {
	thread := sessionindex.Thread(site, session)
	alive, args := c.alive()
	rows, err := c.sessionRows(ctx, `SELECT `+sessionColumns+` FROM session_rows AS r WHERE `+alive+` AND thread = ?`,
		append(args, thread)...)
	if err != nil || len(rows) == 0 {
		return nil, explain("read a session of", c.store.path, err)
	}
	k := &sessionindex.Stored{Row: rows[0]}
	err = c.store.each(ctx, notesQuery, []any{thread}, func(rows *sql.Rows) error {
		var kind, note string
		if err := rows.Scan(&kind, &note); err != nil {
			return err
		}
		return addNote(k, kind, []byte(note))
	})
	return k, explain("read a session of", c.store.path, err)
}

// addNote adds a note to what is kept of a session.
func addNote(k *sessionindex.Stored, kind string, note []byte) (err error) {
	switch kind {
	case noteTurn:
		k.Turns, err = appended(k.Turns, note)
	case noteFailure:
		k.Failures, err = appended(k.Failures, note)
	case noteFeedback:
		k.Feedback, err = appended(k.Feedback, note)
	}
	return err
}

func appended[T any](list []T, note []byte) ([]T, error) {
	var one T
	err := json.Unmarshal(note, &one)
	return append(list, one), err
}

// Note notes something that changed nothing of a state: see sessionindex.Index.
func (c *Checkpoints) Note(ctx context.Context, site, session string, n sessionindex.Note) (there bool, err error) {
	thread := sessionindex.Thread(site, session)
	err = c.store.write(ctx, func(tx *sql.Tx) error {
		there = true
		switch {
		case n.Failure != nil:
			return c.noteFailure(ctx, tx, site, session, n)
		case n.Blocked != nil:
			there, err = changed(tx.ExecContext(ctx, blockedQuery, n.Blocked.UnixMicro(), thread))
			return err
		}
		there, err = noteThumb(ctx, tx, thread, n.Feedback)
		return err
	})
	return there, explain("note what happened to a session in", c.store.path, err)
}

func (c *Checkpoints) noteFailure(ctx context.Context, tx *sql.Tx, site, session string, n sessionindex.Note) error {
	thread, at := sessionindex.Thread(site, session), n.Failure.At
	note, err := json.Marshal(n.Failure)
	if err != nil {
		return err
	}
	keep := sessionindex.StatelessRetention
	if c.ttl > 0 {
		keep = min(keep, c.ttl)
	}
	if _, err := tx.ExecContext(ctx, dropStatelessQuery, at.Add(-keep).UnixMicro(),
		sessionindex.MaxStateless-1); err != nil {
		return err
	}
	var number int
	if err := tx.QueryRowContext(ctx, failedQuery, thread, site, session, at.UnixMicro(), n.Language).
		Scan(&number); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, putNoteQuery, thread, noteFailure, number, "", string(note)); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, oldFailuresQuery, thread, number-sessionindex.MaxFailures)
	return err
}

func noteThumb(ctx context.Context, tx *sql.Tx, thread string, f *sessionindex.Feedback) (there bool, err error) {
	var rows int
	if err := tx.QueryRowContext(ctx, thereQuery, thread).Scan(&rows); err != nil || rows == 0 {
		return false, err
	}
	note, err := json.Marshal(f)
	if err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, putNoteQuery, thread, noteFeedback, f.Turn, f.Rating, string(note)); err != nil {
		return false, err
	}
	_, err = tx.ExecContext(ctx, thumbsQuery, thread)
	return true, err
}

// changed reports whether a statement has changed a row.
func changed(done sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}

// Pending returns sessions that are to be logged: see sessionindex.Index.
func (c *Checkpoints) Pending(ctx context.Context, idle time.Time, limit int) ([]sessionindex.Row, error) {
	rows, err := c.sessionRows(ctx, pendingQuery, idle.UnixMicro(), limit)
	return rows, explain("look for turns to log in", c.store.path, err)
}

// Logged says what of a session is logged: see sessionindex.Index.
func (c *Checkpoints) Logged(ctx context.Context, site, session string, turn int, left bool) (there bool, err error) {
	err = c.store.write(ctx, func(tx *sql.Tx) error {
		there, err = changed(tx.ExecContext(ctx, loggedQuery, sessionindex.Thread(site, session), turn, left))
		return err
	})
	return there, explain("note what was logged in", c.store.path, err)
}
