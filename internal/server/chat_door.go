package server

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// origin matches the origin of a page as browsers write it. It is copied into headers.
var origin = regexp.MustCompile(`^https?://[a-z0-9-]+(\.[a-z0-9-]+)*(:[0-9]{1,5})?$`)

// pagesOf refuses pages of other sites, except those of the given origins.
func pagesOf(origins []string) (*http.CrossOriginProtection, error) {
	pages := ownPages()
	for _, o := range origins {
		if !origin.MatchString(o) {
			return nil, fmt.Errorf("origin %q: write scheme and host in lower case and nothing behind them, such as https://www.acme.example", o)
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

// chatAssets are the chat page and the script that embeds it in other pages. They are the same for every site: the page takes the
// site's name from its address, so no text from outside is written into HTML.
//
//go:embed assets/chat
var chatAssets embed.FS

// page is GET /chat/{site_name}.
func (s *Chats) page(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "+
		"form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'; "+
		strings.Join(append([]string{"frame-ancestors 'self'"}, s.Origins...), " "))
	h.Set("Referrer-Policy", "same-origin")
	serveAsset(w, r, "page.html")
}

// asset is GET /chat/assets/{file}: a file of the page.
func (s *Chats) asset(w http.ResponseWriter, r *http.Request) {
	switch file := r.PathValue("file"); file {
	case "page.js", "page.css":
		serveAsset(w, r, file)
	default:
		writeProblem(w, newProblem(http.StatusNotFound, codeNotFound, fmt.Sprintf("there is no file %q", clean(file)), "the page is at /chat/SITE"))
	}
}

// widget is GET /chat.js. Pages of any site may load it, but the chat is shown only on pages of the origins.
func (s *Chats) widget(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	serveAsset(w, r, "widget.js")
}

// mediaTypes are the media types of the assets. The machine's own table is not used.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
}

// serveAsset sends a file. Browsers ask each time whether it has changed.
func serveAsset(w http.ResponseWriter, r *http.Request, file string) {
	data, err := chatAssets.ReadFile("assets/chat/" + file)
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	sum := sha256.Sum256(data)
	w.Header().Set("Content-Type", mediaTypes[path.Ext(file)])
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}
