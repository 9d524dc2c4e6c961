package siteconfig_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/siteconfig"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
)

// hides fails when an error tells a password in one of its spellings.
func hides(t *testing.T, err error, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		for _, written := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), url.UserPassword("", secret).String()[1:],
		} {
			if strings.Contains(err.Error(), written) {
				t.Errorf("the error tells %q: %v", written, err)
			}
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has several lines: %q", err)
	}
}

func TestPostgresFaults(t *testing.T) {
	own := table(t)
	execute(t, "create table "+own.Table+"_bare (name text)")
	t.Cleanup(func() { execute(t, "drop table "+own.Table+"_bare") })
	closed := servertest.FreePort(t)
	const wrong = "wr0ng p@ss"
	for _, c := range []struct {
		name, want string
		change     func(u *url.URL, p *siteconfig.Postgres)
	}{
		{"wrong password", "check user and password in the address", func(u *url.URL, _ *siteconfig.Postgres) {
			u.User = url.UserPassword(u.User.Username(), wrong)
		}},
		{"no such user", "check user and password in the address", func(u *url.URL, _ *siteconfig.Postgres) {
			u.User = url.UserPassword("nobody", wrong)
		}},
		{"server down", "check that the server runs", func(u *url.URL, _ *siteconfig.Postgres) {
			u.Host = "127.0.0.1:" + closed
		}},
		{"no such database", "check the database", func(u *url.URL, _ *siteconfig.Postgres) { u.Path = "/absent" }},
		{"no such table", "check the table's name, or create it", func(_ *url.URL, p *siteconfig.Postgres) {
			p.Table = "absent"
		}},
		{"other columns", "needs the columns site, config", func(_ *url.URL, p *siteconfig.Postgres) {
			p.Table += "_bare"
		}},
		{"no TLS", "check that the server runs", func(u *url.URL, _ *siteconfig.Postgres) {
			u.RawQuery = "sslmode=require"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, p := servertest.Postgres(t), own
			before, _ := u.User.Password()
			c.change(u, &p)
			p.URL = u.String()
			_, err := p.Load(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "postgres://") {
				t.Fatalf("Load: %v, want %s", err, c.want)
			}
			hides(t, err, before, wrong)
		})
	}
}

// TestPostgresSilent asks a server that never says anything.
func TestPostgresSilent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	p := siteconfig.Postgres{URL: "postgres://u:" + url.QueryEscape(servertest.PostgresPassword) + "@" +
		l.Addr().String() + "/db?sslmode=disable"}
	_, err = p.Load(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "gave up waiting") {
		t.Fatalf("Load: %v", err)
	}
	hides(t, err, servertest.PostgresPassword)
}

// TestPostgresPrivileges reads as a user who may do nothing else.
func TestPostgresPrivileges(t *testing.T) {
	p := table(t)
	insert(t, p, "acme.example", `{"language": "fr"}`)
	reader := "reader_" + strings.ToLower(rand.Text())
	execute(t, "create role "+reader+" login password 'pw'; grant select on "+p.Table+" to "+reader)
	t.Cleanup(func() { execute(t, "drop owned by "+reader+"; drop role "+reader) })
	u := servertest.Postgres(t)
	u.User = url.UserPassword(reader, "pw")
	read := siteconfig.Postgres{URL: u.String(), Table: p.Table}
	if got := names(t, read); len(got) != 1 {
		t.Errorf("sites %v", got)
	}
	execute(t, "revoke select on "+p.Table+" from "+reader)
	if _, err := read.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "grant the user") {
		t.Errorf("without the right to read: %v", err)
	}
}

func TestOpen(t *testing.T) {
	environment := map[string]string{siteconfig.KeyEnv: "key-1"}
	for _, c := range []struct{ address, want string }{
		{"postgres://u:secret@db.example/app", "postgres://db.example:5432/app table site_configs"},
		{
			"postgresql://u:secret@db.example:1/app?table=config.sites&sslmode=disable",
			"postgres://db.example:1/app table config.sites",
		},
		{"postgres:///app?host=/run/pg&password=secret", "postgres:///run/pg/app table site_configs"},
		{"postgres://u:secret@[::1]/app", "postgres://[::1]:5432/app table site_configs"},
		{"supabase+https://abc.supabase.co", "https://abc.supabase.co table site_configs"},
		{"supabase+http://127.0.0.1:8000/?table=sites", "http://127.0.0.1:8000 table sites"},
	} {
		s, err := siteconfig.Open(c.address, func(name string) string { return environment[name] }, nil)
		if err != nil || s.String() != c.want || !siteconfig.IsAddress(c.address) {
			t.Errorf("Open(%s): %v %v", c.address, s, err)
		}
	}
	for _, folder := range []string{"sites", "/a/b", "", "https://x.example", "C:\\sites", "postgres"} {
		if siteconfig.IsAddress(folder) {
			t.Errorf("%s is no address", folder)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct{ address, want string }{
		{"postgres://u:sec/ret@db.example/app", "cannot be read"},
		{"postgres://u:sec%zzret@db.example/app", "cannot be read"},
		{"postgres://u:secret@db.example/app?sslmode=perhaps", "sslmode"},
		{"postgres://u:secret@db.example/app?connect_timeout=secret", "cannot be read"},
		{"postgres://u:secret@db.example/app?table=a;drop", "cannot be read"},
		{"postgres://u:secret@db.example/app?table=a%3Bdrop", `is not the name of a table`},
		{`postgres://u:secret@db.example/app?table=a"b`, `is not the name of a table`},
		{"postgres://u:secret@db.example/app?table=a.b.c", `is not the name of a table`},
		{"mysql://u:secret@db.example/app", "cannot be read"},
		{"supabase+ftp://abc.supabase.co", "not an http one"},
		{"supabase+https://user:secret@abc.supabase.co", "more than host and path"},
		{"supabase+https://abc.supabase.co?apikey=secret", "more than host and path"},
		{"supabase+https://abc.supabase.co?table=" + strings.Repeat("x", 64), "is not the name of a table"},
		{"supabase+https://abc.supabase.co", "set SUPABASE_SERVICE_KEY"},
	} {
		_, err := siteconfig.Open(c.address, func(string) string { return "" }, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Open(%s): %v, want %s", c.address, err, c.want)
			continue
		}
		hides(t, err, "secret", "sec/ret", "sec%zzret")
	}
}
