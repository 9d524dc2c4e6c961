package pages_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages"
)

func sorted(words string) []string {
	all := strings.Fields(words)
	sort.Strings(all)
	return all
}

// twoTargets are records of two targets, with trials, an error and a skip.
func twoTargets() []*result.Test {
	slow := failed(test("billing", "refund/twice", "new", "Hi", "no"), result.AssistantContent, "wanted an apology",
		result.Assertion{Text: "apology", Grader: "contains"})
	slow.DurationMS, slow.Tags = 900, []string{"money", "vip"}
	cheap := test("billing", "refund/twice", "old", "Hi", "sorry")
	cheap.DurationMS, cheap.Cost, cheap.Tags = 100, chat.Cost{USD: 0.25}, []string{"money"}
	unpriced := test("billing", "invoice", "new", "Hi", "Ünser Büro")
	unpriced.Cost, unpriced.Usage, unpriced.Score = chat.Cost{Unknown: true}, chat.Usage{Unknown: true}, 0.9
	broken := test("shop", "cart", "new")
	broken.Verdict, broken.Score, broken.Failures = result.Error, 0,
		[]result.Failure{{Code: result.Timeout, Message: "no answer in 30 s"}}
	skipped := test("shop", "cart", "old")
	skipped.Verdict, skipped.Score, skipped.SkipReason = result.Skip, 0, "login failed"
	first, second, sum := test("shop", "often", "new", "Hi", "yes"),
		failed(test("shop", "often", "new", "Hi", "no"), result.FactDrift, "town"), test("shop", "often", "new")
	first.Trial, second.Trial = 1, 2
	sum.Trials, sum.Score = &result.Trials{
		Count: 2, Passed: 1, Class: "flaky", Strategy: "pass_at_k", Interval: [2]float64{0.1, 0.9},
	}, 0.5
	sum.Failures = []result.Failure{{Code: result.Flaky, Message: "1 of 2"}}
	return []*result.Test{slow, cheap, unpriced, broken, skipped, first, second, sum}
}

