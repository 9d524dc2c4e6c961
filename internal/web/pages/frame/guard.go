package frame

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Names of the cookies: the token of whoever logged in, and what the values of forms are bound to.
const (
	tokenCookie = "rehearse_token"
	formCookie  = "rehearse_form"
)

// maxBody bounds what a form may send.
const maxBody = 1 << 20

// policy is the Content-Security-Policy of every page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// Handler wraps the pages: it refuses hosts that are not this server's, asks for a token where one is needed, and
// checks forms.
func (f *Frame) Handler(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer f.rescue(w, r)
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		switch {
		case !f.ours(r):
			f.Refuse(w, r, http.StatusForbidden,
				"This server is not asked for by that name. Start it with --host NAME to allow one.")
		case r.URL.Path == "/healthz":
			head.Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = w.Write([]byte("ok\n"))
		case f.asset(w, r):
		case r.URL.Path == "/login" && f.Guard != nil:
			f.login(w, r)
		default:
			if f.Guard != nil {
				var ok bool
				if r, ok = f.admitted(w, r); !ok {
					return
				}
			}
			f.checked(w, r, pages)
		}
	})
}

// NoForms says why a token that opens pages has no forms on them.
const NoForms = "Your token opens the pages and sends no forms: that needs the scope run."

// sends is the key of a request's context under which stands that whoever asks may send forms.
type sends struct{}

// admitted reports whether whoever asks may come in, and notes whether it may send forms; else it has answered.
func (f *Frame) admitted(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	token, posted := sentToken(r), r.Method == http.MethodPost
	err := f.Guard.Admits(r, token, true)
	switch {
	case err == nil:
		return r.WithContext(context.WithValue(r.Context(), sends{}, true)), true
	case !posted && !errors.Is(err, ErrClosed):
		err = f.Guard.Admits(r, token, false)
	}
	switch {
	case errors.Is(err, ErrClosed):
		f.Refuse(w, r, http.StatusForbidden, "These pages need a token, or a server without --public that is called "+
			"from its own machine. Start the server with a token.")
	case err != nil && posted && f.Guard.Admits(r, token, false) == nil:
		f.Refuse(w, r, http.StatusForbidden, NoForms)
	case err != nil:
		f.sendToLogin(w, r)
	}
	return r, err == nil
}

// checked passes on what asks for a page, and forms that were sent from one.
func (f *Frame) checked(w http.ResponseWriter, r *http.Request, pages http.Handler) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		pages.ServeHTTP(w, r)
	case http.MethodPost:
		if f.ReadOnly {
			f.Refuse(w, r, http.StatusForbidden, "These pages are read-only.")
			return
		}
		if f.formed(w, r) {
			pages.ServeHTTP(w, r)
		}
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		f.Refuse(w, r, http.StatusMethodNotAllowed, "Pages are asked for with GET, and forms sent with POST.")
	}
}

// ours reports whether a request names this server: by the address that it came in on, as localhost, or by a name that
// was allowed.
func (f *Frame) ours(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if host == "localhost" || slices.ContainsFunc(f.Hosts, func(name string) bool {
		return strings.EqualFold(name, host)
	}) {
		return true
	}
	asked, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && asked.Unmap().WithZone("") == at.AddrPort().Addr().Unmap().WithZone("")
}

// sentToken returns the token of a request, by its header or by the cookie of the login.
func sentToken(r *http.Request) string {
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	if c, err := r.Cookie(tokenCookie); err == nil {
		return c.Value
	}
	return ""
}

func (f *Frame) sendToLogin(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		f.Refuse(w, r, http.StatusUnauthorized, "This server asks for a token: log in first.")
		return
	}
	http.Redirect(w, r, "/login?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
}

// loginPage asks for a token.
type loginPage struct {
	Page
	To    string
	Wrong string
}

