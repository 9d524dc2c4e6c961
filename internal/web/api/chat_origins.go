package api

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// origin matches the origin of a page as browsers write it. It is copied into headers.
var origin = text.Regexp(`^https?://[a-z0-9-]+(\.[a-z0-9-]+)*(:[0-9]{1,5})?$`)

// pagesOf refuses pages of other sites, except those of the given origins.
func pagesOf(origins []string) (*http.CrossOriginProtection, error) {
	pages := ownPages()
	for _, o := range origins {
		if !origin().MatchString(o) {
			return nil, fmt.Errorf("origin %q: write scheme and host in lower case and nothing behind them, "+
				"such as https://www.acme.example", o)
		}
		if err := pages.AddTrustedOrigin(o); err != nil {
			return nil, fmt.Errorf("origin %q: %w", o, err)
		}
	}
	return pages, nil
}

// allowOrigin tells a browser that the page may read the answer (CORS), and reports whether it may.
func (s *Chats) allowOrigin(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Add("Vary", "Origin")
	from := r.Header.Get("Origin")
	if !slices.Contains(s.Origins, from) {
		return false
	}
	w.Header().Set("Access-Control-Allow-Origin", from)
	w.Header().Set("Access-Control-Expose-Headers", "Retry-After")
	return true
}

// preflight is OPTIONS /api/v1/chat: what a browser asks before it sends a message for a page of another site.
func (s *Chats) preflight(w http.ResponseWriter, r *http.Request) {
	if !s.allowOrigin(w, r) {
		writeProblem(w, newProblem(http.StatusForbidden, codeForbidden, "pages of this origin may not use the chat",
			"add the origin to those that the server was started with"))
		return
	}
	w.Header().Set("Access-Control-Allow-Methods", http.MethodPost)
	w.Header().Set("Access-Control-Allow-Headers", "Content-Type")
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}
