package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
)

// sessionTables are the tables next to the sessions of chatbots, so that one transaction writes a turn and its rows:
// the index of sessions, whose rows triggers delete with their sessions, the outbox of leads, and limits.
type sessionTables struct {
	db database
	// threads is the table of sessions, of which those count that were written within the ttl, or all if it is 0.
	threads string
	ttl     time.Duration
	// filing is whether rows of the outbox are filed after they were added.
	filing bool
}

var (
	_ sessionindex.Index = (*Checkpoints)(nil)
	_ sessionindex.Index = (*PostgresSessions)(nil)
)

// The kinds of notes.
const (
	noteTurn     = "turn"
	noteFailure  = "failure"
	noteFeedback = "feedback"
)

const (
	// dropExpiredRow deletes the row of a session that has expired and begins again under its name. A session without
	// an answer stays: it has not begun.
	dropExpiredRow = `DELETE FROM exp.session_rows WHERE thread = $1 AND NOT stateless`
	// enterRow writes the row of a session that is saved: $11 says whether a turn was answered.
	enterRow = `
		INSERT INTO exp.session_rows AS r (thread, site, session, started, last, turns, language, route, person, outcome,
			converted, email, failed, up, down, stateless, answered, logged, gone)
		VALUES ($1, $2, $3, $12, $4, $5, $6, $7, $8, 'open', $9, $10, 0, 0, 0, false, $11,
			CASE WHEN $11 THEN $5::int - 1 ELSE $5 END, 0)
		ON CONFLICT (thread) DO UPDATE SET
			last = $4, language = coalesce(nullif($6, ''), r.language), route = $7,
			person = coalesce(nullif($8, ''), r.person), outcome = CASE WHEN $11 THEN 'open' ELSE r.outcome END,
			converted = $9, email = $10, stateless = false, answered = r.answered OR $11,
			logged = CASE WHEN $11 OR r.turns = $5 THEN r.logged ELSE $5 END,
			gone = CASE WHEN $11 THEN 0 ELSE r.gone END, turns = $5`
	dropNotes = `DELETE FROM exp.session_notes WHERE thread = $1 AND kind <> 'failure' AND n > $2`
	putNote   = `INSERT INTO exp.session_notes (thread, kind, n, mark, note) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (thread, kind, n) DO UPDATE SET mark = excluded.mark, note = excluded.note`
	countThumbs = `
		UPDATE exp.session_rows SET
			up = (SELECT count(*) FROM exp.session_notes WHERE thread = $1 AND kind = 'feedback' AND mark = 'up'),
			down = (SELECT count(*) FROM exp.session_notes WHERE thread = $1 AND kind = 'feedback' AND mark = 'down')
		WHERE thread = $1`
	enterFailure = `
		INSERT INTO exp.session_rows AS r (thread, site, session, started, last, turns, language, route, person, outcome,
			converted, email, failed, up, down, stateless, answered, logged, gone)
		VALUES ($1, $2, $3, $4, $4, 0, $5, '', '', 'failed', false, false, 1, 0, 0, true, false, 0, 0)
		ON CONFLICT (thread) DO UPDATE SET last = $4, outcome = 'failed', failed = r.failed + 1 RETURNING failed`
	dropOldFailures = `DELETE FROM exp.session_notes WHERE thread = $1 AND kind = 'failure' AND n <= $2`
	// dropStateless deletes some sessions without an answer: old ones, and those beyond the maximum.
	dropStateless = `
		DELETE FROM exp.session_rows
		WHERE thread IN (SELECT thread FROM exp.session_rows WHERE stateless AND last < $1 ORDER BY last LIMIT 8 FOR UPDATE SKIP LOCKED)
			OR thread IN (SELECT thread FROM exp.session_rows WHERE stateless ORDER BY last DESC LIMIT 8 OFFSET $2 FOR UPDATE SKIP LOCKED)`
	eraseRow    = `DELETE FROM exp.session_rows WHERE thread = $1`
	pendingRows = `
		SELECT ` + sessionColumns + ` FROM exp.session_rows AS r
		WHERE thread IN (SELECT thread FROM exp.session_rows WHERE logged < turns ORDER BY last LIMIT $2)
			OR thread IN (
				SELECT thread FROM exp.session_rows WHERE answered AND NOT converted AND gone <> turns AND last <= $1
				ORDER BY last LIMIT $2)
		ORDER BY last, thread LIMIT $2`

	sessionColumns = `site, session, started, last, turns, language,
		CASE WHEN converted THEN 'converted' ELSE outcome END, route, email, failed, up, down, person, logged`
)

