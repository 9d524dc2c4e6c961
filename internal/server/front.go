package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
)

// FrontConfig says who may come in.
type FrontConfig struct {
	// Token lets in whoever sends it as a bearer token. Without one only this machine may come in, which never needs it.
	Token string
	// Log gets panics; nil discards them.
	Log *slog.Logger
	// Healthy says what keeps the server from doing its work, such as a store that is away; nil means nothing ever does. It is quick.
	Healthy func() error
}

// Front stands before all doors of a server. It answers GET /healthz for everyone, lets in programs of this machine and bearers of the
// token, keeps web pages of other sites out, and turns panics into answers. Errors are problem documents.
func Front(next http.Handler, c FrontConfig) http.Handler {
	f := newFront(c)
	f.inside = ownPages().Handler(next)
	return f
}

func newFront(c FrontConfig) *front {
	f := &front{log: logOrDiscard(c.Log), healthy: c.Healthy}
	if c.Token != "" {
		sum := sha256.Sum256([]byte(c.Token))
		f.token = sum[:]
	}
	return f
}

// ownPages refuses requests that a browser sends for a page of another site.
func ownPages() *http.CrossOriginProtection {
	sites := http.NewCrossOriginProtection()
	sites.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, newProblem(http.StatusForbidden, codeForbidden, "requests from pages of another site are refused",
			"call the server from a program, or from a page that it serves itself"))
	}))
	return sites
}

type front struct {
	log     *slog.Logger
	token   []byte // its hash; nil without one
	healthy func() error
	inside  http.Handler
}

// ServeHTTP lets a request through, or says why not.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer f.rescue(w, r)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.URL.Path == "/healthz" {
		f.health(w)
		return
	}
	if f.admits(w, r) {
		f.inside.ServeHTTP(w, r)
	}
}

// health answers 200 when the server can do its work. The reason why not goes to the log: it may name machines.
func (f *front) health(w http.ResponseWriter) {
	if f.healthy != nil {
		if err := f.healthy(); err != nil {
			f.log.Warn("not healthy", "error", err)
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "unavailable: the store of sessions cannot be reached\n")
			return
		}
	}
	_, _ = io.WriteString(w, "ok\n")
}

// admits reports whether a request may come in; one that may not is answered.
func (f *front) admits(w http.ResponseWriter, r *http.Request) bool {
	p := f.refuse(r)
	if p == nil {
		return true
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	writeProblem(w, p)
	return false
}

// rescue answers for a handler that panicked. Turns have a rescue of their own, which knows how far the answer has come.
func (f *front) rescue(w http.ResponseWriter, r *http.Request) {
	switch fault := recover(); fault {
	case nil:
	case http.ErrAbortHandler: // the way to drop a connection
		panic(fault)
	default:
		f.log.ErrorContext(r.Context(), "panic", "at", r.Method+" "+r.URL.Path, "panic", fault, "stack", string(debug.Stack()))
		writeProblem(w, problemOf(nil))
	}
}

// refuse returns nil for who may come in.
func (f *front) refuse(r *http.Request) *Problem {
	if fromHere(r) {
		return nil
	}
	if f.token == nil {
		return newProblem(http.StatusForbidden, codeForbidden, "only programs of this machine may use this server",
			"call it as 127.0.0.1 or localhost and not through a proxy, or start it with a token")
	}
	sent, ok := bearer(r)
	if !ok {
		return newProblem(http.StatusUnauthorized, codeUnauthorized, "this server asks for a bearer token", "send it as Authorization: Bearer TOKEN")
	}
	sum := sha256.Sum256([]byte(sent))
	if subtle.ConstantTimeCompare(sum[:], f.token) != 1 {
		return newProblem(http.StatusUnauthorized, codeUnauthorized, "the bearer token is not the server's",
			"send the token that the server was started with")
	}
	return nil
}

func bearer(r *http.Request) (token string, ok bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), strings.EqualFold(scheme, "Bearer")
}

// forwarded are the headers by which a proxy says that the request is not its own.
var forwarded = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"}

// fromHere reports whether a request comes from a program of this machine. Only the peer's address can say so; headers can only say
// that it does not: a proxy on this machine speaks for others, and a page that calls itself by another name, for a site that
// pretends to live here (DNS rebinding).
func fromHere(r *http.Request) bool {
	for _, name := range forwarded {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	return loopback(r.RemoteAddr) && localName(r.Host)
}

// loopback reports whether an address, with a port, is one of this machine's own.
func loopback(hostPort string) bool {
	at, err := netip.ParseAddrPort(hostPort)
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// localName reports whether a host's name can only mean what it says: an address, or localhost.
func localName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

func logOrDiscard(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}
