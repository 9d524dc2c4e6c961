package siteconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// own marks an error that this package has written: it needs no explanation.
type own struct{ error }

func (o own) Unwrap() error { return o.error }

// advice says what to do, by PostgreSQL's codes of errors (its manual, appendix A).
var advice = map[string]string{
	"28P01": "check user and password in the address",
	"28000": "check the user in the address, and the server's pg_hba.conf",
	"3D000": "check the database in the address, or create it",
	"42P01": "check the table's name, or create it: " +
		"(site text primary key, config jsonb not null, updated_at timestamptz not null default now())",
	"3F000": "create the schema",
	"42703": "the table needs the columns site, config and updated_at",
	"42501": "grant the user what is missing",
	"53300": "wait, or let the server take more connections",
	"57P03": "wait until the server has started",
}

// fault tells an error of the database, with what to do and without the password. It wraps nothing that holds the
// address.
func (t *target) fault(err error) error {
	if err == nil {
		return nil
	}
	if mine, ok := errors.AsType[own](err); ok {
		return mine.error
	}
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			return fmt.Errorf("%s: gave up waiting for the database: %w", t.where(), ended)
		}
	}
	text, hint := err.Error(), ""
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		text, hint = refused.Message+" (SQLSTATE "+refused.Code+")", advice[refused.Code]
	} else if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		hint = "check that the server runs, and host and port in the address"
	}
	text = scrub(text, t.config.Password)
	return fmt.Errorf("%s: %s: %s", t.where(), text, cmp.Or(hint, "check the server's log"))
}

// unreadable tells why an address that is a URL is none of a database.
func unreadable(err error, u *url.URL) error {
	password, _ := u.User.Password()
	reason := "check its parameters"
	if _, ok := errors.AsType[*pgconn.ParseConfigError](err); ok && errors.Unwrap(err) != nil {
		reason = scrub(errors.Unwrap(err).Error(), password, u.Query().Get("password"), u.Query().Get("sslpassword"))
	}
	return fmt.Errorf("%w; %s", errAddress, reason)
}

// scrub makes a text one line and takes secrets out of it, also as they are written in addresses.
func scrub(text string, secrets ...string) string {
	for _, secret := range secrets {
		for _, written := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), url.UserPassword("", secret).String()[1:],
		} {
			if written != "" {
				text = strings.ReplaceAll(text, written, "***")
			}
		}
	}
	return strings.Join(strings.Fields(text), " ")
}
