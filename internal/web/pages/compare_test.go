package pages_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/pagestest"
)

// rated is a record with a verdict, a score and what it took.
func rated(id, target string, v result.Verdict, score, latency float64) *result.Test {
	t := test("s", id, target, "Hi", "I will help at once.")
	t.Verdict, t.Score, t.Turns[0].LatencyMS = v, score, result.Milliseconds(latency)
	t.Usage.InputTokens, t.Cost = 10, chat.Cost{USD: 0.01}
	if v == result.Fail {
		t.Failures = []result.Failure{{Code: result.AssistantContent}}
	}
	return t
}

func changesOn(page *pagestest.Node) string {
	var all []string
	for _, s := range page.All("data-section") {
		list := []string{s.Attr["data-section"] + "=" + s.Attr["data-count"]}
		for _, row := range s.All("data-row=test") {
			a := row.Attr
			if a["data-change"] != s.Attr["data-section"] {
				list = append(list, "WRONG")
			}
			list = append(list, strings.Join([]string{
				a["data-test"], a["data-a"], a["data-b"], a["data-score-a"], a["data-score-b"],
			}, ","))
		}
		if len(list) > 1 || list[0] != s.Attr["data-section"]+"=0" {
			all = append(all, strings.Join(list, " "))
		}
	}
	return strings.Join(all, "\n")
}

func TestCompare(t *testing.T) {
	s := newSite(t)
	if page := s.get(200, "/compare"); len(page.All("data-empty")) != 1 {
		t.Error("no word of what fills the page")
	}
	run := func(id string, hour int, suite string) result.Run {
		return result.Run{
			ID: id, Suites: []string{suite}, Targets: []string{"t"},
			StartedAt: now.Add(time.Duration(hour) * time.Hour), ExitCode: new(1), ExitReason: result.ReasonFailed,
			Judge: "old judge",
		}
	}
	s.put(run("other", -3, "other.yaml"), rated("a", "t", result.Pass, 1, 100))
	s.put(run("a", -2, "s.yaml"), rated("worse", "t", result.Pass, 1, 100), rated("better", "t", result.Fail, 0, 100),
		rated("bad", "t", result.Fail, 0.1, 100), rated("lost", "t", result.Pass, 1, 100),
		rated("moved", "t", result.Pass, 0.9, 100), rated("gone", "t", result.Pass, 1, 100),
		rated("same", "t", result.Pass, 1, 100))
	if page := s.get(200, "/compare?b=a"); len(page.All("data-empty")) != 1 || len(page.All("data-section")) != 0 {
		t.Error("a run without an earlier one is compared")
	}
	later := run("b", -1, "s.yaml")
	later.Judge = "new judge"
	lost := rated("lost", "t", result.Error, 0, 100)
	s.put(later, rated("worse", "t", result.Fail, 0.5, 300), rated("better", "t", result.Pass, 1, 300),
		rated("bad", "t", result.Fail, 0.2, 300), lost, rated("moved", "t", result.Pass, 0.95, 300),
		rated("new", "t", result.Pass, 1, 300), rated("same", "t", result.Pass, 1, 300))
	want := `regressed=1 worse,pass,fail,1,0.5
fixed=1 better,fail,pass,0,1
still_failing=1 bad,fail,fail,0.1,0.2
not_graded=1 lost,pass,error,1,
moved=1 moved,pass,pass,0.9,0.95
new=1 new,,pass,,1
gone=1 gone,pass,,1,
unchanged=1 same,pass,pass,1,1`
	for _, query := range []string{"", "?a=a&b=b", "?b=latest", "?run=b&run=a"} {
		page := s.get(200, "/compare"+query)
		if got := changesOn(page); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", query, got, want)
		}
	}
	page := s.get(200, "/compare?a=a&b=b")
	if n := len(page.All("data-section")); n != 9 {
		t.Errorf("%d sections", n)
	}
	if !strings.Contains(page.One("data-remark").Words(), "The judge changed: old judge, then new judge.") {
		t.Error("a changed judge is not told of")
	}
	metric := func(name string) map[string]string { return page.One("data-metric=" + name).Attr }
	for name, want := range map[string][4]string{
		"pass_rate": {"0.6", "0.6", "0", "5"}, "score": {"0.6", "0.73", "0.13", "5"},
		"latency_ms": {"100", "300", "200", "5"}, "turns": {"1", "1", "0", "5"},
		"tokens": {"10", "10", "0", "5"}, "cost_usd": {"0.01", "0.01", "0", "5"},
	} {
		m := metric(name)
		for i, attribute := range []string{"data-a", "data-b", "data-diff", "data-n"} {
			got, err := strconv.ParseFloat(m[attribute], 64)
			expected, _ := strconv.ParseFloat(want[i], 64)
			if err != nil || math.Abs(got-expected) > 1e-9 {
				t.Errorf("%s: %s is %q, want %s", name, attribute, m[attribute], want[i])
			}
		}
		if r := m["data-result"]; r != "better" && r != "worse" && r != "inconclusive" {
			t.Errorf("%s is %q", name, r)
		}
	}
	// The score's difference is that of `rehearse compare`.
	told := comparedByCommand(t, s.root)
	if m := metric("score"); m["data-diff"] != fmt.Sprint(*told.Paired.MeanDifference) ||
		m["data-low"] != fmt.Sprint(told.Paired.Interval[0]) || m["data-high"] != fmt.Sprint(told.Paired.Interval[1]) {
		t.Errorf("%v, but rehearse compare says %v %v", m, *told.Paired.MeanDifference, *told.Paired.Interval)
	}
	for query, want := range map[string]string{
		"?change=regressed&change=fixed": "regressed=1 worse,pass,fail,1,0.5\nfixed=1 better,fail,pass,0,1",
		"?change=gone":                   "gone=1 gone,pass,,1,",
		"?q=moved":                       "moved=1 moved,pass,pass,0.9,0.95",
		"?suite=none":                    "",
	} {
		page := s.get(200, "/compare"+query)
		if got := changesOn(page); got != want || (want == "") != (len(page.All("data-empty")) == 1) {
			t.Errorf("%s: %s", query, got)
		}
	}
	s.get(404, "/compare?a=nope")
	s.get(404, "/compare?b=nope")
	if href := page.One("data-test=worse").One("<a>").Attr["href"]; href !=
		"/compare/tests/worse?a=a&b=b&suite=s&target=t" {
		t.Errorf("a row leads to %s", href)
	}
}