func TestRun(t *testing.T) {
	s := newSite(t)
	s.put(result.Run{
		ID: "r", ExitCode: new(3), ExitReason: result.ReasonErrors, Suites: []string{"a.yaml"},
		Targets: []string{"new", "old"}, DurationMS: 1500, EndedAt: now,
		Warnings: []string{"the judge and the target share the address"},
	}, twoTargets()...)
	page := s.get(200, "/runs/r")
	if failing := page.One("data-key=f").Attr["href"]; rows(s.get(200, failing), "test",
		"data-test") != "refund/twice cart" {
		t.Errorf("failing: %s", rows(s.get(200, failing), "test", "data-test"))
	}
	if code := page.One("data-code=ASSISTANT_CONTENT"); code.Attr["data-value"] != "1" {
		t.Errorf("%v", code.Attr)
	}
	got := figures(page)
	for name, want := range map[string]string{
		"tests": "6", "passed": "3", "failed": "1", "errors": "1", "skipped": "1", "duration_ms": "1500", "tokens": "",
		"cost_usd": "", "judge_calls": "0", "judge_cache_hits": "0", "flaky": "1", "tests@new": "4", "passed@new": "2",
		"failed@old": "0", "pass_rate@old": "", "cost_usd@old": "0.25", "tokens@old": "0",
		"cost_usd@new": "", "mean_score@old": "", "flaky@new": "1", "flaky@old": "0", "skipped@old": "1",
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %q, want %q (there: %t)", name, value, want, ok)
		}
	}
	if _, ok := got["pass_rate"]; ok {
		t.Error("one rate over several targets")
	}
	if f := page.One("data-figure=pass_rate", "data-target=new").Attr; f["data-value"] != "" ||
		f["data-low"] != "0.5" || f["data-high"] != "0.75" {
		t.Errorf("a rate with an unknown test has bounds: %v", f)
	}
	if page.One("data-warning").Words() != "the judge and the target share the address" {
		t.Error("the run's own warning is not there")
	}
	row := page.One("data-row=test").Attr
	if row["data-suite"] != "billing" || row["data-test"] != "refund/twice" || row["data-target"] != "new" ||
		row["data-score"] != "0.5" || row["data-codes"] != "ASSISTANT_CONTENT" {
		t.Errorf("%v", row)
	}
	if href := page.One("data-row=test").One("<a>").Attr["href"]; href !=
		"/runs/r/tests/refund%2Ftwice?suite=billing&target=new" {
		t.Errorf("the first link leads to %s", href)
	}
	often := page.One("data-row=test", "data-test=often").Attr
	if often["data-trials"] != "2" || often["data-passed"] != "1" || often["data-class"] != "flaky" ||
		often["data-codes"] != "FLAKY" {
		t.Errorf("%v", often)
	}
	if a := page.One("data-test=cart", "data-target=new").Attr; a["data-score"] != "" || a["data-verdict"] != "error" {
		t.Errorf("an error has a score: %v", a)
	}
	if codes := page.All("data-code", "<a>"); len(codes) != 3 || codes[0].Attr["data-value"] != "1" ||
		codes[0].Attr["href"] != "/runs/r?code=ASSISTANT_CONTENT" {
		t.Errorf("%d codes", len(codes))
	}

	for _, tc := range []struct{ query, want string }{
		{"", "refund/twice/new refund/twice/old invoice/new cart/new cart/old often/new"},
		{"?verdict=fail&verdict=error", "refund/twice/new cart/new"},
		{"?verdict=fail&verdict=error&suite=shop", "cart/new"},
		{"?code=TIMEOUT&code=FLAKY", "cart/new often/new"},
		{"?tag=vip", "refund/twice/new"},
		{"?tag=money&target=old", "refund/twice/old"},
		{"?grader=contains", "refund/twice/new"},
		{"?class=flaky", "often/new"},
		{"?review=pass", ""},
		{"?verdict=nonsense", ""},
		{"?q=apology", "refund/twice/new"},
		{"?q=REFUND+twice", "refund/twice/new refund/twice/old"},
		{"?q=unser+buro", "invoice/new"},
		{"?q=%22buro+unser%22", ""},
		{"?q=town", "often/new"},
		{"?q=invoice&q=town", "invoice/new often/new"},
		{"?q=log*", "cart/old"},
		{"?sort=test", "cart/new cart/old invoice/new often/new refund/twice/new refund/twice/old"},
		{"?sort=score&suite=billing", "refund/twice/new invoice/new refund/twice/old"},
		{"?sort=-score&target=new", "invoice/new refund/twice/new often/new cart/new"},
		{"?sort=-duration&suite=billing", "refund/twice/new refund/twice/old invoice/new"},
		{"?sort=-cost&suite=billing", "refund/twice/old refund/twice/new invoice/new"},
		{"?sort=nonsense&target=old", "refund/twice/old cart/old"},
		{"?group=target&sort=test", "cart/new invoice/new often/new refund/twice/new cart/old refund/twice/old"},
		{"?group=code&target=new", "refund/twice/new cart/new often/new invoice/new"},
		{"?per=4&page=2", "cart/old often/new"},
	} {
		t.Run(tc.query, func(t *testing.T) {
			page := s.get(200, "/runs/r"+tc.query)
			var got []string
			for _, row := range page.All("data-row=test") {
				got = append(got, row.Attr["data-test"]+"/"+row.Attr["data-target"])
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("%q, want %q", strings.Join(got, " "), tc.want)
			}
			if (tc.want == "") != (len(page.All("data-empty")) == 1) {
				t.Error("an empty list says why")
			}
		})
	}
	grouped := s.get(200, "/runs/r?group=code&target=new")
	if groups := grouped.All("data-group"); len(groups) != 4 || groups[3].Attr["data-group"] != "none" {
		t.Errorf("%d groups", len(groups))
	}
	if href := s.get(200, "/runs/r?verdict=fail&sort=-cost").One("data-row=test").One(
		"<a>").Attr["href"]; !strings.HasSuffix(href, "&from=sort%3D-cost%26verdict%3Dfail&suite=billing&target=new") &&
		!strings.Contains(href, "from=sort%3D-cost%26verdict%3Dfail") {
		t.Errorf("the list is not passed on: %s", href)
	}
}

// A run with one target has a rate of its own. What cannot be read, and what is missing, is told.
// A run that passed by its own gate though tests failed says both.
func TestRunThatMayFail(t *testing.T) {
	s := newSite(t)
	s.put(result.Run{ID: "r", Targets: []string{"t"}, ExitCode: new(0), ExitReason: result.ReasonPassed},
		failed(test("s", "a", "t", "Hi", "no"), result.AssistantContent, "no"))
	for _, path := range []string{"/runs", "/runs/r"} {
		if said := s.get(200, path).One("<main>").Words(); !strings.Contains(said,
			"failed, and the run passed by its own gate") {
			t.Errorf("%s: %s", path, said)
		}
	}
}

