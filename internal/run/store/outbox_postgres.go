package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
)

// In PostgreSQL the rows of leads lie beside the sessions, too.
var (
	_ lead.Outbox = (*PostgresSessions)(nil)
	_ lead.Ledger = (*PostgresSessions)(nil)
)

const (
	addPostgresRow = `
		INSERT INTO exp.outbox (id, site, session, event, receiver, state, attempts, tries, created_at, since, due, token, ended, error, body)
		VALUES ($1, $2, $3, $4, $5, 'pending', 0, 0, $6, $6, $6, '', 0, '', $7) ON CONFLICT (id) DO NOTHING`
	// claimPostgres leaves rows alone that others are just claiming.
	claimPostgres = `
		UPDATE exp.outbox SET token = $1, due = $2, attempts = attempts + 1, tries = tries + 1 WHERE number IN (
			SELECT number FROM exp.outbox WHERE state = 'pending' AND due <= $3 AND receiver = $4 AND site = $5 ORDER BY due, number LIMIT $6
			FOR UPDATE SKIP LOCKED
		) RETURNING ` + rowColumns
	finishPostgres = `UPDATE exp.outbox SET state = $1, due = $2, token = '', ended = $3, error = $4 WHERE id = $5 AND token = $6 AND token <> ''`
	revivePostgres = `UPDATE exp.outbox SET due = $1 WHERE state = 'pending' AND receiver = $2 AND site = $3 AND (token = '' OR due <= $1)`
	// forgottenPostgres has rows fail that nobody delivers.
	forgottenPostgres = `UPDATE exp.outbox SET state = 'failed', ended = $1, error = $2, token = '' WHERE state = 'pending' AND due <= $3`
	dropBodyPostgres  = `UPDATE exp.outbox SET body = NULL WHERE state = 'delivered' AND ended <= $1 AND body IS NOT NULL`
	dropRowPostgres   = `DELETE FROM exp.outbox WHERE state <> 'pending' AND ended <= $1`
	// resendPostgres returns the rows that could be resent, and leaves one that somebody holds to them.
	resendPostgres = `
		WITH found AS (SELECT number, id FROM exp.outbox WHERE body IS NOT NULL AND ($2::text[] IS NULL OR id = ANY ($2)) FOR UPDATE),
		revived AS (
			UPDATE exp.outbox SET state = 'pending', since = $1, tries = 0, due = $1, token = '', ended = 0
			WHERE number IN (SELECT number FROM found) AND NOT (state = 'pending' AND token <> '' AND due > $1)
		)
		SELECT id FROM found ORDER BY number`
)

// addPostgresRows writes the rows of a turn with what else is sent to the server. A row that is there already stays as
// it is.
func addPostgresRows(all *pgx.Batch, rows []lead.Row) {
	for i := range rows {
		r := &rows[i]
		all.Queue(addPostgresRow, r.ID, plainText(r.Site), plainText(r.Session), r.Event, r.Receiver,
			r.Created.UnixMicro(), []byte(r.Body))
	}
}

// Claim takes rows that are due: see lead.Outbox.
func (s *PostgresSessions) Claim(ctx context.Context, now time.Time,
	wants []lead.Want) (claims []lead.Claim, err error) {
	token := rand.Text()
	var all pgx.Batch
	for _, w := range wants {
		all.Queue(claimPostgres, token, now.Add(lead.Lease).UnixMicro(), now.UnixMicro(), w.Receiver,
			w.Site, w.Most).Query(func(rows pgx.Rows) error {
			found, err := pgx.CollectRows(rows, postgresRow)
			for _, r := range found {
				claims = append(claims, lead.Claim{Row: r, Token: token})
			}
			return err
		})
	}
	if err := s.server.pool.SendBatch(ctx, &all).Close(); err != nil {
		return nil, s.db.explain(ctx, "claim leads in", err)
	}
	return claims, nil
}

// postgresRow reads the columns rowColumns.
func postgresRow(row pgx.CollectableRow) (r lead.Row, err error) {
	var created, since, due, ended int64
	var failure string
	err = row.Scan(&r.ID, &r.Site, &r.Session, &r.Event, &r.Receiver, (*string)(&r.State), &r.Attempts, &r.Tries,
		&created, &since, &due, &ended, &failure, (*[]byte)(&r.Body))
	if err != nil {
		return r, fmt.Errorf("read a lead: %w", err)
	}
	return rowOf(r, created, since, due, ended, failure), nil
}

// Finish writes down what became of an attempt: see lead.Outbox.
func (s *PostgresSessions) Finish(ctx context.Context, claim lead.Claim, r lead.Result) error {
	due, ended := r.Next.UnixMicro(), int64(0)
	if r.State != lead.Pending {
		due, ended = r.At.UnixMicro(), r.At.UnixMicro()
	}
	_, err := s.server.pool.Exec(ctx, finishPostgres, string(r.State), due, ended, plainText(r.Error), claim.ID,
		claim.Token)
	return s.db.explain(ctx, "write down a lead in", err)
}

// Tend revives, drops and gives up rows: see lead.Outbox.
func (s *PostgresSessions) Tend(ctx context.Context, now time.Time, revive []lead.Address) error {
	before := func(keep time.Duration) int64 { return now.Add(-keep).UnixMicro() }
	var all pgx.Batch
	for _, a := range revive {
		all.Queue(revivePostgres, now.UnixMicro(), a.Receiver, a.Site)
	}
	all.Queue(forgottenPostgres, now.UnixMicro(), lead.Unclaimed, before(lead.GiveUp))
	all.Queue(dropBodyPostgres, before(lead.BodyRetention))
	all.Queue(dropRowPostgres, before(lead.RowRetention))
	return s.db.explain(ctx, "tidy the leads of", s.server.pool.SendBatch(ctx, &all).Close())
}

// Leads returns rows without their bodies, the oldest first.
func (s *PostgresSessions) Leads(ctx context.Context, f lead.Filter) ([]lead.Row, error) {
	query, args := `SELECT `+rowColumns+` FROM exp.outbox WHERE true`, []any{}
	for _, by := range []struct {
		column, value string
	}{{"session", f.Session}, {"site", f.Site}, {"state", string(f.State)}} {
		if by.value != "" {
			args = append(args, plainText(by.value))
			query += " AND " + by.column + " = $" + strconv.Itoa(len(args))
		}
	}
	found := []lead.Row{}
	rows, err := s.server.pool.Query(ctx, query+` ORDER BY number`, args...)
	if err == nil {
		found, err = pgx.AppendRows(found, rows, postgresRow)
	}
	for i := range found {
		found[i].Body = nil
	}
	return found, s.db.explain(ctx, "list the leads of", err)
}

// Resend makes rows pending and due: see lead.Ledger.
func (s *PostgresSessions) Resend(ctx context.Context, now time.Time, ids ...string) (resent []string, err error) {
	rows, err := s.server.pool.Query(ctx, resendPostgres, now.UnixMicro(), ids)
	if err == nil {
		resent, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	return resent, s.db.explain(ctx, "resend leads of", err)
}