// login takes a token and remembers it in a cookie of the session.
func (f *Frame) login(w http.ResponseWriter, r *http.Request) {
	posted := r.Method == http.MethodPost
	if posted && !f.formed(w, r) { // before anything else reads the body: nobody has shown a token yet
		return
	}
	page := loginPage{Page: f.Base(r, "login", "Log in"), To: here(r.URL.Query().Get("to"))}
	page.CSRF = f.formValue(w, r)
	if !posted {
		f.Show(w, http.StatusOK, "login", page)
		return
	}
	if to := r.PostFormValue("to"); to != "" {
		page.To = here(to)
	}
	token := strings.TrimSpace(r.PostFormValue("token"))
	if err := f.Guard.Admits(r, token, false); err != nil || token == "" {
		page.Wrong = "That token does not open these pages."
		f.Show(w, http.StatusUnauthorized, "login", page)
		return
	}
	http.SetCookie(w, f.cookie(r, tokenCookie, token))
	http.Redirect(w, r, page.To, http.StatusSeeOther)
}

// here returns a path of this server, /runs for anything else.
func here(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") ||
		strings.Contains(to, `\`) {
		return "/runs"
	}
	return to
}

// cookie makes a cookie of the session, which goes over TLS alone where the page came over TLS.
func (f *Frame) cookie(r *http.Request, name, value string) *http.Cookie {
	secure := f.Secure || r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
	return &http.Cookie{
		Name: name, Value: value, Path: "/", HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode,
	}
}

// formValue returns the value that a form must send back. It is bound to a cookie, which is set where there is none.
func (f *Frame) formValue(w http.ResponseWriter, r *http.Request) string {
	c, err := r.Cookie(formCookie)
	if err != nil || len(c.Value) < 16 {
		c = f.cookie(r, formCookie, rand.Text())
		http.SetCookie(w, c)
	}
	return f.signed(c.Value)
}

// Form returns the value that the forms of a page send back, and sets the cookie that it is bound to. It is empty where
// there are no forms: on read-only pages, and for a token that may not send them.
func (f *Frame) Form(w http.ResponseWriter, r *http.Request) string {
	if f.ReadOnly || f.Guard != nil && r.Context().Value(sends{}) == nil {
		return ""
	}
	return f.formValue(w, r)
}

// authorCookie remembers who sent a form.
const authorCookie = "rehearse_author"

// Author returns who the browser says sends forms.
func (f *Frame) Author(r *http.Request) string {
	c, err := r.Cookie(authorCookie)
	if err != nil {
		return ""
	}
	name, err := url.QueryUnescape(c.Value)
	if err != nil || len(name) > 200 {
		return ""
	}
	return name
}

// Remember has the browser remember who sent a form.
func (f *Frame) Remember(w http.ResponseWriter, r *http.Request, author string) {
	c := f.cookie(r, authorCookie, url.QueryEscape(author))
	c.MaxAge = 400 * 24 * 60 * 60
	http.SetCookie(w, c)
}

func (f *Frame) signed(value string) string {
	sum := hmac.New(sha256.New, f.key[:])
	sum.Write([]byte(value))
	return hex.EncodeToString(sum.Sum(nil))
}

// formTime bounds how long a form may take to arrive.
const formTime = 20 * time.Second

// formed reports whether a form was sent from a page of this server; else it has answered.
func (f *Frame) formed(w http.ResponseWriter, r *http.Request) bool {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(formTime)) // the server's own limit stays
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	err := r.ParseForm()
	if err == nil { // a body of another kind is none of a form, and is left unread
		_, err = io.Copy(io.Discard, r.Body)
	}
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			f.Refuse(w, r, http.StatusRequestEntityTooLarge, "The form is larger than 1 MB.")
			return false
		}
		f.Refuse(w, r, http.StatusBadRequest, "The form cannot be read.")
		return false
	}
	c, err := r.Cookie(formCookie)
	if err != nil || !hmac.Equal([]byte(f.signed(c.Value)), []byte(r.PostFormValue("csrf"))) || !sameOrigin(r) {
		f.Refuse(w, r, http.StatusForbidden,
			"The form was not sent from a page of this server. Open the page again and send it from there.")
		return false
	}
	return true
}

// sameOrigin reports whether a request comes from a page of this server, as far as it says.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}
