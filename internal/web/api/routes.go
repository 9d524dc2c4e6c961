package api

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
)

// route is one operation of the API: its pattern, who may request it, its handler and its documentation. Errors are
// problem documents everywhere and are not listed.
type route struct {
	// pattern is a method and a path, as http.ServeMux reads them.
	pattern string
	scope   access.Scope
	// public also admits visitors of websites, on servers that are open to them.
	public bool
	handle http.HandlerFunc

	summary string
	// query and headers are optional parameters; those of the path are always required.
	query, headers []parameter
	// body is the request's, as Document.content describes it; nil for none.
	body any
	// ok is the body of the response 200, answers are those of others or of 200 without a body.
	ok      any
	answers answers
}

// answers are the bodies of responses by status, as Document.content describes them; nil for an empty one.
type answers map[int]any

// parameter is a string in a query or a header.
type parameter struct{ name, about string }

// ServeHTTP serves requests whose grant, which Front puts into their context, allows the scope; others get 403.
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

// table has the routes of a subject or of a server; its patterns are unique.
type table []route

// methods are those that routes can have, in the order of the header Allow.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions,
}

// mux serves the routes. Other methods of their paths get 405, other paths 404, both with problem documents.
func (t table) mux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range t {
		mux.Handle(r.pattern, r)
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

// handler is mux with 404 for paths with an empty element, which http.ServeMux redirects: a client with an empty ID.
func (t table) handler() http.Handler {
	mux := t.mux()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "//") {
			notServed(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func notServed(w http.ResponseWriter, r *http.Request) {
	writeProblem(w, newProblem(http.StatusNotFound, codeNotFound, "nothing is served at "+clip(r.URL.Path, maxDetail),
		"GET /openapi.json says what is"))
}

func refuseMethod(w http.ResponseWriter, r *http.Request, allowed []string) {
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	writeProblem(w, newProblem(http.StatusMethodNotAllowed, codeMethod,
		clean(r.Method)+" is not served at "+clip(r.URL.Path, maxDetail), "use "+strings.Join(allowed, " or ")))
}

// withoutQuery rejects requests with query parameters.
func withoutQuery(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for name := range r.URL.Query() {
			writeProblem(w, newProblem(http.StatusBadRequest, codeQuery,
				fmt.Sprintf("the parameter %s cannot be read", clip(name, 100)), "leave it out: there are none here"))
			return
		}
		handle(w, r)
	}
}

// allowedAt returns the methods of the routes at a request's path; HEAD only where a route names it.
func allowedAt(mux *http.ServeMux, r *http.Request) (allowed []string) {
	for _, method := range methods {
		other := r.Clone(r.Context())
		other.Method = method
		_, pattern := mux.Handler(other)
		if pattern != "/" && (method != http.MethodHead || strings.HasPrefix(pattern, method)) {
			allowed = append(allowed, method)
		}
	}
	return allowed
}
