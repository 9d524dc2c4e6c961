package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// pageTemplate is the chat page. What comes from a site's file is written into it, each text as text.
var pageTemplate = sync.OnceValues(func() (*template.Template, error) {
	return template.ParseFS(chatAssets, "assets/chat/page.html")
})

// page is GET /chat/{site_name}.
func (s *Chats) page(w http.ResponseWriter, r *http.Request) {
	found, ok := s.chatSite(w, r)
	if !ok {
		return
	}
	c, err := chatConfigOf(found, r.URL.Query().Get("language"))
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	page, err := pageTemplate()
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	var html bytes.Buffer
	if err := page.Execute(&html, pageView{c, pageModules()}); err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	w.Header().Set("Content-Security-Policy", s.pagePolicy(c.Logo))
	w.Header().Set("Referrer-Policy", "same-origin")
	serveContent(w, r, mediaTypes[".html"], html.Bytes())
}

// pageView is what the page is made of.
type pageView struct {
	chatConfig
	Modules []string
}

// pageModules are the names of the scripts that page.js is made of, so that a browser asks for all at once.
func pageModules() (names []string) {
	entries, _ := fs.ReadDir(chatAssets, "assets/chat/page")
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// pagePolicy lets the page do what it needs and nothing else: no script or style of others, no picture but the logo.
func (s *Chats) pagePolicy(logo string) string {
	pictures := "img-src 'self' data:"
	if u, err := url.Parse(logo); err == nil && u.Scheme == "https" {
		pictures += " https://" + u.Host
	}
	return strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", pictures,
		"base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
		strings.Join(append([]string{"frame-ancestors 'self'"}, s.Origins...), " "),
	}, "; ")
}

// asset is GET /chat/assets/{file}: what every page begins with.
func (s *Chats) asset(w http.ResponseWriter, r *http.Request) {
	serveAsset(w, r, path.Base(r.URL.Path))
}

// module is GET /chat/assets/page/{file}: a part of page.js.
func (s *Chats) module(w http.ResponseWriter, r *http.Request) {
	file := r.PathValue("file")
	if !slices.Contains(pageModules(), file) {
		writeProblem(w, newProblem(http.StatusNotFound, codeNotFound, fmt.Sprintf("there is no file %q", clean(file)),
			"the page is at /chat/SITE"))
		return
	}
	serveAsset(w, r, "page/"+file)
}

// mediaTypes are the media types of the assets. The machine's own table is not used.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
}

// serveAsset sends a file.
func serveAsset(w http.ResponseWriter, r *http.Request, file string) {
	data, err := chatAssets.ReadFile("assets/chat/" + file)
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	serveContent(w, r, mediaTypes[path.Ext(file)], data)
}

// serveContent sends data. Browsers ask each time whether it has changed.
func serveContent(w http.ResponseWriter, r *http.Request, media string, data []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	sum := sha256.Sum256(data)
	w.Header().Set("Content-Type", media)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}
