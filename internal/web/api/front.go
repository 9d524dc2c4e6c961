package api

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
)

// FrontConfig says who may use a server. The zero value admits programs of this machine.
type FrontConfig struct {
	// Access knows the tokens. Where there is one, everybody is asked for it. Nil knows none.
	Access *access.Authenticator
	// TrustLoopback admits programs of this machine without a token.
	TrustLoopback bool
	// AnyKey admits programs of this machine whatever token they send, where there is none: clients of a model's
	// provider always send a key.
	AnyKey bool
	// Rate is how many requests a second each token may make, and each address without one; 0 does not bound them.
	// Programs of this machine that need no token are not bound, nor is what Public lets in.
	Rate int
	// TrustedProxies are the proxies whose X-Forwarded-For is believed where addresses are told apart.
	TrustedProxies []netip.Prefix
	// Public reports whether visitors may make a request; nil means that the server has no visitors. With it, every
	// request without a token is a visitor's, wherever it comes from, unless TrustLoopback: a proxy on this machine may
	// forward visitors' requests without adding a header.
	Public func(*http.Request) bool
	// Log gets panics and stores that are away; nil discards them.
	Log *slog.Logger
	// Healthy returns what keeps the server from working, such as an unreachable store; nil means nothing ever does. It
	// must be quick, and is asked once a second at most. Stopping reports whether the server takes nothing more; nil
	// means that it never does.
	Healthy  func() error
	Stopping func() bool
}

// Front wraps all handlers of a server. It answers GET /healthz and GET /livez for everybody, and all else only for
// those who may come in. The handlers find out with access.Of what a request may do. It refuses web
// pages of other sites, and turns panics into answers. Errors are problem documents.
func Front(next http.Handler, c FrontConfig) http.Handler {
	return newFront(ownPages().Handler(next), c)
}

// newFront is Front for handlers that refuse pages of other sites themselves.
func newFront(inside http.Handler, c FrontConfig) *front {
	c.Log = logOrDiscard(c.Log)
	c.Access = cmp.Or(c.Access, access.New(access.Config{}))
	f := &front{FrontConfig: c, inside: inside, reading: make(gate, 2*runtime.GOMAXPROCS(0))}
	if c.Rate > 0 {
		f.rate = access.NewRate(c.Rate, nil)
	}
	return f
}

// ownPages refuses requests that a browser sends for a page of another site.
func ownPages() *http.CrossOriginProtection {
	sites := http.NewCrossOriginProtection()
	sites.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, newProblem(http.StatusForbidden,
			codeForbidden, "requests from pages of another site are refused",
			"call the server from a program, or from a page that it serves itself"))
	}))
	return sites
}

type front struct {
	FrontConfig
	rate    *access.Rate // nil without a bound
	reading gate         // of documents, see limited
	inside  http.Handler
	health  health
}

// ServeHTTP passes a request on, or answers with the reason why not.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer f.rescue(w, r)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if f.probed(w, r) {
		return
	}
	grant, p := f.admit(r)
	if p != nil {
		if p.Status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		writeProblem(w, p)
		return
	}
	told := &statusWriter{ResponseWriter: w}
	ctx, stop := f.whileAdmitted(context.WithValue(access.With(r.Context(), grant), readingKey{}, f.reading), r)
	defer stop()
	f.inside.ServeHTTP(told, r.WithContext(ctx))
	if told.status == 0 && ctx.Err() != nil { // net/http would answer 200
		panic(http.ErrAbortHandler)
	}
}

// probed answers the two probes.
func (f *front) probed(w http.ResponseWriter, r *http.Request) bool {
	path := r.URL.Path
	if path != "/healthz" && path != "/livez" {
		return false
	}
	noteRoute(r, path)
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		refuseMethod(w, r, []string{http.MethodGet, http.MethodHead})
	case path == "/healthz":
		f.answerHealth(w)
	default:
		answerPlainly(w, http.StatusOK, "ok")
	}
	return true
}