// enter writes the leads and the entry of a turn.
func (s *sessionTables) enter(ctx context.Context, tx transaction, thread string, r graph.Record, rows []lead.Row,
	e sessionindex.Entry) error {
	name, all := s.db.bytes(thread), s.addedRows(rows)
	if r.Parent == "" && r.Source != graph.SourceFork {
		all = append(all, statement{dropExpiredRow, []any{name}})
	}
	all = append(all, statement{enterRow, []any{
		name, s.db.bytes(e.Site), s.db.bytes(e.Session), e.At.UnixMicro(), e.Turns, s.db.text(e.Language),
		s.db.text(e.Route), s.db.text(e.Person), e.Converted, e.Email, e.Turn != nil, e.Began().UnixMicro(),
	}})
	if e.Turn == nil {
		all = append(all, statement{dropNotes, []any{name, e.Turns}}, statement{countThumbs, []any{name}})
		return tx.batch(ctx, all...)
	}
	note, err := json.Marshal(e.Turn)
	if err != nil {
		return err
	}
	return tx.batch(ctx, append(all, statement{putNote, []any{name, noteTurn, e.Turn.Number, "", string(note)}})...)
}

// erase deletes the leads of a session and its row, which it has without a thread, too, if it has no answer.
func (s *sessionTables) erase(ctx context.Context, tx transaction, thread, site, session string) error {
	if err := s.fileIn(ctx, tx); err != nil {
		return err
	}
	return tx.batch(ctx, statement{eraseRow, []any{s.db.bytes(thread)}},
		statement{s.filed(eraseRows), []any{s.db.text(session), s.db.text(site)}})
}

// Extend lets a session that has not expired live for a time at least.
func (s *sessionTables) Extend(ctx context.Context, thread string, d time.Duration) error {
	if s.ttl <= 0 {
		return nil
	}
	oldest, due := time.Now().Add(-s.ttl), false
	where := ` WHERE name = $1 AND used >= $2 AND used < $3`
	args := []any{s.db.bytes(thread), oldest.UnixMilli(), oldest.Add(d).UnixMilli()}
	err := s.db.read(ctx, `SELECT 1 FROM `+s.threads+where, args, func(row scanner) error {
		due = true
		return row.Scan(new(int64))
	})
	if err == nil && due { // seldom: a write would delay others
		_, err = s.db.exec(ctx, `UPDATE `+s.threads+` SET used = $3`+where, args...)
	}
	return s.db.explain(ctx, "lock a session in", err)
}

// alive adds the condition of rows whose sessions have not expired.
func (s *sessionTables) alive(q *conditions) {
	if s.ttl <= 0 {
		return
	}
	oldest := time.Now().Add(-s.ttl).UnixMilli()
	q.all = append(q.all, `CASE WHEN stateless THEN last >= `+q.arg(oldest*1000)+` ELSE EXISTS (SELECT 1 FROM `+
		s.threads+` AS t WHERE t.name = r.thread AND t.used >= `+q.arg(oldest)+`) END`)
}

// Sessions lists sessions: see sessionindex.Index.
func (s *sessionTables) Sessions(ctx context.Context, filter sessionindex.Query) ([]sessionindex.Row, error) {
	q := conditions{all: []string{"true"}}
	s.alive(&q)
	if filter.Site != "" {
		q.where("site = %s", s.db.bytes(filter.Site))
	}
	if !filter.Since.IsZero() {
		q.where("last >= %s", boundMicro(filter.Since))
	}
	if !filter.Until.IsZero() {
		q.where("last < %s", boundMicro(filter.Until))
	}
	switch filter.Outcome {
	case "":
	case sessionindex.Converted:
		q.all = append(q.all, "converted")
	default:
		q.where("NOT converted AND outcome = %s", string(filter.Outcome))
	}
	after, order := filter.After, "last DESC, thread DESC"
	switch {
	case !after.Changed.IsZero():
		order = "thread"
		q.where("last >= %s", boundMicro(after.Changed))
		q.where("started <= %s", boundMicro(after.Top))
		if after.Thread != "" {
			q.where("thread > %s", s.db.bytes(after.Thread))
		}
	case after.Thread != "":
		q.all = append(q.all, "(last, thread) < ("+q.arg(boundMicro(after.Last))+", "+
			q.arg(s.db.bytes(after.Thread))+")")
	}
	query := `SELECT ` + sessionColumns + ` FROM exp.session_rows AS r WHERE ` + q.String() + ` ORDER BY ` + order +
		` LIMIT ` + q.arg(filter.Limit)
	return s.sessionRows(ctx, "list the sessions of", query, q.args...)
}

func (s *sessionTables) sessionRows(ctx context.Context, op, query string, args ...any) ([]sessionindex.Row, error) {
	found := []sessionindex.Row{}
	err := s.db.read(ctx, query, args, func(row scanner) error {
		var r sessionindex.Row
		var site, session []byte
		var started, last int64
		err := row.Scan(&site, &session, &started, &last, &r.Turns, &r.Language, (*string)(&r.Outcome), &r.Route,
			&r.Email, &r.Failed, &r.Feedback.Up, &r.Feedback.Down, &r.Person, &r.Logged)
		r.Site, r.Session = string(site), string(session)
		r.Started, r.Last = time.UnixMicro(started).UTC(), time.UnixMicro(last).UTC()
		found = append(found, r)
		return err
	})
	return found, s.db.explain(ctx, op, err)
}

