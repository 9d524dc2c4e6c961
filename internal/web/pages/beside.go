package pages

import (
	"errors"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/web/api"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// places are the first parts of the addresses of pages.
var places = map[string]bool{
	"": true, "runs": true, "compare": true, "search": true, "replays": true, "sessions": true, "flows": true,
	"datasets": true, "judge": true, "classify": true, "assets": true, "login": true,
}

// With returns a handler that answers for pages, and passes everything else on to rest.
func With(pages, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if places[first] {
			pages.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// Agents admits to pages whom a server of agents admits to its API.
type Agents struct {
	Server interface {
		Admits(r *http.Request, token string) (access.Grant, error)
	}
}

var _ frame.Access = Agents{}

// Admits returns nil for who has the scope read, or run for a form.
func (a Agents) Admits(r *http.Request, token string, post bool) error {
	grant, err := a.Server.Admits(r, token)
	switch {
	case errors.Is(err, api.ErrOnlyHere):
		return frame.ErrClosed
	case err != nil:
		return err
	}
	return inScope(grant, post)
}

// inScope returns nil for a grant of the scope read, or run for a form.
func inScope(grant access.Grant, post bool) error {
	scope := access.Read
	if post {
		scope = access.Run
	}
	if !grant.Allows(scope) {
		return errScope
	}
	return nil
}