// admit returns what a request may do, or why it is refused. A token that was sent is looked at first: a wrong one is
// refused, whoever sends it.
func (f *front) admit(r *http.Request) (access.Grant, *Problem) {
	public := f.Public != nil && f.Public(r)
	trusted, away := f.trusted(r)
	if sent, given := sentToken(r); given && !(f.AnyKey && trusted) {
		return f.admitToken(r, sent, trusted, public)
	}
	switch {
	case trusted:
		return local(), nil
	case public:
		return access.Grant{Open: true}, nil
	case away != nil:
		return access.Grant{}, f.away(r, away)
	}
	configured, away := f.Access.Configured()
	var p *Problem
	switch {
	case away != nil:
		return access.Grant{}, f.away(r, away)
	case configured:
		p = newProblem(http.StatusUnauthorized, codeUnauthorized, "this server asks for a bearer token",
			"send it as Authorization: Bearer TOKEN")
	case f.Public != nil:
		p = newProblem(http.StatusForbidden, codeForbidden, "visitors may use the chat only",
			"create a token with `rehearse token add` and send it as Authorization: Bearer TOKEN")
	default:
		p = newProblem(http.StatusForbidden, codeForbidden, "only programs of this machine may use this server",
			"call it as 127.0.0.1 or localhost and not through a proxy, or start it with a token")
	}
	return access.Grant{}, cmp.Or(f.bound(addressOf(r, f.TrustedProxies)), p)
}

// trusted reports whether a request needs no token because a program of this machine sends it. Only here is loopback a
// privilege. The error is that of a store of tokens that cannot be read.
func (f *front) trusted(r *http.Request) (bool, error) {
	if !fromHere(r) || f.TrustLoopback || f.Public != nil {
		return fromHere(r) && f.TrustLoopback, nil
	}
	configured, err := f.Access.Configured()
	return err == nil && !configured, err
}

// local is what programs of this machine may do that need no token.
func local() access.Grant { return access.Grant{Scopes: access.Scopes{access.Admin}} }

// admitToken returns what a token lets a request do.
func (f *front) admitToken(r *http.Request, sent string, trusted, public bool) (access.Grant, *Problem) {
	grant, err := f.Access.Authenticate(sent)
	switch {
	case errors.Is(err, access.ErrUnknown), errors.Is(err, access.ErrExpired):
		return grant, cmp.Or(f.bound(addressOf(r, f.TrustedProxies)),
			newProblem(http.StatusUnauthorized, codeUnauthorized, err.Error(),
				"send a token of this server, or none where none is needed"))
	case err != nil:
		return grant, f.away(r, err)
	}
	if grant.Open = public; trusted {
		return grant, nil
	}
	return grant, f.bound("token " + grant.Token)
}

// bound counts a request of a sender; the problem is nil if the sender may make it.
func (f *front) bound(sender string) *Problem {
	if f.rate == nil {
		return nil
	}
	wait := f.rate.Acquire(sender)
	if wait == 0 {
		return nil
	}
	return newProblem(http.StatusTooManyRequests, codeRate, "too many requests a second",
		"wait for as long as Retry-After says").after(wait)
}

// away is the problem of a request that nobody can say of whether it may come in.
func (f *front) away(r *http.Request, err error) *Problem {
	f.Log.ErrorContext(r.Context(), "the store of tokens is away", "error", err)
	return cmp.Or(f.bound(addressOf(r, f.TrustedProxies)), unavailable())
}

// sentToken returns the token of a request, and whether it sent one. Two of them are one that nobody has. The pages'
// cookie has its place here.
func sentToken(r *http.Request) (token string, given bool) {
	sent := r.Header.Values("Authorization")
	if len(sent) > 1 {
		return "", true
	}
	scheme, token, _ := strings.Cut(strings.Join(sent, ""), " ")
	return strings.TrimSpace(token), strings.EqualFold(scheme, "Bearer")
}

// addressOf names the address that a request comes from, of IPv6 its network of 64 bits: one sender can have all of it.
func addressOf(r *http.Request, trusted []netip.Prefix) string {
	at := visitorIP(r, trusted)
	if at.Is6() {
		network, err := at.Prefix(64)
		if err == nil {
			return "address " + network.String()
		}
	}
	return "address " + at.String()
}

// rescue answers for a handler that panicked. Turns recover by themselves, since they know what has been sent.
func (f *front) rescue(w http.ResponseWriter, r *http.Request) {
	switch fault := recover(); fault {
	case nil:
	case http.ErrAbortHandler: // net/http's way to drop a connection
		panic(fault)
	default:
		f.Log.ErrorContext(r.Context(), "panic", "at", r.Method+" "+r.URL.Path, "panic", fault, "stack",
			string(debug.Stack()))
		writeProblem(w, problemOf(nil))
	}
}

func logOrDiscard(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}
