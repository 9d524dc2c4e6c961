package api

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

const tokensPath = "/api/v1/tokens"

const codeTokenExists = "token_exists"

// TokensConfig is what a server of tokens uses. Tokens and Access are required.
type TokensConfig struct {
	Tokens access.TokenStore
	// Access is told of changes.
	Access *access.Authenticator
	// Now is the clock by which tokens expire; nil means time.Now. Log gets what goes wrong; nil discards it.
	Now func() time.Time
	Log *slog.Logger
}

// Tokens makes, lists and removes tokens at /api/v1/tokens. It is safe for concurrent use. Put it behind Front, which
// checks access.
type Tokens struct{ TokensConfig }

// NewTokens returns a server of tokens.
func NewTokens(c TokensConfig) *Tokens {
	c.Log = logOrDiscard(c.Log)
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Tokens{c}
}

func (s *Tokens) table() table {
	return table{
		{
			pattern: "GET /api/v1/tokens", scope: access.Admin, handle: s.answer(s.list),
			summary: "List tokens", query: pageQuery, ok: store.Page[tokenView]{},
		},
		{
			pattern: "POST /api/v1/tokens", scope: access.Admin, handle: s.answer(s.create),
			summary: "Make a token", answers: answers{201: tokenView{}},
			body: json.RawMessage(`{"type": "object", "required": ["name", "scopes"], "properties": {
				"name": {"type": "string"}, "scopes": {"type": "array", "items": {"type": "string"}}, "expires": {"type": "string"}}}`),
		},
		{
			pattern: "DELETE /api/v1/tokens/{name}", scope: access.Admin, handle: s.answer(s.remove),
			summary: "Remove a token", answers: answers{204: nil},
		},
	}
}

// tokenView is a token as the API shows it. The token itself is there only where it was made.
type tokenView struct {
	Name      string     `json:"name"`
	Scopes    []string   `json:"scopes"`
	Expires   *time.Time `json:"expires"`
	CreatedAt time.Time  `json:"created_at"`
	Token     string     `json:"token,omitempty"`
}

func viewOf(t store.Token) tokenView {
	return tokenView{Name: t.Name, Scopes: t.Scopes, Expires: t.ExpiresAt, CreatedAt: t.CreatedAt}
}

func (s *Tokens) list(w http.ResponseWriter, r *http.Request) error {
	q := query{r.URL.Query(), nil}
	page, err := q.page()
	if err != nil {
		return err
	}
	found, err := s.Tokens.Tokens(r.Context(), page)
	if err != nil {
		return err
	}
	shown := store.Page[tokenView]{Items: make([]tokenView, len(found.Items)), Next: found.Next}
	for i, t := range found.Items {
		shown.Items[i] = viewOf(t)
	}
	writeBody(w, http.StatusOK, "application/json", shown)
	return nil
}

func (s *Tokens) create(w http.ResponseWriter, r *http.Request) error {
	body, err := readJSONUpTo(w, r, 1, "send a name, scopes and if you like expires")
	if err != nil {
		return err
	}
	var asked struct {
		Name    string   `json:"name"`
		Scopes  []string `json:"scopes"`
		Expires string   `json:"expires"`
	}
	if err := decodeUTF8(body, &asked); err != nil {
		return err
	}
	now := s.Now()
	wish := access.Wish{Name: asked.Name, Scopes: asked.Scopes}
	if wish.Name == "" {
		return newProblem(http.StatusBadRequest, codeQuery, "a token needs a name", "name it for what uses it").
			at("/name")
	}
	if asked.Expires != "" {
		if wish.Expires, err = readExpiry(asked.Expires, now); err != nil {
			return newProblem(http.StatusBadRequest, codeQuery, "the expiry cannot be read",
				`write how long the token counts, such as "720h", or a time as in 2026-01-31T12:00:00Z`).at("/expires")
		}
	}
	kept, token, err := access.Issue(r.Context(), s.Tokens, wish, now)
	if err != nil {
		return err
	}
	s.Access.Forget()
	shown := viewOf(kept)
	shown.Token = token
	w.Header().Set("Location", tokensPath+"/"+url.PathEscape(kept.Name))
	w.Header().Set("Cache-Control", "no-store")
	writeBody(w, http.StatusCreated, "application/json", shown)
	return nil
}

// readExpiry reads a time, or how long from now on.
func readExpiry(text string, now time.Time) (time.Time, error) {
	if lasts, err := time.ParseDuration(text); err == nil {
		return now.Add(lasts), nil
	}
	return time.Parse(time.RFC3339Nano, text)
}

func (s *Tokens) remove(w http.ResponseWriter, r *http.Request) error {
	if err := access.Revoke(r.Context(), s.Tokens, r.PathValue("name")); err != nil {
		return err
	}
	s.Access.Forget()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Tokens) answer(handle func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := handle(w, r); err != nil && !givenUp(r, err) {
			writeProblem(w, s.problem(r, err))
		}
	}
}

// problem returns an error as a client sees it.
func (s *Tokens) problem(r *http.Request, err error) *Problem {
	wish, isWish := errors.AsType[*access.WishError](err)
	known, is := errors.AsType[*Problem](err)
	switch {
	case is:
		return known
	case isWish:
		return newProblem(http.StatusBadRequest, codeQuery, clip(err.Error(), maxDetail), "").at("/" + wish.Field)
	case errors.Is(err, store.ErrExists):
		return newProblem(http.StatusConflict, codeTokenExists, "there is a token of this name",
			"remove it first, or take another name")
	case errors.Is(err, store.ErrUnknown):
		return newProblem(http.StatusNotFound, codeNotFound, "there is no token of this name",
			"GET "+tokensPath+" lists the tokens")
	case errors.Is(err, store.ErrTooLarge):
		return newProblem(http.StatusConflict, codeFull, "there is no room for another token",
			"remove those that are not used")
	case errors.Is(err, store.ErrCursor):
		return newProblem(http.StatusBadRequest, codeCursor, "the cursor was not given out by this list",
			"use next_cursor as it came")
	case store.IsUnavailable(err):
		s.Log.ErrorContext(r.Context(), "the store of tokens is away", "error", err)
		return unavailable()
	}
	s.Log.ErrorContext(r.Context(), "a request failed", "at", r.Method+" "+clip(r.URL.Path, maxDetail), "error", err)
	return problemOf(nil)
}
