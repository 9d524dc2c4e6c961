package api

import (
	"context"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/run/metrics"
)

func metricsRoutes(m *metrics.Metrics) table {
	return table{{
		pattern: "GET /metrics", scope: access.Read, handle: m.ServeHTTP,
		summary: "What Prometheus reads", ok: "text/plain",
	}}
}

// counted counts the requests that next answers. It wraps all other handlers, so that it also counts rejected requests.
func counted(m *metrics.Metrics, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, route, told, returned := time.Now(), "", &statusWriter{ResponseWriter: w}, false
		defer func() {
			if told.status == 0 && returned && r.Context().Err() == nil {
				told.status = http.StatusOK // which net/http answers for a handler that wrote nothing
			}
			m.Answered(route, r.Method, told.status, time.Since(began))
		}()
		next.ServeHTTP(told, r.WithContext(context.WithValue(r.Context(), routeKey{}, &route)))
		returned = true
	})
}

// routeKey is where a request's context has a place for the route that serves it.
type routeKey struct{}

// noteRoute says which route serves a request.
func noteRoute(r *http.Request, path string) {
	if route, ok := r.Context().Value(routeKey{}).(*string); ok {
		*route = path
	}
}

// statusWriter remembers the status of an answer; 0 while there is none.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader passes a status on. Those before the answer, such as 103, do not count, nor does one that comes too late.
func (s *statusWriter) WriteHeader(status int) {
	if s.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write passes a piece of the body on.
func (s *statusWriter) Write(data []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return s.ResponseWriter.Write(data)
}

// Unwrap is for http.ResponseController.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }
