package siteconfig

import (
	"context"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// Postgres is a table of sites in a PostgreSQL database. Each call has a connection of its own: sites are read seldom.
type Postgres struct {
	// URL is postgres://USER:PASSWORD@HOST:PORT/DATABASE, with the parameters of libpq.
	URL string
	// Table is the name of the table, perhaps SCHEMA.TABLE; DefaultTable without.
	Table string
}

// target is a checked Postgres.
type target struct {
	config *pgx.ConnConfig
	// table is quoted for SQL, plain as it was written.
	table, plain string
}

// target checks the address and the table.
func (p Postgres) target() (*target, error) {
	schema, table, err := tableName(p.Table)
	if err != nil {
		return nil, err
	}
	t := &target{plain: table, table: pgx.Identifier{table}.Sanitize()}
	if schema != "" {
		t.plain, t.table = schema+"."+table, pgx.Identifier{schema, table}.Sanitize()
	}
	u, err := url.Parse(p.URL)
	// the error's text may hold a part of the password
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, errAddress
	}
	if t.config, err = pgx.ParseConfig(p.URL); err != nil {
		return nil, unreadable(err, u)
	}
	// A pooler such as PgBouncer may give every statement another connection, on which prepared ones are unknown.
	t.config.DefaultQueryExecMode = pgx.QueryExecModeExec
	if t.config.ConnectTimeout == 0 {
		t.config.ConnectTimeout = 10 * time.Second
	}
	if t.config.RuntimeParams["application_name"] == "" {
		t.config.RuntimeParams["application_name"] = "rehearse"
	}
	return t, nil
}

// String says where the table is, without the password.
func (p Postgres) String() string {
	t, err := p.target()
	if err != nil {
		return "postgres"
	}
	return t.where()
}

func (t *target) where() string {
	host := t.config.Host
	if !strings.HasPrefix(host, "/") { // which is the folder of a socket
		host = net.JoinHostPort(host, strconv.Itoa(int(t.config.Port)))
	}
	return "postgres://" + host + "/" + t.config.Database + " table " + t.plain
}

// Load reads all sites.
func (p Postgres) Load(ctx context.Context) (*site.Library, error) {
	t, err := p.target()
	if err != nil {
		return nil, err
	}
	c, err := t.read(ctx)
	if err != nil {
		return nil, t.fault(err)
	}
	return c.library()
}

// read reads the table in a transaction on a connection of its own.
func (t *target) read(ctx context.Context) (c *collection, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, t.config)
	if err != nil {
		return nil, err
	}
	defer func() {
		// Closing says goodbye, for which a context that has ended leaves no time.
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing)
	}()
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		c, err = t.scan(ctx, tx)
		return err
	})
	return c, err
}

// scan reads the table. What is larger than a configuration may be is not even sent.
func (t *target) scan(ctx context.Context, tx pgx.Tx) (*collection, error) {
	rows, err := tx.Query(ctx, `select coalesce(left(site, 300), ''), coalesce(octet_length(config::text), 0),
		case when octet_length(config::text) <= $1 then config::text end
		from `+t.table+` order by site collate "C" limit $2`, maxConfig, maxRows+1)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	c := &collection{where: t.where(), table: t.plain}
	for rows.Next() {
		var r row
		var config *string
		if err := rows.Scan(&r.site, &r.size, &config); err != nil {
			return nil, err
		}
		if config != nil {
			r.config = []byte(*config)
		}
		if err := c.add(r); err != nil {
			return nil, own{err}
		}
	}
	return c, rows.Err()
}
