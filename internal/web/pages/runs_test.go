package pages_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func TestRuns(t *testing.T) {
	s := newSite(t)
	if page := s.get(200, "/runs"); len(page.All("data-empty")) != 1 ||
		!strings.Contains(page.One("data-empty").Words(), "rehearse run") {
		t.Error("no runs: no word of what fills the page")
	}
	day := 24 * time.Hour
	code := func(n int, reason string, ago time.Duration) result.Run {
		return result.Run{
			ExitCode: &n, ExitReason: reason, StartedAt: now.Add(-ago), Suites: []string{"evals/refund.yaml"},
			Targets: []string{"agent"},
		}
	}
	put := func(id string, run result.Run, tests ...*result.Test) {
		run.ID = id
		s.put(run, tests...)
	}
	bad := failed(test("s", "b", "agent", "Hi", "no"), result.AssistantContent, "wanted yes")
	broken := test("s", "c", "agent")
	broken.Verdict, broken.Score = result.Error, 0
	put("passed", code(0, result.ReasonPassed, 10*day), test("s", "a", "agent", "Hi", "yes"))
	put("failed", code(1, result.ReasonFailed, 2*day), test("s", "a", "agent", "Hi", "yes"), bad)
	put("errors", code(3, result.ReasonErrors, 3*day), test("s", "a", "agent"), broken)
	put("budget", code(1, result.ReasonBudget, 4*day), bad)
	put("stopped", code(130, result.ReasonInterrupted, 5*day))
	died := code(0, result.ReasonRunning, 6*day)
	died.ExitCode = nil
	put("died", died, bad, broken)
	running := died
	running.StartedAt, running.Targets, running.Suites = now, []string{"agent", "other"}, []string{"other.yaml"}
	put("running", running, bad, test("s", "b", "other"))
	lock, err := runlog.AcquireLock(t.Context(), filepath.Join(s.root, "running"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()

	page := s.get(200, "/runs")
	var got []string
	for _, row := range page.All("data-row=run") {
		a := row.Attr
		got = append(got, strings.Join([]string{
			a["data-run"], a["data-state"], a["data-reason"], a["data-verdict"], a["data-passed"], a["data-failed"],
			a["data-errors"], a["data-skipped"],
		}, ","))
		if href := row.One("<a>").Attr["href"]; href != "/runs/"+a["data-run"] {
			t.Errorf("the first link of %s leads to %s", a["data-run"], href)
		}
	}
	want := []string{
		"running,running,,,1,1,0,0", "failed,finished,,fail,1,1,0,0", "errors,finished,,error,1,0,1,0",
		"budget,interrupted,budget,fail,0,1,0,0", "stopped,interrupted,interrupted,,0,0,0,0",
		"died,interrupted,died,,0,1,1,0", "passed,finished,,pass,1,0,0,0",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
	list := page.One("data-list=runs").Attr
	if list["data-total"] != "7" || list["data-from"] != "1" || list["data-to"] != "7" {
		t.Errorf("%v", list)
	}
	if n := len(page.One("data-run=running").All("data-figure=pass_rate")); n != 0 {
		t.Error("one rate over several targets")
	}
	if rate := page.One("data-run=failed").One("data-figure=pass_rate").Attr; rate["data-value"] != "0.5" ||
		rate["data-low"] == "" || rate["data-high"] == "" {
		t.Errorf("%v", rate)
	}
	if rate := page.One("data-run=stopped").One("data-figure=pass_rate").Attr; rate["data-value"] != "" ||
		rate["data-low"] != "" {
		t.Errorf("a rate of nothing: %v", rate)
	}
	if n := len(page.One("data-run=failed").All("<rect>")); n != 6 {
		t.Errorf("a sparkline of %d runs", n)
	}

	for _, tc := range []struct{ query, want, drop string }{
		{"?state=running", "running", ""},
		{"?state=running&state=finished", "running failed errors passed", ""},
		{"?state=finished&verdict=fail", "failed", ""},
		{"?verdict=fail&unknown=1&state=", "failed budget", ""},
		{"?since=3d", "running failed errors", ""},
		{"?since=36h", "running", ""},
		{"?since=2026-07-10", "running failed errors budget", ""},
		{"?since=yesterday", "", "/runs"},
		{"?suite=refund.yaml&target=agent&q=ÉRR", "errors", ""},
		{"?suite=other.yaml", "running", ""},
		{"?verdict=pass&since=1d", "", "/runs?since=1d /runs?verdict=pass"},
		{"?per=2&page=2", "errors budget", ""},
		{"?per=2&page=9", "", ""},
		{"?page=-1&per=x", "running failed errors budget stopped died passed", ""},
	} {
		t.Run(tc.query, func(t *testing.T) {
			page := s.get(200, "/runs"+tc.query)
			if got := rows(page, "run", "data-run"); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
			if tc.want == "" != (len(page.All("data-empty")) == 1) {
				t.Error("an empty list says why")
			}
			var drops []string
			for _, a := range page.One("data-empty").All("<a>") {
				drops = append(drops, a.Attr["href"])
			}
			if tc.want == "" && tc.drop != "" && !sameWords(strings.Join(drops, " "), tc.drop) {
				t.Errorf("drop %v, want %s", drops, tc.drop)
			}
		})
	}
	second := s.get(200, "/runs?per=2&page=2&state=finished")
	if next, prev := second.One("rel=next").Attr["href"], second.One("rel=prev").Attr["href"]; next != "" ||
		prev != "/runs?per=2&state=finished" {
		t.Errorf("%q %q", next, prev)
	}
	if list := second.One("data-list=runs").Attr; list["data-total"] != "3" || list["data-from"] != "3" ||
		list["data-to"] != "3" {
		t.Errorf("%v", list)
	}
	if err := os.WriteFile(filepath.Join(s.root, "passed", runlog.RunFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if page := s.get(200, "/runs"); len(page.All("data-warning")) != 1 || strings.Contains(page.Words(), s.root) {
		t.Error("a run that cannot be read is not told of, or where it is")
	}
}

func sameWords(a, b string) bool {
	return strings.Join(sorted(a), " ") == strings.Join(sorted(b), " ")
}

func TestLatestAndUnknown(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{
		"/runs/latest", "/runs/nope", "/nope", "/runs/..%2f..%2fetc", "/runs/latest/tests/x",
	} {
		if page := s.get(404, path); page.One("<main>").Attr["data-page"] != "not-found" ||
			len(page.One("<main>").All("<a>")) == 0 {
			t.Errorf("%s: no way out", path)
		}
	}
	s.put(result.Run{ID: "old", StartedAt: now.Add(-time.Hour)}, test("s", "a", "t", "Hi", "yes"))
	s.put(result.Run{ID: "new", StartedAt: now}, test("s", "a", "t", "Hi", "yes"))
	if got := s.get(200, "/runs/latest").One("<main>").Attr["data-run"]; got != "new" {
		t.Errorf("the newest run is %q", got)
	}
	if got := s.get(200, "/runs/latest/tests/a").One("<main>").Attr["data-run"]; got != "new" {
		t.Errorf("the newest run is %q", got)
	}
	if got := s.get(404, "/runs/nope").One("href=/runs/new").Words(); got == "" {
		t.Error("an unknown run does not lead to those that are there")
	}
	response, _ := s.answer("GET", "/", nil, nil)
	if response.StatusCode != 303 || response.Header.Get("Location") != "/runs" {
		t.Errorf("%s %s", response.Status, response.Header.Get("Location"))
	}
}
