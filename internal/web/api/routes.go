package api

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
)

// route is a handler, and who may ask for it (service.md 3.1). Make it with reads, runs, tests or admins.
type route struct {
	scope access.Scope
	// public is true for what visitors of websites may ask for, if the server lets them in.
	public bool
	handle http.HandlerFunc
}

func reads(h http.HandlerFunc) route { return route{scope: access.Read, handle: h} }

func runs(h http.HandlerFunc) route { return route{scope: access.Run, handle: h} }

func tests(h http.HandlerFunc) route { return route{scope: access.Test, handle: h} }

func admins(h http.HandlerFunc) route { return route{scope: access.Admin, handle: h} }

// orPublic opens a route to visitors, too.
func (r route) orPublic() route {
	r.public = true
	return r
}

// ServeHTTP answers those who have the scope. Front has found out who asks.
func (r route) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_, path, _ := strings.Cut(req.Pattern, " ")
	noteRoute(req, path)
	if access.Of(req.Context()).Allows(r.scope) {
		r.handle(paced{w}, req)
		return
	}
	p := newProblem(http.StatusForbidden, codeForbidden, "the token does not have the scope "+string(r.scope),
		"send a token with this scope; `rehearse token add --scope "+string(r.scope)+"` makes one")
	p.Scope = r.scope
	writeProblem(w, p)
}

// table maps paths and methods to routes.
type table map[string]map[string]route

// methods are those that a path may be asked with.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// mux answers other methods with 405 and other paths with 404, both as problem documents.
func (t table) mux() *http.ServeMux {
	mux := http.NewServeMux()
	for path, methods := range t {
		for method, handle := range methods {
			mux.Handle(method+" "+path, handle)
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if allowed := allowedAt(mux, r); len(allowed) > 0 {
			refuseMethod(w, r, allowed)
			return
		}
		notServed(w, r)
	})
	return mux
}

// handler is the mux, but it sends no request to another path.
func (t table) handler() http.Handler {
	mux := t.mux()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "//") { // the mux would redirect to another path; a client with an empty id means none
			notServed(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func notServed(w http.ResponseWriter, r *http.Request) {
	writeProblem(w, newProblem(http.StatusNotFound, codeNotFound, "nothing is served at "+clip(r.URL.Path, maxDetail), "GET "+documentPath+" says what is"))
}

func refuseMethod(w http.ResponseWriter, r *http.Request, allowed []string) {
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	writeProblem(w, newProblem(http.StatusMethodNotAllowed, codeMethod, clean(r.Method)+" is not served at "+clip(r.URL.Path, maxDetail),
		"use "+strings.Join(allowed, " or ")))
}

// withoutQuery refuses parameters, where a path takes none.
func withoutQuery(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for name := range r.URL.Query() {
			writeProblem(w, newProblem(http.StatusBadRequest, codeQuery, fmt.Sprintf("the parameter %s cannot be read", clip(name, 100)), "leave it out: there are none here"))
			return
		}
		handle(w, r)
	}
}

// allowedAt returns the methods with which the path of a request is served.
func allowedAt(mux *http.ServeMux, r *http.Request) (allowed []string) {
	for _, method := range methods {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "/" && (method != http.MethodHead || strings.HasPrefix(pattern, method)) {
			allowed = append(allowed, method)
		}
	}
	return allowed
}
