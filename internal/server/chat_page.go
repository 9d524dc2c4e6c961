package server

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"
)

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
