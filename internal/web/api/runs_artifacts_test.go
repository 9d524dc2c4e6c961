package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/run/artifact"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// byHash has the bytes of artifacts.
type byHash map[string]string

func (s byHash) Get(_ context.Context, sha256 string) ([]byte, error) {
	data, ok := s[sha256]
	if !ok {
		return nil, artifact.ErrNone
	}
	return []byte(data), nil
}

// TestArtifactBytes holds that only what a run has is given out, and never so that a browser shows it.
func TestArtifactBytes(t *testing.T) {
	opened, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "rehearse.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	fleet := opened.Fleet()
	run := store.NewRun{
		Run:  store.Run{ID: "r", Schema: 1, Kind: "suite", Suites: []string{"s"}, Targets: []string{"t"}},
		Spec: []byte(`{}`),
	}
	if _, _, err := fleet.CreateRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	page, gone, stray := strings.Repeat("a", 64), strings.Repeat("b", 64), strings.Repeat("c", 64)
	var rows []store.Artifact
	for _, hash := range []string{page, gone} {
		rows = append(rows, store.Artifact{Kind: "exchange", SHA256: hash, Bytes: 5})
	}
	test := &result.Test{Schema: 1, RunID: "r", Suite: "s", TestID: "a", Target: "t", Verdict: result.Pass}
	if _, err := fleet.PutResults(t.Context(), "r", store.Fence{}, []store.NewResult{
		{Test: test, Artifacts: rows},
	}); err != nil {
		t.Fatal(err)
	}
	const html = "<html><script>alert(1)</script>"
	s := NewRuns(RunsConfig{Store: fleet, Artifacts: byHash{page: html, stray: "of no run"}})
	for hash, want := range map[string]string{
		page: html, gone: "its bytes are not here", stray: "no run has such an artifact",
		strings.ToUpper(page): "no run has such an artifact", "..%2Frehearse.db": "no run has such an artifact",
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/api/v1/artifacts/"+hash, nil)
		s.table().handler().ServeHTTP(w, r.WithContext(access.With(r.Context(), access.Grant{Open: true})))
		h := w.Header()
		if !strings.Contains(w.Body.String(), want) || (w.Code == http.StatusOK) != (want == html) ||
			w.Code != http.StatusOK && w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", hash, w.Code, w.Body)
		}
		if w.Code == http.StatusOK && (h.Get("Content-Type") != "application/octet-stream" ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Disposition") !=
			`attachment; filename="`+hash+`"` || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox")) {
			t.Errorf("%s: headers %v", hash, h)
		}
	}
}
