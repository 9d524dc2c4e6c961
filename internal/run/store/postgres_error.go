package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Refused reports whether the server works but its table cannot keep the given values, now or later.
func (e *Error) Refused() bool {
	const data, integrity, limits = "22", "23", "54" // classes of codes
	refused, ok := errors.AsType[*pgconn.PgError](e.Err)
	return ok && slices.Contains([]string{data, integrity, limits}, refused.Code[:min(2, len(refused.Code))])
}

// explain makes an Error of an error of PostgreSQL; nil stays nil.
func (p *Postgres) explain(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	if ctx.Err() != nil { // the caller's haste, not the server's fault
		return fmt.Errorf("%s %s: %w", op, p.server, ctx.Err())
	}
	e := &Error{Op: op, Store: p.server.String(), Err: p.server.hide(err), away: IsUnavailable(err)}
	e.Problem, e.Hint = diagnosePostgres(e.Err)
	e.Problem = scrub(e.Problem)
	return e
}

// diagnosePostgres says what is wrong and what to do.
func diagnosePostgres(err error) (problem, hint string) {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return diagnoseRefusal(refused)
	}
	if problem, hint, ok := diagnoseNetwork(err); ok {
		return problem, hint
	}
	switch {
	case strings.Contains(err.Error(), "closed pool"): // which has no name
		return "the connection is closed", ""
	case strings.Contains(err.Error(), "TLS"):
		return err.Error(), "add ?sslmode=disable to the URL if the server has no TLS and the network is safe"
	}
	return err.Error(), "see whether the server runs and the URL is right"
}

// undefinedColumn is PostgreSQL's code for a missing column.
const undefinedColumn = "42703"

// refusals says what PostgreSQL's error codes mean (its manual, appendix A), and what to do.
var refusals = map[string]struct{ problem, hint string }{
	"28P01": {"it refused the user or the password", "correct them in the URL"},
	"28000": {"", "correct the user in the URL, or allow it in the server's pg_hba.conf"},
	"3D000": {"", "correct the database in the URL, or create it"},
	"3F000": {"", "the schema is gone: open the store again"},
	"42P01": {"", "the table is gone: open the store again"},
	undefinedColumn: {"", "the table needs the columns event_id, event_type, unit_type, unit_id, experiments, " +
		"context, metrics, payload and timestamp"},
	"42501": {
		"", "open the store once as the owner of the tables in the schema exp, or of the database if there are none; " +
			"then grant usage on the schema exp and select and insert on its tables to this user, " +
			"and update on those of variants and replays",
	},
	"22P02": {"", "the table has a type of its own for this: give a value of that type, such as a UUID for an id"},
	"22001": {"", "the table keeps shorter text only: shorten it, or alter the column"},
	"23505": {"", "remove all but one of the rows"},
	"23502": {"", "the table has a column of its own that must be given: let it have a default"},
	"25006": {"it takes no writes: it is a replica, or set to read only", "name the primary in the URL"},
	"40P01": {"", "another program wrote the same rows in another order; try again"},
	"53100": {"its disk is full", "free some space there"},
	"53300": {"it has too many clients", "let it take more (max_connections), or add ?pool_max_conns=2 to the URL"},
	"55P03": {"", "another program holds the table; try again"},
	"57014": {"it gave up on a statement that took too long", "raise statement_timeout for this user"},
	"57P01": {
		"the connection was ended from the server's side",
		"see whether the server runs and try again; the next call connects again",
	},
	"57P02": {"the server has crashed", "see its log and try again; the next call connects again"},
	"57P03": {"it is still starting", "try again in a moment"},
}

func diagnoseRefusal(e *pgconn.PgError) (problem, hint string) {
	problem = e.Message
	if e.Detail != "" {
		problem += " (" + e.Detail + ")"
	}
	known := refusals[e.Code]
	if known.problem != "" {
		problem = known.problem
	}
	return fmt.Sprintf("%s [SQLSTATE %s]", problem, e.Code), known.hint
}