// Targets of one run are compared with each other; runs with several targets whose targets do not count are not.
func TestCompareTargets(t *testing.T) {
	s := newSite(t)
	s.put(result.Run{ID: "r", Targets: []string{"old", "new"}, ExitCode: new(1), ExitReason: result.ReasonFailed},
		rated("x", "old", result.Pass, 1, 100), rated("x", "new", result.Fail, 0, 100),
		rated("y", "old", result.Pass, 1, 100))
	page := s.get(200, "/compare?a=r&b=r&a_target=old&b_target=new")
	if got, want := changesOn(page), "regressed=1 x,pass,fail,1,0\ngone=1 y,pass,,1,"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if n := page.One("data-metric=score").Attr["data-n"]; n != "1" ||
		page.One("data-metric=score").Attr["data-low"] != "" {
		t.Errorf("%s pairs", n)
	}
	side := s.get(200, page.One("data-row=test").One("<a>").Attr["href"])
	if a := side.One("data-pair=1").Attr["data-differs"]; a != "false" {
		t.Errorf("the same words differ: %s", a)
	}
	if page := s.get(200, "/compare?a=r&b=r&ignore_target=1"); len(page.All("data-empty")) != 1 {
		t.Error("several targets are compared as one")
	}
}

func TestCompareConversation(t *testing.T) {
	s := newSite(t)
	s.put(result.Run{ID: "a", Targets: []string{"t"}, StartedAt: now.Add(-time.Hour)},
		test("s", "x/y", "t", "Hi", "I refund <b>it</b> at once", "Bye", "Bye"))
	s.put(result.Run{ID: "b", Targets: []string{"t"}}, test("s", "x/y", "t", "Hi", "I never refund <b>it</b>"),
		test("s", "only", "t", "Hi", "yes"))
	page := s.get(200, "/compare/tests/x%2Fy?a=a&b=b")
	first, second := page.One("data-pair=1"), page.One("data-pair=2")
	if first.Attr["data-differs"] != "true" || second.Attr["data-differs"] != "true" {
		t.Error("turns that differ are the same")
	}
	words := func(n *pagestest.Node, element string) string {
		var all []string
		for _, e := range n.All(element) {
			all = append(all, e.Words())
		}
		return strings.Join(all, "|")
	}
	if got := words(first.One("data-side=a"), "<del>"); got != "at once" {
		t.Errorf("the baseline's own words are %q", got)
	}
	if got := words(first.One("data-side=b"), "<ins>"); got != "never" {
		t.Errorf("the candidate's own words are %q", got)
	}
	if !strings.Contains(second.One("data-side=b").Words(), "Not held here") ||
		strings.Contains(second.One("data-side=a").Words(), "Not held") {
		t.Error("a turn that only one side has")
	}
	if got := s.get(200, "/compare/tests/only?a=a&b=b").One("data-run=a").Words(); !strings.Contains(got,
		"no such test") {
		t.Error(got)
	}
	s.get(404, "/compare/tests/none?a=a&b=b")
	if href := s.get(200, "/runs/b/tests/x%2Fy").One("data-key=c").Attr["href"]; href !=
		"/compare/tests/x%2Fy?a=a&b=b&suite=s&target=t" {
		t.Errorf("c leads to %q", href)
	}
	if href := s.get(200, "/runs/a/tests/x%2Fy").One("data-key=c").Attr["href"]; href != "" {
		t.Errorf("c leads to %q though there is no earlier run", href)
	}
}

