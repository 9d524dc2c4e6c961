package pages_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func TestMatrix(t *testing.T) {
	s := newSite(t)
	s.put(result.Run{
		ID: "r", Targets: []string{"new", "old", "third"}, ExitCode: new(1), ExitReason: result.ReasonFailed,
	}, rated("x", "old", result.Pass, 1, 100), rated("x", "new", result.Fail, 0, 300),
		rated("x", "third", result.Pass, 1, 100), rated("y", "new", result.Pass, 1, 300),
		rated("y", "old", result.Pass, 1, 100), rated("y", "third", result.Pass, 0.9, 100),
		rated("z", "old", result.Error, 0, 100))
	page := s.get(200, "/runs/r/matrix")
	var got []string
	for _, row := range page.All("data-row=test") {
		cells := []string{row.Attr["data-test"]}
		for _, c := range row.All("<td>") {
			cells = append(cells, c.Attr["data-target"]+":"+c.Attr["data-verdict"]+":"+c.Attr["data-score"])
		}
		got = append(got, strings.Join(cells, " "))
	}
	want := "x new:fail:0 old:pass:1 third:pass:1, y new:pass:1 old:pass:1 third:pass:0.9, z new:: old:error: third::"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s", strings.Join(got, ", "))
	}
	if href := page.One("<td>", "data-target=old").One("<a>").Attr["href"]; href !=
		"/runs/r/tests/x?suite=s&target=old" {
		t.Errorf("a cell leads to %s", href)
	}
	f := figures(page)
	for name, want := range map[string]string{
		"pass_rate@new": "0.5", "pass_rate@old": "", "mean_score@third": "0.95", "latency_ms@new": "300",
		"cost_usd@new": "0.02", "latency_ms@old": "100",
	} {
		if f[name] != want {
			t.Errorf("%s is %q, want %s", name, f[name], want)
		}
	}
	if m := page.One("data-metric=latency_ms", "data-target=old").Attr; m["data-a"] != "300" || m["data-b"] != "100" ||
		m["data-n"] != "2" {
		t.Errorf("%v", m)
	}
	if n := len(page.All("data-metric=score")); n != 2 {
		t.Errorf("%d targets against the base", n)
	}
	if m := s.get(200, "/runs/r/matrix?base=old").One("data-metric=latency_ms",
		"data-target=new").Attr; m["data-a"] != "100" || m["data-b"] != "300" {
		t.Errorf("%v", m)
	}
	if got := rows(s.get(200, "/runs/r/matrix?show=different"), "test", "data-test"); got != "x z" {
		t.Errorf("different: %s", got)
	}
	if got := rows(s.get(200, "/runs/r/matrix?show=different&q=y"), "test", "data-test"); got != "" {
		t.Errorf("different y: %s", got)
	}
	if got := rows(s.get(200, "/runs/r/matrix?show=different&verdict=pass"), "test", "data-test"); got != "x" {
		t.Errorf("different among those that passed somewhere: %s", got)
	}
	// filters choose tests; what others made of them stays in sight
	for _, path := range []string{"/runs/r/matrix?target=old&verdict=pass&q=x", "/runs/r/matrix?verdict=fail"} {
		if cell := s.get(200, path).One("<td>", "data-target=new"); cell.Attr["data-verdict"] != "fail" {
			t.Errorf("%s: the cell of new is %v", path, cell.Attr)
		}
	}
	s.get(404, "/runs/nope/matrix")
}
