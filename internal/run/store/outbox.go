package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
)

// The rows of leads lie beside the sessions, so that one transaction writes a turn and what it has found out.
var (
	_ lead.Outbox = (*Checkpoints)(nil)
	_ lead.Ledger = (*Checkpoints)(nil)
)

const (
	// The queries on what is in the outbox are for filed rows, as indexes have only those.

	// dueQuery finds out who has rows that are due. It only reads, as most looks find nothing.
	dueQuery   = `SELECT DISTINCT receiver, site FROM outbox WHERE filed AND state = 'pending' AND due <= ?`
	claimQuery = `
		UPDATE outbox SET token = ?, due = ?, attempts = attempts + 1, tries = tries + 1 WHERE number IN (
			SELECT number FROM outbox WHERE filed AND state = 'pending' AND due <= ? AND receiver = ? AND site = ? ORDER BY due, number LIMIT ?
		) RETURNING ` + rowColumns
	finishQuery = `
		UPDATE outbox SET state = ?, due = ?, token = '', ended = ?, error = ?
		WHERE filed AND session = ? AND site = ? AND id = ? AND token = ? AND token <> ''`
	reviveQuery = `UPDATE outbox SET due = ?1 WHERE filed AND state = 'pending' AND receiver = ?2 AND site = ?3 AND (token = '' OR due <= ?1)`
	// forgottenQuery has rows fail that nobody delivers.
	forgottenQuery = `UPDATE outbox SET state = 'failed', ended = ?1, error = ?2, token = '' WHERE filed AND state = 'pending' AND due <= ?3`
	dropBodyQuery  = `UPDATE outbox SET body = NULL WHERE state = 'delivered' AND ended <= ? AND body IS NOT NULL`
	dropRowQuery   = `DELETE FROM outbox WHERE state <> 'pending' AND ended <= ?`
	eraseRowsQuery = `DELETE FROM outbox WHERE filed AND session = ? AND site = ?`
	// resendQuery leaves a row that somebody holds to them.
	resendQuery = `
		UPDATE outbox SET state = 'pending', since = ?1, tries = 0, due = ?1, token = '', ended = 0
		WHERE body IS NOT NULL AND (?2 = '' OR id = ?2) AND NOT (state = 'pending' AND token <> '' AND due > ?1)`
	resentQuery = `SELECT id FROM outbox WHERE body IS NOT NULL AND (?1 = '' OR id = ?1) ORDER BY number`

	rowColumns = `id, site, session, event, receiver, state, attempts, tries, created_at, since, due, ended, error, body`
)

// Claim takes rows that are due: see lead.Outbox.
func (c *Checkpoints) Claim(ctx context.Context, now time.Time, wants []lead.Want) (claims []lead.Claim, err error) {
	if err := c.file(ctx); err != nil {
		return nil, explain("look for leads in", c.store.path, err)
	}
	var due []lead.Address
	err = c.store.each(ctx, dueQuery, []any{now.UnixMicro()}, func(rows *sql.Rows) error {
		var a lead.Address
		err := rows.Scan(&a.Receiver, &a.Site)
		due = append(due, a)
		return err
	})
	wants = slices.DeleteFunc(slices.Clone(wants), func(w lead.Want) bool { return !slices.Contains(due, w.Address) })
	if err != nil || len(wants) == 0 {
		return nil, explain("look for leads in", c.store.path, err)
	}
	err = c.store.write(ctx, func(tx *sql.Tx) error {
		claims = nil
		for _, w := range wants {
			token := rand.Text()
			rows, err := readRows(tx.QueryContext(ctx, claimQuery, token, now.Add(lead.Lease).UnixMicro(),
				now.UnixMicro(), w.Receiver, w.Site, w.Most))
			if err != nil {
				return err
			}
			for _, r := range rows {
				claims = append(claims, lead.Claim{Row: r, Token: token})
			}
		}
		return nil
	})
	if err != nil {
		return nil, explain("claim leads in", c.store.path, err)
	}
	return claims, nil
}

// Finish writes down what became of an attempt: see lead.Outbox.
func (c *Checkpoints) Finish(ctx context.Context, claim lead.Claim, r lead.Result) error {
	due, ended := r.Next.UnixMicro(), int64(0)
	if r.State != lead.Pending {
		due, ended = r.At.UnixMicro(), r.At.UnixMicro()
	}
	return explain("write down a lead in", c.store.path, c.store.exec(ctx, finishQuery, string(r.State), due, ended,
		r.Error, claim.Session, claim.Site, claim.ID, claim.Token))
}

