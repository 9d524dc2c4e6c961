// Package siteconfig reads the sites of a program from the table of a database instead of a folder of files. A row is a
// site: its name, and its file as JSON with the keys of the YAML. The table is read from PostgreSQL itself, or through
// PostgREST as Supabase serves it.
//
//	create table site_configs (site text primary key, config jsonb not null, updated_at timestamptz not null default now())
//
// Relative paths of a row start from the working directory. The type jsonb sorts keys, so parameters of
// `cta.form_fields` come in its order rather than in the author's.
package siteconfig

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

const (
	// DefaultTable is the table that is read where none is named.
	DefaultTable = "site_configs"
	// KeyEnv is the environment variable with the key of a Supabase project.
	KeyEnv = "SUPABASE_SERVICE_KEY"
	// timeLimit bounds one reading of the table, so that a server that says nothing does not hold up the program.
	timeLimit = time.Minute
)

// Source is a table of sites.
type Source interface {
	// Load reads all sites. Faults of rows are one source.Problems, whose files are named like
	// site_configs[acme.example].
	Load(ctx context.Context) (*site.Library, error)
	// String says where the table is, without passwords and keys.
	String() string
}

const supabasePrefix = "supabase+"

// IsAddress reports whether Open takes a text for the address of a table; otherwise it may be the path of a folder.
func IsAddress(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && (scheme == "postgres" || scheme == "postgresql" || strings.HasPrefix(scheme, supabasePrefix))
}

// Open returns the table at an address, without asking it anything yet: postgres://USER:PASSWORD@HOST/DATABASE, or
// supabase+https://PROJECT.supabase.co with the key in SUPABASE_SERVICE_KEY. Either may end in ?table=NAME.
// The transport carries the requests to Supabase.
func Open(address string, getenv func(string) string, transport http.RoundTripper) (Source, error) {
	base, supabase := strings.CutPrefix(address, supabasePrefix)
	u, err := url.Parse(base)
	if err != nil { // whose text may hold a part of the password
		return nil, errAddress
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errAddress
	}
	table := query.Get("table")
	if query.Has("table") {
		query.Del("table")
		u.RawQuery = query.Encode()
	}
	if supabase {
		s := Supabase{URL: u.String(), Key: getenv(KeyEnv), Table: table, Transport: transport}
		_, err := s.client()
		return s, err
	}
	p := Postgres{URL: u.String(), Table: table}
	_, err = p.target()
	return p, err
}

var errAddress = errors.New("sites: the address of the database cannot be read: write one such as " +
	"postgres://USER:PASSWORD@HOST:5432/DATABASE, with special characters of the password as %XX")

// identifiers are the names of tables, perhaps behind a schema. They are as long as PostgreSQL keeps them.
var identifiers = text.Regexp(`^([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}$`)

// tableName checks the name of a table and splits it.
func tableName(name string) (schema, table string, err error) {
	if name == "" {
		name = DefaultTable
	}
	if !identifiers().MatchString(name) {
		return "", "",
			fmt.Errorf("sites: %q is not the name of a table: use letters, digits and _, such as %s or config.%s",
				clip(name, 60), DefaultTable, DefaultTable)
	}
	if schema, table, ok := strings.Cut(name, "."); ok {
		return schema, table, nil
	}
	return "", name, nil
}
