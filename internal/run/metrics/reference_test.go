package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/metrics"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
)

// TestReference holds docs/reference/metrics.md to what a server that has seen everything once gives out:
// UPDATE_GOLDEN=1 writes it.
func TestReference(t *testing.T) {
	m := metrics.New("1.2.3", "abc")
	m.Lead(runs{})
	m.Stored(&result.Test{Verdict: result.Pass})
	m.Target("openai", time.Second)
	m.Judge("openai", time.Second)
	m.Answered("/healthz", http.MethodGet, http.StatusOK, time.Second)
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	var b strings.Builder
	b.WriteString("# Metrics\n\nGenerated from `/metrics` of `rehearse serve`; do not edit. " +
		"Workers have those of calls and requests.\nThe metrics `go_*` and `process_*` of Prometheus's Go client are " +
		"there as well.\n\n" +
		"| metric | type | meaning |\n|---|---|---|\n")
	about := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		word, rest, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "# ")), " ")
		name, said, _ := strings.Cut(rest, " ")
		switch {
		case !strings.HasPrefix(line, "# "), !strings.HasPrefix(name, "rehearse_"):
		case word == "HELP":
			about[name] = said
		case word == "TYPE":
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, said, about[name])
		}
	}
	golden.Compare(t, "../../../../docs/reference/metrics.md", b.String())
}
