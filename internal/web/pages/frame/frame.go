// Package frame is what all pages of the browser have in common: who may see them, the headers that keep them harmless,
// the style sheet, the script, lists, figures and forms.
package frame

import (
	"bytes"
	"crypto/rand"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
)

// Config says who may see the pages. The zero value shows them to whoever reaches the listener.
type Config struct {
	// Hosts are names by which the server may be asked for, beside the address that a request came in on and localhost.
	Hosts []string
	// Guard decides who may see pages; nil lets everybody in.
	Guard Access
	// Secure is true behind TLS: cookies are sent by it alone.
	Secure bool
	// ReadOnly refuses what changes something.
	ReadOnly bool
	// Log gets panics; nil discards them.
	Log *slog.Logger
}

// Access knows tokens.
type Access interface {
	// Admits returns nil for a token that may see pages, and post where it may also send forms. An empty token is that
	// of a request without one. ErrClosed is the error of a request that no token admits.
	Admits(r *http.Request, token string, post bool) error
}

// ErrClosed says that no token opens the pages to a request.
var ErrClosed = errors.New("only programs of this machine may see these pages")

// Frame renders pages and guards them. Make it with New.
type Frame struct {
	Config
	pieces *template.Template
	assets map[string]asset
	style  string
	script string
	key    [32]byte // of the values of forms
	nav    []Link
}

// Link leads to an address of this server.
type Link struct {
	Label, Address string
	// Up is true for the place that a page was opened from.
	Up bool
}

// New returns a frame for pages whose templates are given; nav are the places that every page leads to.
func New(c Config, nav []Link, source string, functions template.FuncMap) *Frame {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	f := &Frame{Config: c, assets: map[string]asset{}, nav: nav}
	_, _ = rand.Read(f.key[:]) // it never fails
	f.style, f.script = f.keep("style.css", "text/css; charset=utf-8", styleSheet()),
		f.keep("page.js", "text/javascript; charset=utf-8", script)
	f.pieces = parse(source, functions)
	return f
}

// Page is what every page has. Pages embed it.
type Page struct {
	// Name is the page's, Title stands in the window's title and H1 above the page.
	Name, Title string
	// Trail leads up, the nearest place last.
	Trail []Link
	// Warnings say what of the data could not be shown.
	Warnings []string
	// Events is the address of a stream by which the page brings itself up to date; empty without one.
	Events string
	// Grows is true of a page that brings itself up to date by asking for itself again every few seconds.
	Grows bool
	// Again is after how many seconds the browser asks for the page again, without script; 0 is never.
	Again int

	Nav           []Link
	Style, Script string
	// CSRF is the value that a form of the page sends back.
	CSRF string
}

// Base returns a page's frame.
func (f *Frame) Base(r *http.Request, name, title string) Page {
	return Page{Name: name, Title: title, Nav: f.nav, Style: f.style, Script: f.script}
}

// Show renders a page by the template of its name.
func (f *Frame) Show(w http.ResponseWriter, status int, name string, page any) {
	var b bytes.Buffer
	if err := f.pieces.ExecuteTemplate(&b, name, page); err != nil {
		f.Log.Error("a page could not be rendered", "page", name, "error", err)
		http.Error(w, "the page could not be rendered", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // whoever has gone needs no page
}

// message is a page of a few words.
type message struct {
	Page
	Words string
	Links []Link
}

// NotFound answers that something does not exist, and leads to what does.
func (f *Frame) NotFound(w http.ResponseWriter, r *http.Request, words string, links ...Link) {
	f.Show(w, http.StatusNotFound, "message", message{f.Base(r, "not-found", "Not found"), words, links})
}

// Unavailable answers that what the page shows cannot be reached.
func (f *Frame) Unavailable(w http.ResponseWriter, r *http.Request, words string) {
	f.Show(w, http.StatusServiceUnavailable, "message", message{f.Base(r, "unavailable", "Not available"), words, nil})
}

// laterAfter is after how many seconds a page that is not there yet is asked for again.
const laterAfter = 1

// Later answers that the page is being made, and has the browser ask for it again.
func (f *Frame) Later(w http.ResponseWriter, r *http.Request, words string) {
	page := f.Base(r, "unavailable", "One moment")
	page.Again = laterAfter
	w.Header().Set("Retry-After", strconv.Itoa(laterAfter))
	f.Show(w, http.StatusServiceUnavailable, "message", message{page, words, nil})
}

// Refuse answers that a request may not be made.
func (f *Frame) Refuse(w http.ResponseWriter, r *http.Request, status int, words string) {
	f.Show(w, status, "message", message{f.Base(r, "refused", "Refused"), words, nil})
}

// rescue answers for a page that panicked.
func (f *Frame) rescue(w http.ResponseWriter, r *http.Request) {
	switch fault := recover(); fault {
	case nil:
	case http.ErrAbortHandler: // net/http's way to drop a connection
		panic(fault)
	default:
		f.Log.ErrorContext(r.Context(), "panic", "at", strings.ToValidUTF8(r.URL.Path, "?"), "panic", fault, "stack",
			string(debug.Stack()))
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
	}
}
