package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
)

var (
	_ lead.Outbox = (*Checkpoints)(nil)
	_ lead.Ledger = (*Checkpoints)(nil)
	_ lead.Outbox = (*PostgresSessions)(nil)
	_ lead.Ledger = (*PostgresSessions)(nil)
)

// In a file, a turn adds its rows at the end of the table, where no index has them: it writes one or two pages, and not
// five. A reader of the outbox files them first. That is the dispatcher, as a rule within the same second, and it files
// the rows of many turns at once. Queries on what is in the outbox are for filed rows, as indexes have only those. In
// PostgreSQL there is no such column: see filed.
const (
	addRow = `INSERT INTO exp.outbox (id, site, session, event, receiver, state, attempts, tries, created_at, since, due,
			token, ended, error, body)
		VALUES ($1, $2, $3, $4, $5, 'pending', 0, 0, $6, $6, $6, '', 0, '', $7) ON CONFLICT DO NOTHING`
	// fileRows makes the rows after one due. It leaves those whose id is filed already, which dropTwins deletes.
	fileRows  = `UPDATE OR IGNORE outbox SET filed = 1, since = created_at, due = created_at WHERE number > $1`
	dropTwins = `DELETE FROM outbox WHERE number > $1 AND NOT filed`

	// dueAddresses finds out who has rows that are due. It only reads, as most calls find nothing.
	dueAddresses = `SELECT DISTINCT receiver, site FROM exp.outbox WHERE filed AND state = 'pending' AND due <= $1`
	// claimRows leaves rows alone that another caller is claiming.
	claimRows = `
		UPDATE exp.outbox SET token = $1, due = $2, attempts = attempts + 1, tries = tries + 1 WHERE number IN (
			SELECT number FROM exp.outbox WHERE filed AND state = 'pending' AND due <= $3 AND receiver = $4 AND site = $5
			ORDER BY due, number LIMIT $6 FOR UPDATE SKIP LOCKED
		) RETURNING ` + rowColumns
	finishRow = `
		UPDATE exp.outbox SET state = $1, due = $2, token = '', ended = $3, error = $4
		WHERE filed AND session = $5 AND site = $6 AND id = $7 AND token = $8 AND token <> ''`
	reviveRows = `
		UPDATE exp.outbox SET due = $1
		WHERE filed AND state = 'pending' AND receiver = $2 AND site = $3 AND (token = '' OR due <= $1)`
	// failUnclaimed has rows fail that no dispatcher delivers.
	failUnclaimed = `
		UPDATE exp.outbox SET state = 'failed', ended = $1, error = $2, token = ''
		WHERE filed AND state = 'pending' AND due <= $3`
	dropBodies = `UPDATE exp.outbox SET body = NULL WHERE state = 'delivered' AND ended <= $1 AND body IS NOT NULL`
	dropRows   = `DELETE FROM exp.outbox WHERE state <> 'pending' AND ended <= $1`
	eraseRows  = `DELETE FROM exp.outbox WHERE filed AND session = $1 AND site = $2`

	rowColumns = `id, site, session, event, receiver, state, attempts, tries, created_at, since, due, ended, error, body`
)

// filed returns a query on filed rows: in PostgreSQL all are.
func (s *sessionTables) filed(query string) string {
	if s.filing {
		return query
	}
	return strings.ReplaceAll(query, "filed AND ", "")
}

// addedRows adds the rows of a turn. A row that exists stays as it is.
func (s *sessionTables) addedRows(rows []lead.Row) []statement {
	all := make([]statement, len(rows))
	for i := range rows {
		r := &rows[i]
		all[i] = statement{addRow, []any{
			r.ID, s.db.text(r.Site), s.db.text(r.Session), r.Event, r.Receiver, r.Created.UnixMicro(), []byte(r.Body),
		}}
	}
	return all
}

// AddLeads adds rows to the outbox by themselves: see SessionIndex.
func (s *sessionTables) AddLeads(ctx context.Context, rows []lead.Row) error {
	return s.db.explain(ctx, "add leads to", s.db.write(ctx, func(tx transaction) error {
		return tx.batch(ctx, s.addedRows(rows)...)
	}))
}

// file files the rows that have been added, if there are any.
func (s *sessionTables) file(ctx context.Context) error {
	if !s.filing {
		return nil
	}
	filed := true
	err := s.db.read(ctx, `SELECT filed FROM outbox ORDER BY number DESC LIMIT 1`, nil, func(row scanner) error {
		return row.Scan(&filed) // of the last row: then all are
	})
	if err != nil || filed {
		return err
	}
	return s.db.write(ctx, func(tx transaction) error { return s.fileIn(ctx, tx) })
}

// fileIn files all rows. Of those with one id the first stays, as it is.
func (s *sessionTables) fileIn(ctx context.Context, tx transaction) error {
	if !s.filing {
		return nil
	}
	var last int64
	err := tx.read(ctx, `SELECT coalesce((SELECT number FROM outbox WHERE filed ORDER BY number DESC LIMIT 1), 0)`, nil,
		func(row scanner) error { return row.Scan(&last) })
	if err != nil {
		return err
	}
	return tx.batch(ctx, statement{fileRows, []any{last}}, statement{dropTwins, []any{last}})
}

