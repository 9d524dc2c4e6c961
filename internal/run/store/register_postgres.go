package store

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
)

// In PostgreSQL the register lies beside the sessions, too, and triggers take a row along with its session.
var _ sessionindex.Index = (*PostgresSessions)(nil)

const (
	// expiredRowPostgres drops the row of a session that has expired and begins anew under its name. A session without
	// an answer stays: it has not begun.
	expiredRowPostgres = `DELETE FROM exp.session_rows WHERE thread = $1 AND NOT stateless`
	// enterPostgres writes the row of a session that is saved: $11 says whether a turn was answered.
	enterPostgres = `
		INSERT INTO exp.session_rows AS r (thread, site, session, started, last, turns, language, route, person, outcome, converted, email, failed, up, down,
			stateless, answered, logged, gone)
		VALUES ($1, $2, $3, $12, $4, $5, $6, $7, $8, 'open', $9, $10, 0, 0, 0, false, $11, CASE WHEN $11 THEN $5::int - 1 ELSE $5 END, 0)
		ON CONFLICT (thread) DO UPDATE SET
			last = $4, language = coalesce(nullif($6, ''), r.language), route = $7, person = coalesce(nullif($8, ''), r.person),
			outcome = CASE WHEN $11 THEN 'open' ELSE r.outcome END, converted = $9, email = $10, stateless = false, answered = r.answered OR $11,
			logged = CASE WHEN $11 OR r.turns = $5 THEN r.logged ELSE $5 END, gone = CASE WHEN $11 THEN 0 ELSE r.gone END, turns = $5`
	dropNotesPostgres = `DELETE FROM exp.session_notes WHERE thread = $1 AND kind <> 'failure' AND n > $2`
	putNotePostgres   = `INSERT INTO exp.session_notes (thread, kind, n, mark, note) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (thread, kind, n) DO UPDATE SET mark = excluded.mark, note = excluded.note`
	thumbsPostgres = `
		UPDATE exp.session_rows SET
			up = (SELECT count(*) FROM exp.session_notes WHERE thread = $1 AND kind = 'feedback' AND mark = 'up'),
			down = (SELECT count(*) FROM exp.session_notes WHERE thread = $1 AND kind = 'feedback' AND mark = 'down')
		WHERE thread = $1`
	failedPostgres = `
		INSERT INTO exp.session_rows AS r (thread, site, session, started, last, turns, language, route, person, outcome, converted, email, failed, up, down,
			stateless, answered, logged, gone)
		VALUES ($1, $2, $3, $4, $4, 0, $5, '', '', 'failed', false, false, 1, 0, 0, true, false, 0, 0)
		ON CONFLICT (thread) DO UPDATE SET last = $4, outcome = 'failed', failed = r.failed + 1 RETURNING failed`
	oldFailuresPostgres = `DELETE FROM exp.session_notes WHERE thread = $1 AND kind = 'failure' AND n <= $2`
	// dropStatelessPostgres drops some sessions without an answer: old ones, and those that are too many.
	dropStatelessPostgres = `
		DELETE FROM exp.session_rows
		WHERE thread IN (SELECT thread FROM exp.session_rows WHERE stateless AND last < $1 ORDER BY last LIMIT 8 FOR UPDATE SKIP LOCKED)
			OR thread IN (SELECT thread FROM exp.session_rows WHERE stateless ORDER BY last DESC LIMIT 8 OFFSET $2 FOR UPDATE SKIP LOCKED)`
	blockedPostgres = `UPDATE exp.session_rows SET last = $1, outcome = 'blocked' WHERE thread = $2`
	// therePostgres keeps the row in its place until the note beside it is written.
	therePostgres    = `SELECT 1 FROM exp.session_rows WHERE thread = $1 FOR UPDATE`
	loggedPostgres   = `UPDATE exp.session_rows SET logged = greatest(logged, $2), gone = CASE WHEN $3 THEN $2 ELSE gone END WHERE thread = $1`
	eraseRowPostgres = `DELETE FROM exp.session_rows WHERE thread = $1`
	notesPostgres    = `SELECT kind, note FROM exp.session_notes WHERE thread = $1 ORDER BY kind, n`
	pendingPostgres  = `
		SELECT ` + postgresRowColumns + ` FROM exp.session_rows AS r
		WHERE thread IN (SELECT thread FROM exp.session_rows WHERE logged < turns ORDER BY last LIMIT $2)
			OR thread IN (SELECT thread FROM exp.session_rows WHERE answered AND NOT converted AND gone <> turns AND last <= $1 ORDER BY last LIMIT $2)
		ORDER BY last, thread LIMIT $2`

	postgresRowColumns = `site, session, started, last, turns, language, CASE WHEN converted THEN 'converted' ELSE outcome END, route, email, failed, up, down,
		person, logged`
)

