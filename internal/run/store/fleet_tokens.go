package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// maxTokens bounds how many tokens a store keeps, since servers have all of them in memory.
const maxTokens = 10_000

// Token is a token of the API. The store never has the token itself, only its hash.
type Token struct {
	Name   string   `json:"name"`
	Scopes []string `json:"scopes"`
	// ExpiresAt is nil for a token that does not expire.
	ExpiresAt *time.Time `json:"expires_at"`
	// CreatedAt is the time by the store's clock.
	CreatedAt time.Time `json:"created_at"`
}

// Expired reports whether the token counts no longer.
func (t Token) Expired(now time.Time) bool { return t.ExpiresAt != nil && !now.Before(*t.ExpiresAt) }

// HashToken returns the hash by which a token is kept.
func HashToken(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// CreateToken keeps a token under its hash, and returns it with CreatedAt. It refuses a name that is taken with
// ErrExists, and more than 10,000 tokens with ErrTooLarge.
func (f *Fleet) CreateToken(ctx context.Context, token Token, hash [sha256.Size]byte) (Token, error) {
	check := rowCheck{what: "token", id: token.Name}
	check.key("name", token.Name)
	if check.err != nil {
		return Token{}, check.err
	}
	token.Name, token.Scopes = plainText(token.Name), slices.Clone(token.Scopes)
	if token.Scopes == nil {
		token.Scopes = []string{}
	}
	if token.ExpiresAt != nil {
		token.ExpiresAt = new(token.ExpiresAt.UTC().Truncate(time.Microsecond))
	}
	err := f.write(ctx, "write a token to", func(tx transaction) error {
		now, err := tx.now(ctx)
		if err != nil {
			return err
		}
		token.CreatedAt = now.UTC().Truncate(time.Microsecond)
		var kept int64
		if err := tx.read(ctx, `SELECT count(*) FROM exp.fleet_tokens`, nil, func(row scanner) error {
			return row.Scan(&kept)
		}); err != nil {
			return err
		}
		if kept >= maxTokens {
			return f.fault("write a token to", "there is no room for another token", "remove those that are not used",
				ErrTooLarge)
		}
		body, err := json.Marshal(token)
		if err != nil {
			return err
		}
		text, _ := plainJSON(body)
		n, err := tx.exec(ctx,
			`INSERT INTO exp.fleet_tokens (name, hash, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, token.Name,
			hash[:], text)
		if err == nil && n == 0 {
			err = f.fault("write a token to", fmt.Sprintf("there is a token %q already", shortened(token.Name)),
				"remove it first, or take another name", ErrExists)
		}
		return err
	})
	if err != nil {
		return Token{}, err
	}
	return token, nil
}

func scanToken(row scanner) (Token, error) {
	var body string
	if err := row.Scan(&body); err != nil {
		return Token{}, err
	}
	return readToken(body)
}

func readToken(body string) (t Token, err error) {
	if err = json.Unmarshal([]byte(body), &t); err != nil {
		err = fmt.Errorf("a token in the store: %w", err)
	}
	return t, err
}

// TokenHashes returns all tokens by their hashes, expired or not.
func (f *Fleet) TokenHashes(ctx context.Context) (map[[sha256.Size]byte]Token, error) {
	found := map[[sha256.Size]byte]Token{}
	err := f.read(ctx, "read tokens from", `SELECT hash, body FROM exp.fleet_tokens LIMIT $1`, []any{
		int64(maxTokens),
	}, func(row scanner) error {
		var hash []byte
		var body string
		if err := row.Scan(&hash, &body); err != nil {
			return err
		}
		if len(hash) != sha256.Size {
			return fmt.Errorf("a token in the store has a hash of %d bytes", len(hash))
		}
		t, err := readToken(body)
		found[[sha256.Size]byte(hash)] = t
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Tokens returns a page of tokens in the byte order of their names.
func (f *Fleet) Tokens(ctx context.Context, page PageOf) (Page[Token], error) {
	return namePage(ctx, f, "tokens", page, `SELECT body FROM exp.fleet_tokens WHERE name > $1 ORDER BY name LIMIT $2`,
		scanToken, func(t Token) string { return t.Name })
}

// DeleteToken deletes the token with a name; without one the error is ErrUnknown.
func (f *Fleet) DeleteToken(ctx context.Context, name string) error {
	return f.write(ctx, "delete a token in", func(tx transaction) error {
		n, err := tx.exec(ctx, `DELETE FROM exp.fleet_tokens WHERE name = $1`, plainText(name))
		if err == nil && n == 0 {
			err = f.fault("delete a token in", fmt.Sprintf("there is no token %q", shortened(name)),
				"list the tokens to see their names", ErrUnknown)
		}
		return err
	})
}
