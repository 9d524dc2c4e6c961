package target_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// handled answers requests by a handler, without a network, so that it runs under synctest.
type handled http.HandlerFunc

func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h(w, r)
	return w.Result(), nil
}

// TestExecuteRetryAfter proves that an executing server is asked again when it said, and not at all when that is too
// late.
func TestExecuteRetryAfter(t *testing.T) {
	for name, tc := range map[string]struct {
		after       string
		requests    int
		least, most time.Duration
	}{
		"no word":  {"", 2, 100 * time.Millisecond, 200 * time.Millisecond},
		"seconds":  {"20", 2, 20 * time.Second, 22 * time.Second},
		"too long": {"61", 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				e := &target.Execute{
					URL: "http://flows.example/execute", Flow: flow.Source{Ref: "echo"}, Retries: 1,
					Client: &http.Client{Transport: handled(func(w http.ResponseWriter, _ *http.Request) {
						requests++
						w.Header().Set("Retry-After", tc.after)
						w.WriteHeader(http.StatusServiceUnavailable)
					})},
				}
				session, err := e.Open(t.Context(), runner.Opening{Test: &suite.Test{ID: "a", Suite: "s"}})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				if _, err := session.Send(t.Context(), chat.Content{Text: "hi"}); err == nil {
					t.Error("no error")
				}
				if took := time.Since(start); requests != tc.requests || took < tc.least || took > tc.most {
					t.Errorf("%d requests in %v, want %d in %v to %v", requests, took, tc.requests, tc.least, tc.most)
				}
			})
		})
	}
}
