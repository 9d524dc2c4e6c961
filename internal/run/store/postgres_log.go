package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// PostgresLog is a log in an application's own PostgreSQL database, which is read and never changed: a role that can
// only read will do. Make it with OpenPostgresLog and release it with Close.
type PostgresLog struct {
	conn *pgx.Conn
	db   Postgres
}

// LogQuery chooses the rows of a log.
type LogQuery struct {
	// SQL is a query of the rows; empty means the table or view exp.events.
	SQL string
	// From and To leave out sessions without a row between them, To being excluded, where the columns show it.
	From, To time.Time
}

// OpenPostgresLog connects to the database that the URL names, as OpenPostgres does, and creates nothing there.
func OpenPostgresLog(ctx context.Context, url string) (*PostgresLog, error) {
	config, err := readPostgresURL(url)
	if err != nil {
		return nil, err
	}
	conn := config.ConnConfig
	conn.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe // which runs no second statement
	l := &PostgresLog{db: Postgres{server: server{
		kind: "PostgreSQL", url: databaseName(conn), password: conn.Password,
	}}}
	if l.conn, err = pgx.ConnectConfig(ctx, conn); err != nil {
		return nil, l.explain(ctx, "connect to", err)
	}
	return l, nil
}

// Close ends the connection.
func (l *PostgresLog) Close(ctx context.Context) error { return l.conn.Close(ctx) }

// logHints are what to do about an error of the database when a log is read.
var logHints = map[string]string{
	"42P01": "name the rows of the log with --query FILE, or create the view exp.events",
	"3F000": "name the rows of the log with --query FILE, or create the view exp.events",
	"42501": "grant select on the tables of the log, and usage on their schema, to this user",
	"25006": "a log is only read: leave out of the query what writes",
	"42601": "write one query that returns the rows of the log, without a semicolon in it",
}

func (l *PostgresLog) explain(ctx context.Context, op string, err error) error {
	err = l.db.explain(ctx, op, err)
	e, ok := errors.AsType[*Error](err)
	if refused, is := errors.AsType[*pgconn.PgError](err); ok && is && !strings.HasPrefix(refused.Code, "57") &&
		!strings.HasPrefix(refused.Code, "28") && !strings.HasPrefix(refused.Code, "3D") {
		e.Hint = logHints[refused.Code]
		if refused.Code == "25006" {
			e.Problem = scrub(refused.Message)
		}
	}
	return err
}

// Rows yields the rows of a query as JSON objects, in the order of the query. A row is valid until the next one. All of
// them are read in one transaction that cannot write and is rolled back.
func (l *PostgresLog) Rows(ctx context.Context, q LogQuery) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if err := l.rows(ctx, &q, func(row []byte) bool { return yield(row, nil) }); err != nil {
			yield(nil, l.explain(ctx, "read the log in", err))
		}
	}
}

// rows calls take for each row until that wants no more.
func (l *PostgresLog) rows(ctx context.Context, q *LogQuery, take func([]byte) bool) error {
	tx, err := l.conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // the connection ends with the log in any case
	// Otherwise rows of one time could come in another order each time.
	if _, err := tx.Exec(ctx, `SELECT set_config('TimeZone', 'UTC', true), `+
		`set_config('synchronize_seqscans', 'off', true), `+
		`set_config('max_parallel_workers_per_gather', '0', true)`); err != nil {
		return err
	}
	sql, args, err := q.statement(ctx, tx)
	if err != nil {
		return err
	}
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if !take(rows.RawValues()[0]) {
			return nil
		}
	}
	return rows.Err()
}

// statement returns the statement of the rows.
func (q *LogQuery) statement(ctx context.Context, tx pgx.Tx) (sql string, args []any, err error) {
	source := strings.TrimRight(q.SQL, "; \t\r\n")
	if source == "" {
		source = "SELECT * FROM exp.events"
	}
	source = "(" + source + "\n)" // the query may end with a comment
	described, err := tx.Query(ctx, `SELECT * FROM `+source+` AS log LIMIT 0`)
	if err != nil {
		return "", nil, err
	}
	columns := map[string]uint32{}
	for _, f := range described.FieldDescriptions() {
		columns[f.Name] = f.DataTypeOID
	}
	described.Close()
	if err := described.Err(); err != nil {
		return "", nil, err
	}
	number := "rehearse_row"
	if columns["event_id"] == 0 && columns["event_type"] != 0 {
		number = "event_id"
	}
	sql = `SELECT row_to_json(log)::text FROM (SELECT row_number() OVER () AS ` + number + `, log.* FROM ` + source +
		` AS log) AS log`
	session, at := q.sessionIn(columns), q.timeIn(columns)
	if session == "" || at == "" || q.From.IsZero() && q.To.IsZero() {
		return sql, nil, nil
	}
	from, to := time.UnixMicro(earliest), time.UnixMicro(latest)
	if !q.From.IsZero() {
		from = q.From
	}
	if !q.To.IsZero() {
		to = q.To
	}
	inside := at + ` >= $1::timestamptz AND ` + at + ` < $2::timestamptz`
	// Rows without a session or a time are read, so that they are counted.
	return sql + fmt.Sprintf(` WHERE %s IN (SELECT %s FROM %s AS log WHERE %s)
		OR isfinite(%s) IS NOT TRUE OR coalesce(%s, '') = '' AND %s ORDER BY %s`,
		session, session, source, inside, at, session, inside, number), []any{from, to}, nil
}

// sessionIn is the expression of the session of a row; empty where no column has it.
func (*LogQuery) sessionIn(columns map[string]uint32) string {
	if kind := columns["context"]; kind == pgtype.JSONOID || kind == pgtype.JSONBOID {
		return `(log.context ->> 'session_id')`
	}
	for _, name := range []string{"session_id", "conversation_id"} {
		if columns[name] != 0 && columns["context"] == 0 {
			return `log.` + name + `::text`
		}
	}
	return ""
}

// timeIn is the expression of the time of a row; empty where no column has it. A time without a zone is UTC.
func (*LogQuery) timeIn(columns map[string]uint32) string {
	switch columns["timestamp"] {
	case pgtype.TimestamptzOID:
		return `log."timestamp"`
	case pgtype.TimestampOID:
		return `(log."timestamp" AT TIME ZONE 'UTC')`
	}
	return ""
}

// SamePostgres reports whether two URLs lead to one database, also by other names or through a replica.
func SamePostgres(ctx context.Context, urls ...string) (same bool, err error) {
	var names []string
	for _, url := range urls {
		l, err := OpenPostgresLog(ctx, url)
		if err != nil {
			return false, err
		}
		var name string
		err = l.conn.QueryRow(ctx, `SELECT d.oid || ' ' || s.system_identifier
			FROM pg_database AS d, pg_control_system() AS s WHERE d.datname = current_database()`).Scan(&name)
		if err = errors.Join(l.explain(ctx, "identify", err), l.Close(ctx)); err != nil {
			return false, err
		}
		names = append(names, name)
	}
	return len(slices.Compact(names)) == 1, nil
}
