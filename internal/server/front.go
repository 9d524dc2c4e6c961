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

// FrontConfig says who may use a server.
type FrontConfig struct {
	// Token admits requests that send it as a bearer token. Without one, only this machine is admitted. This machine never needs a token.
	Token string
	// Log gets panics; nil discards them.
	Log *slog.Logger
	// Healthy returns what keeps the server from working, such as an unreachable store; nil means nothing ever does. It must be quick.
	Healthy func() error
}

// Front wraps all handlers of a server. It answers GET /healthz for everyone, admits programs of this machine and bearers of the token,
// refuses web pages of other sites, and turns panics into answers. Errors are problem documents.
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

// ServeHTTP passes a request on, or answers with the reason why not.
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

// health answers 200 when the server can work. The reason why it cannot goes to the log only: it may name machines.
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

// admits reports whether a request is admitted; it answers a request that is not.
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

// rescue answers for a handler that panicked. Turns recover by themselves, since they know what has been sent.
func (f *front) rescue(w http.ResponseWriter, r *http.Request) {
	switch fault := recover(); fault {
	case nil:
	case http.ErrAbortHandler: // net/http's way to drop a connection
		panic(fault)
	default:
		f.log.ErrorContext(r.Context(), "panic", "at", r.Method+" "+r.URL.Path, "panic", fault, "stack", string(debug.Stack()))
		writeProblem(w, problemOf(nil))
	}
}

// refuse returns the problem of a request that is not admitted, or nil.
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

// forwarded are the headers that a proxy adds to the request of somebody else.
var forwarded = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"}

// fromHere reports whether a request comes from a program of this machine. The peer's address must be local. Headers can only disprove it:
// a proxy on this machine forwards for others, and a page with a foreign host name belongs to a site that resolves to this machine (DNS
// rebinding).
func fromHere(r *http.Request) bool {
	for _, name := range forwarded {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	return loopback(r.RemoteAddr) && localName(r.Host)
}

// loopback reports whether an address with a port belongs to this machine's loopback interface.
func loopback(hostPort string) bool {
	at, err := netip.ParseAddrPort(hostPort)
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// localName reports whether no DNS server can give a host's name another meaning: an address, or localhost.
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