// What was asserted of the whole conversation is compared as well; of trials the one stands there that ended as its
// test did.
func TestCompareWholeConversation(t *testing.T) {
	s := newSite(t)
	whole := func(run string, v result.Verdict) *result.Test {
		x := test("s", "x", "t", "Hi", "Good day.")
		x.Verdict = v
		x.Scores = append(x.Scores, result.Score{Name: "assertions", Verdict: v, Assertions: []result.Assertion{{
			Text: "Never asks twice", Passed: v == result.Pass, Grader: "rubrics",
		}}})
		return x
	}
	trial := func(n int, v result.Verdict, said string) *result.Test {
		x := test("s", "often", "t", "Hi", said)
		x.Trial, x.Verdict = n, v
		return x
	}
	sum := test("s", "often", "t")
	sum.Trials = &result.Trials{Count: 2, Passed: 1, Class: "flaky", Strategy: "pass_at_k"}
	s.put(result.Run{ID: "a", Targets: []string{"t"}, StartedAt: now.Add(-time.Hour)}, whole("a", result.Pass))
	s.put(result.Run{ID: "b", Targets: []string{"t"}}, whole("b", result.Fail), trial(1, result.Fail, "no"),
		trial(2, result.Pass, "yes"), sum)
	page := s.get(200, "/compare/tests/x?a=a&b=b")
	for name, want := range map[string]string{"a": "true", "b": "false"} {
		if got := page.One("id=assertions").One("data-side=" + name).
			One("data-grade").Attr["data-passed"]; got != want {
			t.Errorf("%s: the whole conversation passed: %q", name, got)
		}
	}
	often := s.get(200, "/compare/tests/often?a=a&b=b").One("data-run=b")
	if often.Attr["data-verdict"] != "pass" || !strings.Contains(often.One("<a>").Attr["href"], "trial=2") {
		t.Errorf("of two trials %v is shown, which leads to %s", often.Attr, often.One("<a>").Attr["href"])
	}
	if list := s.get(200, "/compare?a=a&b=b").One("data-section=regressed").Attr; list["data-list"] != "regressed" ||
		list["data-total"] != "1" || list["data-to"] != "1" {
		t.Errorf("the list of what regressed: %v", list)
	}
}

