package store

import (
	"cmp"
	"context"
	"net"
	neturl "net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgresTimeout bounds connecting, where the URL does not.
const postgresTimeout = 10 * time.Second

// Postgres is a PostgreSQL database that several processes share. Its tables are in the schema exp. It is safe for
// concurrent use. When the server has been away, the next call connects again. Make it with OpenPostgres and release it
// with Close.
type Postgres struct {
	pool   *pgxpool.Pool
	server server
}

// OpenPostgres connects to the database that the URL names, such as postgres://user:password@host:5432/database, with
// the parameters of libpq and pool_max_conns. It creates the missing parts of the schema exp; a table exp.events that
// exists is used as it is. Several processes may do so at once. An error is a *Error: it says what is wrong, where, and
// what to do, without the password.
func OpenPostgres(ctx context.Context, url string) (*Postgres, error) {
	config, err := readPostgresURL(url)
	if err != nil {
		return nil, err
	}
	p := &Postgres{server: server{
		kind: "PostgreSQL", url: databaseName(config.ConnConfig), password: config.ConnConfig.Password,
	}}
	if p.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, p.explain(ctx, "connect to", err)
	}
	if err := p.migrate(ctx); err != nil {
		p.pool.Close()
		return nil, err
	}
	return p, nil
}

// Close ends the connections. It waits for calls that have not ended.
func (p *Postgres) Close() error {
	p.pool.Close()
	return nil
}

func readPostgresURL(url string) (*pgxpool.Config, error) {
	unreadable := &Error{
		Op: "connect to", Store: "PostgreSQL (its URL cannot be read)",
		Problem: "the URL is not one of a PostgreSQL database",
		Hint: "write it as postgres://user:password@host:5432/database, with % escapes for special characters in " +
			"the password",
	}
	u, err := neturl.Parse(url)
	// the error's text may hold a part of the password
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, unreadable
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// Its text is: cannot parse `the URL`: the reason.
		if _, reason, ok := strings.Cut(err.Error(), "`: "); ok {
			password, _ := u.User.Password()
			unreadable.Problem = scrub(reason, password, u.Query().Get("password"), u.Query().Get("sslpassword"))
			unreadable.Hint = "correct the URL"
		}
		return nil, unreadable
	}
	conn := config.ConnConfig
	conn.ConnectTimeout = cmp.Or(conn.ConnectTimeout, postgresTimeout)
	conn.RuntimeParams["application_name"] = cmp.Or(conn.RuntimeParams["application_name"], "rehearse")
	if !u.Query().Has("default_query_exec_mode") {
		// No statements are prepared by name: behind a pooler such as PgBouncer, not every connection knows them.
		conn.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return config, nil
}

// databaseName names the database in errors.
func databaseName(c *pgx.ConnConfig) string {
	host := c.Host
	if !strings.HasPrefix(host, "/") { // which is the folder of a socket
		host = net.JoinHostPort(host, strconv.Itoa(int(c.Port)))
	}
	return "postgres://" + host + "/" + c.Database
}
