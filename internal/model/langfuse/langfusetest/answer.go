package langfusetest

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// ServeHTTP answers a request, so that the server can be asked without a network, too.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
	if err != nil {
		s.t.Errorf("%s %s: %v", r.Method, r.URL, err)
		return
	}
	fault, observer := s.begin(r)
	if !fault.wait(r.Context()) {
		return
	}
	status, data := fault.Status, []byte(fault.Body)
	if status == 0 {
		status, data = s.answer(r, body)
	}
	fault.write(w, status, data)
	if observer != nil {
		observer(r)
	}
	if fault.Cut {
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) begin(r *http.Request) (Fault, func(*http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	var fault Fault
	if len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	return fault, s.observer
}

// answer carries a request out and checks both sides against the document.
func (s *Server) answer(r *http.Request, body []byte) (int, []byte) {
	if s.document == nil {
		return http.StatusInternalServerError, nil
	}
	if isProtobuf(r) { // the document describes JSON alone
		var err error
		if body, err = spansAsJSON(body); err != nil {
			s.t.Errorf("%s %s: %v", r.Method, r.URL, err)
			return http.StatusBadRequest, nil
		}
		r = r.Clone(r.Context())
		r.GetBody = nil // it returns what came
		r.Header.Set("Content-Type", "application/json")
	}
	_, pattern := s.mux.Handler(r)
	if pattern == "" {
		s.t.Errorf("%s %s: the published API has no such call, or the fake does not", r.Method, r.URL)
		return http.StatusNotFound, nil
	}
	match := &matched{}
	s.mux.ServeHTTP(nil, r.WithContext(context.WithValue(r.Context(), matchKey{}, match)))
	checked := s.document.call(match.request, strings.TrimPrefix(pattern, r.Method+" "), body)
	if err := checked.request(r.Context()); err != nil {
		s.t.Errorf("%s %s: the request is not as published: %.1000s\n%.500s", r.Method, r.URL, err.Error(), body)
	}
	status, data := s.perform(match, r, body)
	if err := checked.answer(r.Context(), status, data); err != nil {
		s.t.Errorf("%s %s: the answer is not as published: %.1000s\n%.500s", r.Method, r.URL, err.Error(), data)
	}
	return status, data
}

func (s *Server) perform(match *matched, r *http.Request, body []byte) (int, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status, value := s.handle(match, r, body)
	data, err := json.Marshal(value)
	if err != nil {
		s.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	return status, data
}

func (s *Server) handle(match *matched, r *http.Request, body []byte) (int, any) {
	user, password, _ := r.BasicAuth()
	same := subtle.ConstantTimeCompare([]byte(user+":"+password), []byte(PublicKey+":"+SecretKey)) == 1
	if !same && !strings.HasSuffix(r.URL.Path, "/health") {
		return http.StatusUnauthorized, object{
			"message": "Invalid credentials. Confirm the host and the keys.", "error": "UnauthorizedError",
		}
	}
	in := input{query: r.URL.Query(), path: match.request.PathValue, header: r.Header}
	if len(bytes.TrimSpace(body)) > 0 {
		if err := json.Unmarshal(body, &in.body); err != nil {
			return http.StatusBadRequest, object{"message": "Invalid JSON", "error": "InvalidRequestError"}
		}
	}
	return match.handler(in)
}

// input is what a handler knows of a request.
type input struct {
	query  map[string][]string
	path   func(string) string
	header http.Header
	body   object
}

func (in input) param(name string) string {
	if len(in.query[name]) == 0 {
		return ""
	}
	return in.query[name][0]
}

// moment is the time of what is created next.
func (s *Server) moment() string {
	s.seconds++
	return time.Date(2026, 1, 1, 0, 0, s.seconds, 0, time.UTC).Format(time.RFC3339)
}

func missing(what string) (int, any) {
	return http.StatusNotFound, object{"message": what + " not found", "error": "LangfuseNotFoundError"}
}