// Comparing many tests keeps each page small, and leads to all of a list.
func TestCompareMany(t *testing.T) {
	s := newSite(t)
	var before, after []*result.Test
	for i := range 350 {
		before = append(before, rated(fmt.Sprint("t", i), "t", result.Pass, 1, 10))
		after = append(after, rated(fmt.Sprint("t", i), "t", result.Fail, 0, 10))
	}
	s.put(result.Run{ID: "a", Targets: []string{"t"}, StartedAt: now.Add(-time.Hour)}, before...)
	s.put(result.Run{ID: "b", Targets: []string{"t"}}, after...)
	section := s.get(200, "/compare").One("data-section=regressed")
	if section.Attr["data-count"] != "350" || len(section.All("data-row=test")) != 100 {
		t.Errorf("%v, %d rows", section.Attr, len(section.All("data-row=test")))
	}
	all := s.get(200, section.One("<p>").One("<a>").Attr["href"]+"&per=200&page=2")
	if got := len(all.All("data-row=test")); got != 150 || all.One("rel=prev").Attr["href"] == "" {
		t.Errorf("%d rows on the second page", got)
	}
	if r := all.One("data-metric=pass_rate").Attr; r["data-result"] != "worse" || r["data-diff"] != "-1" {
		t.Errorf("%v", r)
	}
}

// The number of a turn is what its record says. It decides no more than the order of pairs.
func TestCompareConversationWithFarTurns(t *testing.T) {
	s := newSite(t)
	far := test("s", "x", "t", "Hi", "near", "Ho", "far")
	far.Turns[1].Index = 1 << 60
	s.put(result.Run{ID: "a", Targets: []string{"t"}, StartedAt: now.Add(-2 * time.Hour)},
		test("s", "x", "t", "Hi", "near"))
	s.put(result.Run{ID: "b", Targets: []string{"t"}}, far)
	var pairs []string
	for _, pair := range s.get(200, "/compare/tests/x?a=a&b=b").All("data-pair") {
		pairs = append(pairs, pair.Attr["data-pair"]+"/"+pair.Attr["data-differs"])
	}
	if got := strings.Join(pairs, " "); got != "1/false 2/true 1152921504606846976/true" {
		t.Errorf("%s", got)
	}
}

// People read two digits of a score; attributes have all of them.
func TestScoresAreShort(t *testing.T) {
	s := newSite(t)
	exact, third := "0.6666666666666666", 2.0/3
	run := func(id string, hour int) result.Run {
		return result.Run{
			ID: id, Suites: []string{"s.yaml"}, Targets: []string{"t"},
			StartedAt: now.Add(time.Duration(hour) * time.Hour), ExitCode: new(1), ExitReason: result.ReasonFailed,
		}
	}
	graded := func(id string, v result.Verdict) *result.Test {
		r := rated(id, "t", v, third, 100)
		r.Scores = []result.Score{{Name: "turn-1", Verdict: v, Score: third}}
		return r
	}
	s.put(run("a", -2), graded("one", result.Pass))
	s.put(run("b", -1), graded("one", result.Fail))
	for _, address := range []string{
		"/compare?a=a&b=b", "/compare/tests/one?a=a&b=b&suite=s", "/runs/b", "/runs/b/matrix", "/runs/b/tests/one",
	} {
		page := s.get(200, address)
		if words := page.Words(); strings.Contains(words, "0.666") || !strings.Contains(words, "0.66") {
			t.Errorf("%s says %q", address, words)
		}
		if len(page.All("data-score="+exact))+len(page.All("data-score-b="+exact)) == 0 {
			t.Errorf("%s has no attribute with the exact score", address)
		}
	}
}
