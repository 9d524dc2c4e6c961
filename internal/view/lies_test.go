package view_test

import (
	"strings"
	"testing"
	"time"

	"rehearse/internal/result"
	"rehearse/internal/view/viewtest"
)

func warned(page *viewtest.Node, words string) bool {
	for _, w := range page.All("data-warning") {
		if strings.Contains(w.Words(), words) {
			return true
		}
	}
	return false
}

// What is greener in one file of a folder than in another is told, on every page that has the figures.
func TestFilesThatDisagree(t *testing.T) {
	s := newSite(t)
	honest := rated("a", "t", result.Pass, 1, 10)
	honest.RunID = "honest"
	s.put(result.Run{ID: "honest", Targets: []string{"t"}, StartedAt: now.Add(-3 * time.Hour)}, honest, rated("b", "t", result.Skip, 0, 10))
	s.put(result.Run{ID: "totals", Targets: []string{"t"}, StartedAt: now.Add(-2 * time.Hour), Totals: result.Totals{Planned: 2, Held: 2, Tests: 2, Passed: 2}},
		rated("a", "t", result.Pass, 1, 10), rated("b", "t", result.Fail, 0, 10))
	failed, other := rated("a", "t", result.Fail, 0, 10), rated("a", "t", result.Pass, 1, 10)
	failed.RunID, other.RunID = "foreign", "honest"
	s.put(result.Run{ID: "foreign", Targets: []string{"t"}, StartedAt: now.Add(-time.Hour), Totals: result.Totals{Planned: 1, Held: 1, Tests: 1, Passed: 1}}, failed, other)
	for path, want := range map[string]string{
		"/runs/honest": "", "/runs/totals": "2 passed, 0 failed and 0 errors, but in its results 1, 1 and 0", "/compare?a=honest&b=totals": "in its results 1, 1 and 0",
		"/runs/foreign": "1 record of these results say that they are of another run", "/compare?a=foreign&b=honest": "of another run",
	} {
		page := s.get(200, path)
		if got := len(page.All("data-warning")); got > 0 != (want != "") || want != "" && !warned(page, want) {
			t.Errorf("%s: %d warnings, without %q: %s", path, got, want, page.One("data-warning").Words())
		}
	}
}
