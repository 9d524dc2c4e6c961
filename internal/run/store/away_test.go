package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
)

func TestAway(t *testing.T) {
	code := func(code string) error {
		return fmt.Errorf("write: %w", &store.Error{Err: &pgconn.PgError{Code: code}})
	}
	for _, tc := range []struct {
		name string
		err  error
		want bool
	}{
		{"nil", nil, false},
		{"a request", &store.Error{Err: store.ErrUnknown}, false},
		{"cancelled", fmt.Errorf("x: %w", context.Canceled), false},
		{"too late", &store.Error{Err: context.DeadlineExceeded}, true},
		{"a broken connection", &store.Error{Err: io.ErrUnexpectedEOF}, true},
		{"a server that stops", code("57P01"), true},
		{"a server that starts", code("57P03"), true},
		{"a deadlock", code("40P01"), true},
		{"too many clients", code("53300"), true},
		{"a wrong password", code("28P01"), false},
		{"a key that is there", code("23505"), false},
		{"an error of a query", code("42601"), false},
		{"an odd code", code("5"), false},
		{"another error", errors.New("x"), false},
	} {
		if got := store.IsUnavailable(tc.err); got != tc.want {
			t.Errorf("%s: %t, want %t", tc.name, got, tc.want)
		}
	}
}

func TestAwayOfStores(t *testing.T) {
	s := open(t, newFile(t))
	s.Close()
	if err := s.Fleet().Ping(t.Context()); err == nil || store.IsUnavailable(err) {
		t.Errorf("a closed file: %v", err)
	}
	nobody := url.URL{
		Scheme: "postgres", User: url.UserPassword("u", "p"), Host: "127.0.0.1:" + servertest.FreePort(t), Path: "/d",
	}
	if _, err := store.OpenPostgres(t.Context(), nobody.String()); !store.IsUnavailable(err) {
		t.Errorf("nothing listens: %v", err)
	}
	p := openPostgres(t, newDatabase(t))
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if err := p.Fleet().Ping(ctx); !store.IsUnavailable(err) {
		t.Errorf("no time: %v", err)
	}
	p.Close()
	if err := p.Fleet().Ping(t.Context()); err == nil || store.IsUnavailable(err) {
		t.Errorf("a closed connection: %v", err)
	}
}