// Claim claims rows that are due: see lead.Outbox.
func (s *sessionTables) Claim(ctx context.Context, now time.Time, wants []lead.Want) (claims []lead.Claim, err error) {
	var due []lead.Address
	if err = s.file(ctx); err == nil {
		err = s.db.read(ctx, s.filed(dueAddresses), []any{now.UnixMicro()}, func(row scanner) error {
			var a lead.Address
			err := row.Scan(&a.Receiver, &a.Site)
			due = append(due, a)
			return err
		})
	}
	token := rand.Text()
	var lists [][]any
	for _, w := range wants {
		if slices.Contains(due, w.Address) {
			lists = append(lists, []any{
				token, now.Add(lead.Lease).UnixMicro(), now.UnixMicro(), w.Receiver, w.Site, w.Most,
			})
		}
	}
	if err != nil || len(lists) == 0 {
		return nil, s.db.explain(ctx, "look for leads in", err)
	}
	err = s.db.write(ctx, func(tx transaction) error {
		return tx.each(ctx, s.filed(claimRows), lists, func(_ int, row scanner) error {
			r, err := scanLead(row)
			claims = append(claims, lead.Claim{Row: r, Token: token})
			return err
		})
	})
	if err != nil {
		return nil, s.db.explain(ctx, "claim leads in", err)
	}
	return claims, nil
}

// Finish records the result of an attempt: see lead.Outbox.
func (s *sessionTables) Finish(ctx context.Context, claim lead.Claim, r lead.Result) error {
	due, ended := r.Next.UnixMicro(), int64(0)
	if r.State != lead.Pending {
		due, ended = r.At.UnixMicro(), r.At.UnixMicro()
	}
	_, err := s.db.exec(ctx, s.filed(finishRow), string(r.State), due, ended, s.db.text(r.Error), claim.Session,
		claim.Site, claim.ID, claim.Token)
	return s.db.explain(ctx, "write down a lead in", err)
}

// Tend revives, drops and gives up rows: see lead.Outbox.
func (s *sessionTables) Tend(ctx context.Context, now time.Time, revive []lead.Address) error {
	before := func(retention time.Duration) int64 { return now.Add(-retention).UnixMicro() }
	var all []statement
	for _, a := range revive {
		all = append(all, statement{s.filed(reviveRows), []any{now.UnixMicro(), a.Receiver, a.Site}})
	}
	all = append(all, statement{s.filed(failUnclaimed), []any{now.UnixMicro(), lead.Unclaimed, before(lead.GiveUp)}},
		statement{dropBodies, []any{before(lead.BodyRetention)}}, statement{dropRows, []any{before(lead.RowRetention)}})
	return s.db.explain(ctx, "tidy the leads of", s.db.write(ctx, func(tx transaction) error {
		if err := s.fileIn(ctx, tx); err != nil {
			return err
		}
		return tx.batch(ctx, all...)
	}))
}

// Leads returns rows without their bodies, the oldest first.
func (s *sessionTables) Leads(ctx context.Context, f lead.Filter) ([]lead.Row, error) {
	q := conditions{all: []string{s.filed("filed AND true")}}
	for _, by := range []column[string]{{"session", f.Session}, {"site", f.Site}, {"state", string(f.State)}} {
		if by.value != "" {
			q.where(by.column+" = %s", s.db.text(by.value))
		}
	}
	found := []lead.Row{}
	err := s.file(ctx)
	if err == nil {
		err = s.db.read(ctx, `SELECT `+rowColumns+` FROM exp.outbox WHERE `+q.String()+` ORDER BY number`, q.args,
			func(row scanner) error {
				r, err := scanLead(row)
				r.Body = nil
				found = append(found, r)
				return err
			})
	}
	return found, s.db.explain(ctx, "list the leads of", err)
}

// Resend makes rows pending and due: see lead.Ledger. A row that a dispatcher has claimed stays its own.
func (s *sessionTables) Resend(ctx context.Context, now time.Time, ids ...string) (resent []string, err error) {
	which, args := "body IS NOT NULL", []any{}
	if len(ids) > 0 {
		oneOf, list := s.db.oneOf("id", "$1", ids)
		which, args = which+" AND "+oneOf, []any{list}
	}
	err = s.db.write(ctx, func(tx transaction) error {
		if err := s.fileIn(ctx, tx); err != nil {
			return err
		}
		err := tx.read(ctx, `SELECT id FROM exp.outbox WHERE `+which+` ORDER BY number FOR UPDATE`, args,
			func(row scanner) error {
				var id string
				err := row.Scan(&id)
				resent = append(resent, id)
				return err
			})
		if err != nil {
			return err
		}
		at := fmt.Sprintf("$%d", len(args)+1)
		_, err = tx.exec(ctx, `UPDATE exp.outbox SET state = 'pending', since = `+at+`, tries = 0, due = `+at+
			`, token = '',
			ended = 0 WHERE `+which+` AND NOT (state = 'pending' AND token <> '' AND due > `+at+`)`,
			append(args, now.UnixMicro())...)
		return err
	})
	return resent, s.db.explain(ctx, "resend leads of", err)
}

// scanLead reads the columns rowColumns.
func scanLead(row scanner) (r lead.Row, err error) {
	var created, since, due, ended int64
	var failure string
	err = row.Scan(&r.ID, &r.Site, &r.Session, &r.Event, &r.Receiver, (*string)(&r.State), &r.Attempts, &r.Tries,
		&created, &since, &due, &ended, &failure, (*[]byte)(&r.Body))
	if err != nil {
		return r, fmt.Errorf("read a lead: %w", err)
	}
	at := func(micros int64) time.Time { return time.UnixMicro(micros).UTC() }
	r.Created, r.Since = at(created), at(since)
	switch r.State {
	case lead.Pending:
		r.Next = new(at(due))
	case lead.Delivered:
		r.Delivered = new(at(ended))
	}
	if failure != "" {
		r.LastError = &failure
	}
	if len(r.Body) == 0 {
		r.Body = json.RawMessage(nil)
	}
	return r, nil
}
