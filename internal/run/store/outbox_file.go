package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/graph/saver/sqlite"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
)

// A turn adds its rows at the end of the table, where no index has them: it writes one or two pages more and not five.
// Whoever looks at the outbox files them first. That is the courier, as a rule within the same second, and it files the
// rows of many turns at once.
const (
	// addRowsQuery is followed by addedRow for each row.
	addRowsQuery = `INSERT INTO outbox (id, site, session, event, receiver, created_at, body) VALUES `
	addedRow     = `(?, ?, ?, ?, ?, ?, ?)`
	addedValues  = 7
	// lastQuery asks whether the last row is filed: then all are.
	lastQuery = `SELECT filed FROM outbox ORDER BY number DESC LIMIT 1`
	// lastFiledQuery goes back from the last row.
	lastFiledQuery = `SELECT coalesce((SELECT number FROM outbox WHERE filed ORDER BY number DESC LIMIT 1), 0)`
	// fileQuery makes rows due. It leaves those whose id is filed already, and dropQuery drops them.
	fileQuery = `UPDATE OR IGNORE outbox SET filed = 1, since = created_at, due = created_at WHERE number > ?`
	dropQuery = `DELETE FROM outbox WHERE number > ? AND NOT filed`
)

// mostRows is how many rows one statement adds. Few turns leave more than two.
const mostRows = 8

// rowAdders returns the statements that add rows: that at n adds n.
func rowAdders(db *sql.DB) (adders [mostRows + 1]*sqlite.Statement) {
	for n := 1; n < len(adders); n++ {
		adders[n] = sqlite.NewStatement(db, addRowsQuery+addedRow+strings.Repeat(", "+addedRow, n-1))
	}
	return adders
}

// addRows writes the rows of a turn.
func (c *Checkpoints) addRows(ctx context.Context, tx *sql.Tx, rows []lead.Row) error {
	for some := range slices.Chunk(rows, mostRows) {
		args := make([]any, 0, len(some)*addedValues)
		for i := range some {
			r := &some[i]
			args = append(args, r.ID, r.Site, r.Session, r.Event, r.Receiver, r.Created.UnixMicro(), []byte(r.Body))
		}
		if _, err := c.addRow[len(some)].Exec(ctx, tx, args...); err != nil {
			return err
		}
	}
	return nil
}

// file files the rows that have come in, if there are any.
func (c *Checkpoints) file(ctx context.Context) error {
	var filed bool
	err := c.lastRow.One(ctx, nil, &filed)
	if err != nil || filed {
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return err
	}
	return c.store.write(ctx, func(tx *sql.Tx) error { return fileRows(ctx, tx) })
}

// fileRows files all rows. Of those with one id the first stays, as it is.
func fileRows(ctx context.Context, tx *sql.Tx) error {
	var last int64
	if err := tx.QueryRowContext(ctx, lastFiledQuery).Scan(&last); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fileQuery, last); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, dropQuery, last)
	return err
}