// rateOf returns a pass rate that is known.
func rateOf(rate float64) result.PassRate {
	return result.PassRate{Rate: &rate, Bounds: &[2]float64{rate, rate}, Interval: &[2]float64{0, 1}}
}

func TestRunOfOneTarget(t *testing.T) {
	s := newSite(t)
	s.put(result.Run{
		ID: "r", ExitCode: new(1), ExitReason: result.ReasonFailed, Targets: []string{"t"},
		Totals:   result.Totals{Tests: 5, Completed: 5, Passed: 4, Failed: 1},
		PassRate: result.PassRate{Rate: new(0.8), Bounds: &[2]float64{0.8, 0.8}, Interval: &[2]float64{0.4, 0.9}},
	}, test("s", "a", "t", "Hi", "yes"), failed(test("s", "b", "t", "Hi", "no"), result.AssistantContent, "x"))
	log, err := os.OpenFile(filepath.Join(s.root, "r", runlog.LogFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(log, `{"suite": 7}`)
	_ = log.Close()
	page := s.get(200, "/runs/r")
	if f := page.One("data-figure=pass_rate").Attr; f["data-value"] != "0.8" || f["data-low"] != "0.4" ||
		f["data-high"] != "0.9" {
		t.Errorf("%v", f)
	}
	if f := page.One("data-figure=mean_score").Attr; f["data-value"] != "" {
		t.Errorf("a mean that the run does not know: %v", f)
	}
	var said []string
	for _, w := range page.All("data-warning") {
		said = append(said, w.Words())
	}
	want := []string{
		"1 record of this run cannot be read and count nowhere below.",
		"3 records that the run counts are missing from its results.",
	}
	if !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
}

// A run that died has the figures of what it held, names what it did not, and how to go on.
func TestRunThatDied(t *testing.T) {
	s := newSite(t)
	trial := test("s", "often", "t", "Hi", "yes")
	trial.Trial = 1
	s.put(result.Run{
		ID: "it's", ExitReason: result.ReasonRunning, Targets: []string{"t"}, Totals: result.Totals{Planned: 4},
	}, test("s", "a", "t", "Hi", "yes"), trial)
	page := s.get(200, "/runs/it%27s")
	main := page.One("<main>").Attr
	if main["data-state"] != "interrupted" || main["data-reason"] != "died" || main["data-verdict"] != "" {
		t.Errorf("%v", main)
	}
	if !strings.Contains(page.Words(), `rehearse run --resume '`+
		strings.ReplaceAll(filepath.Join(s.root, "it's"), "'", `'\''`)+`'`) {
		t.Error("no word of how to go on")
	}
	if got := rows(page, "pending", "data-test"); got != "often" || !strings.Contains(page.Words(), "Not run 3") ||
		!strings.Contains(page.Words(), "1 trial held") {
		t.Errorf("not run: %q", got)
	}
	if f := figures(page); f["tests"] != "1" || f["passed"] != "1" {
		t.Errorf("%v", f)
	}
	if got := s.get(200, page.One("data-row=pending").One("<a>").Attr["href"]).
		One("<main>").Attr; got["data-trial"] != "1" || got["data-verdict"] != "pass" {
		t.Errorf("%v", got)
	}
}

// Whatever records a run has, its figures are its totals, and each list has as many entries as fit its filters.
func TestFiguresAreTotals(t *testing.T) {
	s := newSite(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		run := result.Run{
			ID: fmt.Sprint("run", n), ExitReason: result.ReasonFailed, ExitCode: new(1),
			Targets:   []string{"t", "u"}[:rapid.IntRange(1, 2).Draw(rt, "targets")],
			StartedAt: now.Add(time.Duration(n) * time.Second),
		}
		var tests []*result.Test
		for i := range rapid.IntRange(0, 25).Draw(rt, "tests") {
			x := test(rapid.SampledFrom([]string{"s", "ü"}).Draw(rt, "suite"), fmt.Sprint("t", i),
				rapid.SampledFrom(run.Targets).Draw(rt, "target"), "Hi", "yes")
			x.Verdict = rapid.SampledFrom([]result.Verdict{
				result.Pass, result.Fail, result.Error, result.Skip,
			}).Draw(rt, "verdict")
			x.Score = rapid.Float64Range(0, 1).Draw(rt, "score")
			x.Cost = chat.Cost{
				USD: rapid.Float64Range(0, 1).Draw(rt, "usd"), Unknown: rapid.IntRange(0, 9).Draw(rt, "unpriced") == 0,
			}
			x.Usage.InputTokens, x.Judge.Usage.OutputTokens, x.Judge.Calls = rapid.IntRange(0, 99).Draw(rt, "in"),
				rapid.IntRange(0, 99).Draw(rt, "judge"), rapid.IntRange(0, 3).Draw(rt, "calls")
			if rapid.Bool().Draw(rt, "code") {
				x.Failures = []result.Failure{{Code: result.Timeout}, {Code: result.Budget}}
			}
			tests = append(tests, x)
		}
		s.put(run, tests...)
		var records result.Tallies
		for _, x := range tests {
			records.Add(x)
		}
		run.Count(&records, run.Planned())
		page := s.get(200, "/runs/"+run.ID)
		got := figures(page)
		check := func(suffix string, totals result.Totals, rate *float64) {
			want := map[string]float64{
				"tests": float64(totals.Tests), "passed": float64(totals.Passed), "failed": float64(totals.Failed),
				"errors": float64(totals.Errors), "skipped": float64(totals.Skipped),
				"tokens":      float64(totals.Usage.Total() + totals.Judge.Usage.Total()),
				"judge_calls": float64(totals.Judge.Calls),
			}
			for name, number := range want {
				if value, err := strconv.ParseFloat(got[name+suffix], 64); err != nil || value != number {
					rt.Fatalf("%s%s is %q, want %g", name, suffix, got[name+suffix], number)
				}
			}
			known := map[string]*float64{
				"pass_rate": rate, "mean_score": totals.MeanScore, "cost_usd": &totals.Cost.USD,
			}
			if totals.Unknown() > 0 { // bounds are shown
				known["pass_rate"], known["mean_score"] = nil, nil
			}
			if totals.Cost.Unknown {
				known["cost_usd"] = nil
			}
			for name, number := range known {
				value, err := strconv.ParseFloat(got[name+suffix], 64)
				if number == nil != (got[name+suffix] == "") || number != nil && (err != nil || value != *number) {
					rt.Fatalf("%s%s is %q", name, suffix, got[name+suffix])
				}
			}
		}
		if len(run.ByTarget) == 0 {
			check("", run.Totals, run.Rate)
		}
		for name, of := range run.ByTarget {
			check("@"+name, of.Totals, of.Rate)
		}
		for _, verdict := range []result.Verdict{"", result.Pass, result.Fail, result.Error, result.Skip} {
			for _, suite := range []string{"", "s", "ü"} {
				fits := 0
				for _, x := range tests {
					if (verdict == "" || x.Verdict == verdict) && (suite == "" || x.Suite == suite) {
						fits++
					}
				}
				list := s.get(200, "/runs/"+run.ID+query("verdict", string(verdict), "suite", suite))
				if got := list.One("data-list=tests").Attr["data-total"]; got != fmt.Sprint(fits) ||
					len(list.All("data-row=test")) != fits {
					rt.Fatalf("%s %s: %s, want %d", verdict, suite, got, fits)
				}
			}
		}
	})
}

// A page of a run that takes long to be read says how far reading is, asks for itself again, and comes in the end.
func TestRunThatIsBeingRead(t *testing.T) {
	s := newSiteOf(t, func(c *pages.Config) { c.Patience = 5 * time.Millisecond })
	tests := make([]*result.Test, 4000)
	for i := range tests {
		tests[i] = test("s", fmt.Sprint(i), "t", "hello", "hello")
	}
	s.put(result.Run{ID: "r", ExitReason: "passed"}, tests...)
	for asked := range 10_000 {
		response, body := s.answer(http.MethodGet, "/runs/r", nil, nil)
		if response.StatusCode == http.StatusOK {
			if asked == 0 {
				t.Skip("it was read at once")
			}
			return
		}
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" ||
			!strings.Contains(body, `http-equiv="refresh"`) || !strings.Contains(body, "so far") {
			t.Fatalf("%d %v: %s", response.StatusCode, response.Header, body)
		}
	}
	t.Error("the page does not come")
}