// SaveTurn saves a record with its leads and its entry: see sessionindex.Index.
func (s *PostgresSessions) SaveTurn(ctx context.Context, thread string, r graph.Record, rows []lead.Row,
	e sessionindex.Entry) error {
	name := []byte(thread)
	return s.postgresThreads.SaveWith(ctx, thread, r, func(ctx context.Context, tx pgx.Tx) error {
		var all pgx.Batch
		addPostgresRows(&all, rows)
		if r.Parent == "" && r.Source != graph.SourceFork {
			all.Queue(expiredRowPostgres, name)
		}
		all.Queue(enterPostgres, name, []byte(e.Site), []byte(e.Session),
			e.At.UnixMicro(), e.Turns, plainText(e.Language), plainText(e.Route),
			plainText(e.Person), e.Converted, e.Email, e.Turn != nil, e.Began().UnixMicro())
		if e.Turn != nil {
			note, err := json.Marshal(e.Turn)
			if err != nil {
				return err
			}
			all.Queue(putNotePostgres, name, noteTurn, e.Turn.Number, "", string(note))
		} else {
			all.Queue(dropNotesPostgres, name, e.Turns)
			all.Queue(thumbsPostgres, name)
		}
		return tx.SendBatch(ctx, &all).Close()
	})
}

// alive is the condition of rows whose sessions have not expired, with its arguments from $1 on.
func (s *PostgresSessions) alive() (condition string, args []any) {
	if s.ttl <= 0 {
		return "true", nil
	}
	oldest := time.Now().Add(-s.ttl).UnixMilli()
	return `CASE WHEN stateless THEN last >= $1 ELSE EXISTS (SELECT 1 FROM exp.session_threads AS t WHERE t.name = r.thread AND t.used >= $2) END`,
		[]any{oldest * 1000, oldest}
}

// Sessions lists sessions: see sessionindex.Index.
func (s *PostgresSessions) Sessions(ctx context.Context, q sessionindex.Query) ([]sessionindex.Row, error) {
	alive, args := s.alive()
	where := []string{alive}
	place := func(value any) string {
		args = append(args, value)
		return "$" + strconv.Itoa(len(args))
	}
	if q.Site != "" {
		where = append(where, "site = "+place([]byte(q.Site)))
	}
	if !q.Since.IsZero() {
		where = append(where, "last >= "+place(boundMicro(q.Since)))
	}
	if !q.Until.IsZero() {
		where = append(where, "last < "+place(boundMicro(q.Until)))
	}
	switch q.Outcome {
	case "":
	case sessionindex.Converted:
		where = append(where, "converted")
	default:
		where = append(where, "NOT converted AND outcome = "+place(string(q.Outcome)))
	}
	if q.After.Thread != "" {
		where = append(where, "(last, thread) < ("+place(q.After.Last.UnixMicro())+", "+
			place([]byte(q.After.Thread))+")")
	}
	rows, err := s.rows(ctx, `SELECT `+postgresRowColumns+` FROM exp.session_rows AS r WHERE `+
		strings.Join(where, " AND ")+` ORDER BY last DESC, thread DESC LIMIT `+place(q.Limit), args...)
	return rows, s.db.explain(ctx, "list the sessions of", err)
}

func (s *PostgresSessions) rows(ctx context.Context, query string, args ...any) ([]sessionindex.Row, error) {
	found, err := s.db.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, func(row pgx.CollectableRow) (r sessionindex.Row, err error) {
		var site, session []byte
		var started, last int64
		err = row.Scan(&site, &session, &started, &last, &r.Turns, &r.Language, (*string)(&r.Outcome), &r.Route,
			&r.Email, &r.Failed, &r.Feedback.Up, &r.Feedback.Down, &r.Person, &r.Logged)
		r.Site, r.Session = string(site), string(session)
		r.Started, r.Last = time.UnixMicro(started).UTC(), time.UnixMicro(last).UTC()
		return r, err
	})
}

