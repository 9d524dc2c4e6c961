package pages_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func TestSearch(t *testing.T) {
	s := newSite(t)
	if page := s.get(200, "/search?q=x"); len(page.All("data-empty")) != 1 {
		t.Error("no word of what fills the page")
	}
	judged := failed(test("s", "refund/late", "t", "Where is my Rückerstattung?", "It is on its way <b>soon</b>."),
		result.QualityJudgeFail, "not polite enough", result.Assertion{
			Text: "polite", Grader: "rubrics", Evidence: "The way it says this is curt.",
		})
	trial := test("s", "often", "u", "Hi", "all the way")
	trial.Trial = 2
	sum := test("s", "often", "u")
	sum.Trials = &result.Trials{Count: 1}
	s.put(result.Run{ID: "old", Targets: []string{"t"}, StartedAt: now.Add(-100 * time.Hour)},
		test("s", "a", "t", "the WAY home", "yes"))
	s.put(result.Run{ID: "new", Targets: []string{"t", "u"}, StartedAt: now}, judged, trial, sum)
	for query, want := range map[string]string{
		"?q=way": "new/refund/late/1/assistant new/refund/late/1/judge new/often/1/assistant " +
			"old/a/1/user",
		"?q=way&role=user":             "old/a/1/user",
		"?q=way&role=judge&role=user":  "new/refund/late/1/judge old/a/1/user",
		"?q=way&run=old":               "old/a/1/user",
		"?q=way&run=latest&target=u":   "new/often/1/assistant",
		"?q=way&since=3d&verdict=fail": "new/refund/late/1/assistant new/refund/late/1/judge",
		"?q=ruckerstattung":            "new/refund/late/1/user",
		"?q=%22its+way%22":             "new/refund/late/1/assistant",
		"?q=polite":                    "new/refund/late/1/",
		"?q=refund+late":               "new/refund/late/0/",
		"?q=polite&q=refund+late":      "new/refund/late/1/ new/refund/late/0/",
		"?q=way&q=home&run=old":        "old/a/1/user",
		"?q=ruck*":                     "new/refund/late/1/user",
		"?q=nowhere":                   "", "?q=way&suite=none": "", "?q=": "", "?q=way&run=nope": "",
	} {
		page := s.get(200, "/search"+query)
		var got []string
		seen := map[string]bool{}
		for _, row := range page.All("data-row=hit") {
			a := row.Attr
			hit := strings.Join([]string{a["data-run"], a["data-test"], a["data-turn"], a["data-role"]}, "/")
			if !seen[hit] {
				got = append(got, hit)
			}
			seen[hit] = true
			if len(row.All("<mark>")) == 0 {
				t.Errorf("%s: nothing is marked in %s", query, row.Words())
			}
		}
		if strings.Join(got, " ") != want || (want == "") != (len(page.All("data-empty")) == 1) {
			t.Errorf("%s: %q, want %q", query, strings.Join(got, " "), want)
		}
	}
	row := s.get(200, "/search?q=soon").One("data-row=hit")
	if row.One("<a>").Attr["href"] != "/runs/new/tests/refund%2Flate?suite=s&target=t#turn-1" ||
		row.One("class=hit").Words() != "It is on its way <b>soon</b>." || row.One("<mark>").Words() != "<b>soon</b>." {
		t.Errorf("%s %q", row.One("<a>").Attr["href"], row.One("class=hit").Words())
	}
	if href := s.get(200, "/search?q=all+way").One("data-row=hit").One("<a>").Attr["href"]; href !=
		"/runs/new/tests/often?suite=s&target=u&trial=2#turn-1" {
		t.Errorf("a trial's hit leads to %s", href)
	}
}

// What a run writes later is found, too, and no more hits are listed than are told.
func TestSearchGrows(t *testing.T) {
	s := newSite(t)
	s.put(result.Run{ID: "r", Targets: []string{"t"}, ExitReason: result.ReasonRunning},
		test("s", "a", "t", "Hi", "needle"))
	total := func(q string) string { return s.get(200, "/search?q="+q).One("data-list=hits").Attr["data-total"] }
	if got := total("needle"); got != "1" {
		t.Errorf("%s hits", got)
	}
	s.put(result.Run{ID: "r", Targets: []string{"t"}, ExitReason: result.ReasonRunning},
		test("s", "b", "t", "needle", "yes"))
	if got := total("needle"); got != "2" {
		t.Errorf("%s hits", got)
	}
	var many []*result.Test
	for i := range 1500 {
		many = append(many, test("s", fmt.Sprint("m", i), "t", "straw", "straw"))
	}
	s.put(result.Run{ID: "r", Targets: []string{"t"}, ExitReason: result.ReasonRunning}, many...)
	page := s.get(200, "/search?q=straw")
	if got := page.One("data-list=hits").Attr["data-total"]; got != "2000" || len(page.All("data-warning")) != 1 {
		t.Errorf("%s hits", got)
	}
	if got := s.get(200, "/runs/r?q=straw").One("data-list=tests").Attr["data-total"]; got != "1500" {
		t.Errorf("%s tests", got)
	}
}
