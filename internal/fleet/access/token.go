package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// TokenStore keeps tokens under their hashes (store.Fleet).
type TokenStore interface {
	CreateToken(ctx context.Context, token store.Token, hash [sha256.Size]byte) (store.Token, error)
	Tokens(ctx context.Context, page store.PageOf) (store.Page[store.Token], error)
	DeleteToken(ctx context.Context, name string) error
}

const (
	// prefix is how every token begins, so that people and scanners know one when they see it.
	prefix = "rht_"
	// secretBytes are 256 random bits.
	secretBytes = 32
	// maxName bounds a token's name in characters, maxAge its life.
	maxName = 100
	maxAge  = 100 * 365 * 24 * time.Hour
)

// Wish is a token that is asked for.
type Wish struct {
	// Name names the token among the others of the server; an empty one is made up.
	Name   string
	Scopes []string
	// Expires is when the token stops to count; the zero value is never.
	Expires time.Time
}

// WishError says which part of a wish cannot be granted.
type WishError struct {
	// Field is name, scopes or expires.
	Field  string
	Reason error
}

func (e *WishError) Error() string { return "the " + e.Field + " of the token: " + e.Reason.Error() }

func (e *WishError) Unwrap() error { return e.Reason }

// check refuses what cannot be granted with a *WishError.
func (w Wish) check(now time.Time) (Scopes, error) {
	scopes, err := ParseScopes(w.Scopes)
	switch {
	case err != nil:
		return nil, &WishError{"scopes", err}
	case !w.Expires.IsZero() && !w.Expires.After(now):
		return nil, &WishError{"expires", errors.New("it would have expired already")}
	case w.Expires.Sub(now) > maxAge:
		return nil, &WishError{
			"expires", errors.New("a token lives for 100 years at most: leave it out for one that does not expire"),
		}
	}
	odd := func(r rune) bool { return r == '/' || r == unicode.ReplacementChar || !unicode.IsPrint(r) }
	if len([]rune(w.Name)) > maxName || strings.ContainsFunc(w.Name, odd) || strings.TrimSpace(w.Name) != w.Name ||
		w.Name == "." || w.Name == ".." {
		return nil, &WishError{
			"name", fmt.Errorf("use at most %d printable characters, no slash, and no space at either end", maxName),
		}
	}
	return scopes, nil
}

// Issue makes a token and keeps its hash. The token itself is returned here only. The error is a *WishError, or
// source.Invalid for a name that is taken (store.ErrExists), or that of the keeper.
func Issue(ctx context.Context, keeper TokenStore, w Wish, now time.Time) (kept store.Token, token string, err error) {
	scopes, err := w.check(now)
	if err != nil {
		return kept, "", source.AsInvalid(err)
	}
	if w.Name == "" {
		w.Name = "token-" + strings.ToLower(rand.Text()[:10])
	}
	n := store.Token{Name: w.Name, Scopes: scopes.names()}
	if !w.Expires.IsZero() {
		n.ExpiresAt = &w.Expires
	}
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails
	token = prefix + base64.RawURLEncoding.EncodeToString(secret)
	if kept, err = keeper.CreateToken(ctx, n, store.HashToken(token)); err != nil {
		return store.Token{}, "", invalid(err)
	}
	return kept, token, nil
}

// Revoke deletes a token. The error of a name that no token has is source.Invalid (store.ErrUnknown).
func Revoke(ctx context.Context, keeper TokenStore, name string) error {
	return invalid(keeper.DeleteToken(ctx, name))
}

// List returns all tokens in the byte order of their names.
func List(ctx context.Context, keeper TokenStore) (all []store.Token, err error) {
	for page := (store.PageOf{}); ; {
		found, err := keeper.Tokens(ctx, page)
		if err != nil {
			return nil, err
		}
		all = append(all, found.Items...)
		if found.Next == nil {
			return all, nil
		}
		page.Cursor = *found.Next
	}
}

// invalid makes a mistake of whoever asked of an error that says which tokens there are.
func invalid(err error) error {
	if errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrTooLarge) {
		return source.AsInvalid(err)
	}
	return err
}
