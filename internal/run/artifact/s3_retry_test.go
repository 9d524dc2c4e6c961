package artifact

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/retry"
)

// roundTrip is a transport that is a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server that is away for seconds costs no artifact. One that stays away costs the run one wait, and not one at each artifact.
func TestS3IsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, back := 0, time.Now().Add(3*time.Second)
		s := &s3{base: &url.URL{Scheme: "https", Host: "bucket"}, now: time.Now, retry: retry.Policy{Retries: patience, Transient: transient}}
		s.client = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			asked++
			answer := httptest.NewRecorder()
			if time.Now().Before(back) {
				answer.WriteHeader(http.StatusServiceUnavailable)
			}
			return answer.Result(), nil
		})}
		put := func() error { return s.Put(t.Context(), hashOf("a"), []byte("a")) }
		if err := put(); err != nil {
			t.Errorf("away for three seconds: %v", err)
		}
		back = time.Now().Add(time.Hour)
		if err := put(); err == nil {
			t.Error("a dead server keeps something")
		}
		asked = 0
		began := time.Now()
		for range 100 {
			if err := put(); err == nil {
				t.Error("a dead server keeps something")
			}
		}
		if lasted := time.Since(began); asked != 100 || lasted > 0 {
			t.Errorf("a dead server was asked %d times in %s for 100 artifacts", asked, lasted)
		}
		back = time.Now()
		if err := put(); err != nil {
			t.Errorf("back again: %v", err)
		}
		back = time.Now().Add(3 * time.Second)
		if err := put(); err != nil {
			t.Errorf("away again for three seconds: %v", err)
		}
	})
}