// Session returns what is stored of a session: see sessionindex.Index.
func (s *sessionTables) Session(ctx context.Context, site, session string) (*sessionindex.Stored, error) {
	const op = "read a session of"
	thread := s.db.bytes(sessionindex.Thread(site, session))
	var q conditions
	q.where("thread = %s", thread)
	s.alive(&q)
	rows, err := s.sessionRows(ctx, op, `SELECT `+sessionColumns+` FROM exp.session_rows AS r WHERE `+q.String(),
		q.args...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	k := &sessionindex.Stored{Row: rows[0]}
	err = s.db.read(ctx, `SELECT kind, note FROM exp.session_notes WHERE thread = $1 ORDER BY kind, n`, []any{thread},
		func(row scanner) error {
			var kind, note string
			err := row.Scan(&kind, &note)
			if err != nil {
				return err
			}
			switch kind {
			case noteTurn:
				k.Turns, err = appended(k.Turns, note)
			case noteFailure:
				k.Failures, err = appended(k.Failures, note)
			case noteFeedback:
				k.Feedback, err = appended(k.Feedback, note)
			}
			return err
		})
	return k, s.db.explain(ctx, op, err)
}

func appended[T any](list []T, note string) ([]T, error) {
	var one T
	err := json.Unmarshal([]byte(note), &one)
	return append(list, one), err
}

// Note notes something that changed nothing of a state: see sessionindex.Index.
func (s *sessionTables) Note(ctx context.Context, site, session string, n sessionindex.Note) (there bool, err error) {
	thread := s.db.bytes(sessionindex.Thread(site, session))
	err = s.db.write(ctx, func(tx transaction) error {
		switch {
		case n.Failure != nil:
			there = true
			return s.noteFailure(ctx, tx, site, session, n)
		case n.Blocked != nil:
			changed, err := tx.exec(ctx, `UPDATE exp.session_rows SET last = $1, outcome = 'blocked' WHERE thread = $2`,
				n.Blocked.UnixMicro(), thread)
			there = changed > 0
			return err
		}
		there = false
		// The row stays until the note on it is written.
		err := tx.read(ctx, `SELECT 1 FROM exp.session_rows WHERE thread = $1 FOR UPDATE`, []any{thread},
			func(row scanner) error {
				there = true
				return row.Scan(new(int64))
			})
		if err != nil || !there {
			return err
		}
		note, err := json.Marshal(n.Feedback)
		if err != nil {
			return err
		}
		return tx.batch(ctx, statement{putNote, []any{
			thread, noteFeedback, n.Feedback.Turn, s.db.text(n.Feedback.Rating), string(note),
		}}, statement{countThumbs, []any{thread}})
	})
	return there && err == nil, s.db.explain(ctx, "note what happened to a session in", err)
}

func (s *sessionTables) noteFailure(ctx context.Context, tx transaction, site, session string,
	n sessionindex.Note) error {
	thread, at := s.db.bytes(sessionindex.Thread(site, session)), n.Failure.At
	note, err := json.Marshal(n.Failure)
	if err != nil {
		return err
	}
	retention := sessionindex.StatelessRetention
	if s.ttl > 0 {
		retention = min(retention, s.ttl)
	}
	if _, err := tx.exec(ctx, dropStateless, at.Add(-retention).UnixMicro(), sessionindex.MaxStateless-1); err != nil {
		return err
	}
	var number int
	err = tx.read(ctx, enterFailure, []any{
		thread, s.db.bytes(site), s.db.bytes(session), at.UnixMicro(), s.db.text(n.Language),
	}, func(row scanner) error { return row.Scan(&number) })
	if err != nil {
		return err
	}
	return tx.batch(ctx, statement{putNote, []any{thread, noteFailure, number, "", string(note)}},
		statement{dropOldFailures, []any{thread, number - sessionindex.MaxFailures}})
}

// Pending returns sessions that are to be logged: see sessionindex.Index.
func (s *sessionTables) Pending(ctx context.Context, idle time.Time, limit int) ([]sessionindex.Row, error) {
	return s.sessionRows(ctx, "look for turns to log in", pendingRows, idle.UnixMicro(), limit)
}

// Logged records what of a session is logged: see sessionindex.Index.
func (s *sessionTables) Logged(ctx context.Context, site, session string, turn int, left bool) (there bool, err error) {
	changed, err := s.db.exec(ctx, `UPDATE exp.session_rows SET logged = CASE WHEN logged < $2 THEN $2 ELSE logged END,
			gone = CASE WHEN $3 THEN $2 ELSE gone END WHERE thread = $1`,
		s.db.bytes(sessionindex.Thread(site, session)), turn, left)
	return changed > 0, s.db.explain(ctx, "note what was logged in", err)
}
