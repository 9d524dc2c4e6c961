package report_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/report/reporttest"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// What a CI system reads of JUnit XML.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Tests   int          `xml:"tests,attr"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    float64       `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Skipped *junitProblem `xml:"skipped"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Body    string `xml:",chardata"`
	}
)

func junit(t *testing.T, r *report.Report) junitSuites {
	t.Helper()
	data := reporttest.Rendered(t, func(w io.Writer) error { return r.JUnit(w) })
	var s junitSuites
	if err := xml.Unmarshal([]byte(data), &s); err != nil {
		t.Fatalf("junit.xml does not parse: %v\n%s", err, data)
	}
	if !strings.HasPrefix(data, xml.Header) || !strings.HasSuffix(data, "</testsuites>\n") {
		t.Error("something stands before or after the document")
	}
	return s
}

func TestJUnit(t *testing.T) {
	run, tests := sample()
	got := junit(t, report.New(run, each(tests...)))
	if got.Tests != 9 || len(got.Suites) != 2 {
		t.Fatalf("%d tests in %d suites", got.Tests, len(got.Suites))
	}
	for _, s := range got.Suites {
		var failures, errs, skipped int
		for _, c := range s.Cases {
			if c.Class != s.Name {
				t.Errorf("%s: classname %q", c.Name, c.Class)
			}
			switch {
			case c.Failure != nil:
				failures++
			case c.Error != nil:
				errs++
			case c.Skipped != nil:
				skipped++
			}
		}
		if len(s.Cases) != s.Tests || failures != s.Failures || errs != s.Errors || skipped != s.Skipped {
			t.Errorf("%s: counts are %d %d %d %d, cases %d %d %d %d", s.Name, s.Tests, s.Failures, s.Errors, s.Skipped,
				len(s.Cases), failures, errs, skipped)
		}
	}
	refund := got.Suites[0].Cases[0]
	if refund.Name != "refund-within-window" || refund.Time != 3.378 || refund.Failure == nil ||
		refund.Failure.Type != "ASSISTANT_CONTENT" {
		t.Fatalf("first case %+v", refund)
	}
	for _, want := range []string{"expected: confirms that nine days", "actual: The reply denies",
		"reply: Thanks, Dana."} {
		if !strings.Contains(refund.Failure.Body, want) {
			t.Errorf("body lacks %q:\n%s", want, refund.Failure.Body)
		}
	}
	trials := got.Suites[1].Cases[2]
	if trials.Failure.Type != "FLAKY" || !strings.Contains(trials.Failure.Body, "3 of 4 trials passed") ||
		!strings.Contains(trials.Failure.Body, "trial 2:") {
		t.Errorf("case of a test with trials: %+v", trials.Failure)
	}
}

func TestJUnitNamesTargetsWhereThereAreSeveral(t *testing.T) {
	a, b := test("s", "x"), test("s", "x")
	b.Target = "other:model"
	got := junit(t, report.New(result.Run{}, each(a, b)))
	var names []string
	for _, c := range got.Suites[0].Cases {
		names = append(names, c.Name)
	}
	if d := cmp.Diff([]string{"x [openai:gpt-5-mini]", "x [other:model]"}, names); d != "" {
		t.Errorf("names mismatch (-want +got):\n%s", d)
	}
}

// TestJUnitSortsMoreThanFitsInMemory mixes suites whose cases are far over the bound, so that it takes several
// readings.
func TestJUnitSortsMoreThanFitsInMemory(t *testing.T) {
	const suites, each = 3, 300
	answer, message := strings.Repeat("a", 4_000), strings.Repeat("m", 32_000)
	readings := 0
	stream := func(yield func(*runlog.Record, error) bool) {
		readings++
		for i := range each {
			for s := range suites {
				x := failed(test(fmt.Sprint("suite ", s), fmt.Sprint("t", i), "q", answer), 0)
				fail(x, assert(x, 1, 0), result.Failure{Code: result.AssistantContent, Message: message})
				if !yield(runlog.RecordOf(x), nil) {
					return
				}
			}
		}
	}
	got := junit(t, report.New(result.Run{}, stream))
	for s, suite := range got.Suites {
		if suite.Name != fmt.Sprint("suite ", s) || len(suite.Cases) != each || suite.Failures != each {
			t.Errorf("%s has %d cases", suite.Name, len(suite.Cases))
		}
		for i, c := range suite.Cases {
			if c.Name != fmt.Sprint("t", i) {
				t.Fatalf("%s: case %d is %s", suite.Name, i, c.Name)
			}
		}
	}
	// One for the survey; then two suites at a time fit.
	if readings != 3 {
		t.Errorf("the stream was read %d times, want 3", readings)
	}
}

func withoutTrial(t *result.Test) result.Key {
	key := t.Key()
	key.Trial = 0
	return key
}

func TestJUnitOfAnInterruptedRun(t *testing.T) {
	all := trials()
	run := result.Run{ExitReason: result.ReasonInterrupted, NotRun: []result.Key{{Suite: all[0].Suite,
		TestID: "another", Target: all[0].Target}, withoutTrial(all[0])}}
	got := junit(t, report.New(run, each(all[:2]...)))
	if len(got.Suites) != 1 || len(got.Suites[0].Cases) != 2 || got.Suites[0].Skipped != 2 || got.Tests != 2 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []string{"not run: the run was interrupted",
		"not run: the run was interrupted after 2 trials"} {
		if c := got.Suites[0].Cases[i]; c.Skipped == nil || c.Skipped.Message != want {
			t.Errorf("case %+v, want it skipped: %s", c, want)
		}
	}
}

// The page has room for so many tests and says how many it leaves out. Every link of a larger run leads to something
// that stands on its page.
func TestJUnitLinksOfManyTests(t *testing.T) {
	var many []*result.Test
	for i := range 10_050 {
		x := test("suites/travel.yaml", fmt.Sprintf("test-%d", i))
		if i%100 == 99 {
			failed(x, 0.4)
		}
		many = append(many, x)
	}
	r := report.New(result.Run{Targets: []string{"t"}}, each(many...))
	page := reporttest.Rendered(t, func(w io.Writer) error { return r.HTML(w) })
	there := map[string]bool{"": true}
	for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		there[id[1]] = true
	}
	links := regexp.MustCompile(`report\.html#?([^"]*)"`).
		FindAllStringSubmatch(reporttest.Rendered(t, func(w io.Writer) error { return r.JUnit(w) }), -1)
	if len(links) != len(many) {
		t.Fatalf("%d links of %d tests", len(links), len(many))
	}
	for _, link := range links {
		if !there[link[1]] {
			t.Fatalf("%s stands nowhere", link[0])
		}
	}
}