// Tend revives, drops and gives up rows: see lead.Outbox.
func (c *Checkpoints) Tend(ctx context.Context, now time.Time, revive []lead.Address) error {
	return explain("tidy the leads of", c.store.path, c.store.write(ctx, func(tx *sql.Tx) error {
		if err := fileRows(ctx, tx); err != nil {
			return err
		}
		for _, a := range revive {
			if _, err := tx.ExecContext(ctx, reviveQuery, now.UnixMicro(), a.Receiver, a.Site); err != nil {
				return err
			}
		}
		before := func(keep time.Duration) int64 { return now.Add(-keep).UnixMicro() }
		if _, err := tx.ExecContext(ctx, forgottenQuery, now.UnixMicro(), lead.Unclaimed,
			before(lead.GiveUp)); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, dropBodyQuery, before(lead.BodyRetention)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, dropRowQuery, before(lead.RowRetention))
		return err
	}))
}

// Leads returns rows without their bodies, the oldest first.
func (c *Checkpoints) Leads(ctx context.Context, f lead.Filter) ([]lead.Row, error) {
	query, args := `SELECT `+rowColumns+` FROM outbox WHERE filed`, []any{}
	for _, by := range []struct {
		column, value string
	}{{"session", f.Session}, {"site", f.Site}, {"state", string(f.State)}} {
		if by.value != "" {
			query, args = query+" AND "+by.column+" = ?", append(args, by.value)
		}
	}
	if err := c.file(ctx); err != nil {
		return nil, explain("list the leads of", c.store.path, err)
	}
	rows, err := readRows(c.store.db.QueryContext(ctx, query+` ORDER BY number`, args...))
	for i := range rows {
		rows[i].Body = nil
	}
	return rows, explain("list the leads of", c.store.path, err)
}

// Resend makes rows pending and due: see lead.Ledger.
func (c *Checkpoints) Resend(ctx context.Context, now time.Time, ids ...string) (resent []string, err error) {
	if len(ids) == 0 {
		ids = []string{""} // every row
	}
	err = c.store.write(ctx, func(tx *sql.Tx) error {
		resent = nil
		if err := fileRows(ctx, tx); err != nil {
			return err
		}
		for _, id := range ids {
			rows, err := tx.QueryContext(ctx, resentQuery, id)
			if err != nil {
				return err
			}
			found, err := texts(rows)
			if err != nil {
				return err
			}
			resent = append(resent, found...)
			if _, err := tx.ExecContext(ctx, resendQuery, now.UnixMicro(), id); err != nil {
				return err
			}
		}
		return nil
	})
	return resent, explain("resend leads of", c.store.path, err)
}

// texts reads rows of one text.
func texts(rows *sql.Rows) (all []string, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// readRows reads the columns rowColumns.
func readRows(rows *sql.Rows, asking error) (all []lead.Row, err error) {
	if asking != nil {
		return nil, asking
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	all = []lead.Row{}
	for rows.Next() {
		var r lead.Row
		var created, since, due, ended int64
		var failure string
		if err := rows.Scan(&r.ID, &r.Site, &r.Session, &r.Event, &r.Receiver, (*string)(&r.State), &r.Attempts,
			&r.Tries, &created, &since, &due, &ended,
			&failure, (*[]byte)(&r.Body)); err != nil {
			return nil, fmt.Errorf("read a lead: %w", err)
		}
		all = append(all, rowOf(r, created, since, due, ended, failure))
	}
	return all, rows.Err()
}

// rowOf completes a row with its times, in microseconds, and its error.
func rowOf(r lead.Row, created, since, due, ended int64, failure string) lead.Row {
	at := func(micros int64) time.Time { return time.UnixMicro(micros).UTC() }
	r.Created, r.Since = at(created), at(since)
	switch r.State {
	case lead.Pending:
		next := at(due)
		r.Next = &next
	case lead.Delivered:
		delivered := at(ended)
		r.Delivered = &delivered
	}
	if failure != "" {
		r.LastError = &failure
	}
	if len(r.Body) == 0 {
		r.Body = json.RawMessage(nil)
	}
	return r
}