// Session returns what is kept of a session: see sessionindex.Index.
func (s *PostgresSessions) Session(ctx context.Context, site, session string) (*sessionindex.Stored, error) {
	name := []byte(sessionindex.Thread(site, session))
	alive, args := s.alive()
	args = append(args, name)
	rows, err := s.rows(ctx, `SELECT `+postgresRowColumns+` FROM exp.session_rows AS r WHERE `+alive+` AND thread = $`+
		strconv.Itoa(len(args)), args...)
	if err != nil || len(rows) == 0 {
		return nil, s.db.explain(ctx, "read a session of", err)
	}
	k := &sessionindex.Stored{Row: rows[0]}
	notes, err := s.db.pool.Query(ctx, notesPostgres, name)
	if err == nil {
		var kind, note string
		_, err = pgx.ForEachRow(notes, []any{&kind, &note}, func() error { return addNote(k, kind, []byte(note)) })
	}
	return k, s.db.explain(ctx, "read a session of", err)
}

// Note notes something that changed nothing of a state: see sessionindex.Index.
func (s *PostgresSessions) Note(ctx context.Context, site, session string,
	n sessionindex.Note) (there bool, err error) {
	name := []byte(sessionindex.Thread(site, session))
	err = pgx.BeginFunc(ctx, s.db.pool, func(tx pgx.Tx) error {
		switch {
		case n.Failure != nil:
			there = true
			return s.noteFailure(ctx, tx, site, session, n)
		case n.Blocked != nil:
			done, err := tx.Exec(ctx, blockedPostgres, n.Blocked.UnixMicro(), name)
			there = done.RowsAffected() > 0
			return err
		}
		there, err = notePostgresThumb(ctx, tx, name, n.Feedback)
		return err
	})
	return there && err == nil, s.db.explain(ctx, "note what happened to a session in", err)
}

func (s *PostgresSessions) noteFailure(ctx context.Context, tx pgx.Tx, site, session string,
	n sessionindex.Note) error {
	name, at := []byte(sessionindex.Thread(site, session)), n.Failure.At
	note, err := json.Marshal(n.Failure)
	if err != nil {
		return err
	}
	keep := sessionindex.StatelessRetention
	if s.ttl > 0 {
		keep = min(keep, s.ttl)
	}
	if _, err := tx.Exec(ctx, dropStatelessPostgres, at.Add(-keep).UnixMicro(),
		sessionindex.MaxStateless-1); err != nil {
		return err
	}
	var number int
	if err := tx.QueryRow(ctx, failedPostgres, name, []byte(site), []byte(session), at.UnixMicro(),
		plainText(n.Language)).Scan(&number); err != nil {
		return err
	}
	var all pgx.Batch
	all.Queue(putNotePostgres, name, noteFailure, number, "", string(note))
	all.Queue(oldFailuresPostgres, name, number-sessionindex.MaxFailures)
	return tx.SendBatch(ctx, &all).Close()
}

func notePostgresThumb(ctx context.Context, tx pgx.Tx, name []byte, f *sessionindex.Feedback) (there bool, err error) {
	var one int
	if err := tx.QueryRow(ctx, therePostgres, name).Scan(&one); err != nil {
		if errors.Is(err, pgx.ErrNoRows) {
			err = nil
		}
		return false, err
	}
	note, err := json.Marshal(f)
	if err != nil {
		return false, err
	}
	var all pgx.Batch
	all.Queue(putNotePostgres, name, noteFeedback, f.Turn, plainText(f.Rating), string(note))
	all.Queue(thumbsPostgres, name)
	return true, tx.SendBatch(ctx, &all).Close()
}

// Pending returns sessions that are to be logged: see sessionindex.Index.
func (s *PostgresSessions) Pending(ctx context.Context, idle time.Time, limit int) ([]sessionindex.Row, error) {
	rows, err := s.rows(ctx, pendingPostgres, idle.UnixMicro(), limit)
	return rows, s.db.explain(ctx, "look for turns to log in", err)
}

// Logged says what of a session is logged: see sessionindex.Index.
func (s *PostgresSessions) Logged(ctx context.Context, site, session string, turn int,
	left bool) (there bool, err error) {
	done, err := s.db.pool.Exec(ctx, loggedPostgres, []byte(sessionindex.Thread(site, session)), turn, left)
	return err == nil && done.RowsAffected() > 0, s.db.explain(ctx, "note what was logged in", err)
}
