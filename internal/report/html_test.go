package report_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/report/reporttest"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func htmlOf(t *testing.T, r *report.Report) string {
	t.Helper()
	return reporttest.Rendered(t, r.HTML)
}

// TestHTMLHoldsNothingHostile looks at the tags that a browser would see, whatever the transcript says.
func TestHTMLHoldsNothingHostile(t *testing.T) {
	run, tests := sample()
	attack := `"'><script>alert(12)</script><img src=x onerror=alert(13)>javascript:alert(14)`
	run.ID, run.Version, run.Judge, run.ExitReason = attack, attack, attack, attack
	run.Command, run.Suites, run.Targets = []string{attack}, []string{attack}, []string{attack}
	x := failed(test(attack, attack, attack, attack), 0)
	x.Target, x.Tags, x.Turns[0].TraceID, x.Turns[0].TurnID, x.Turns[0].State = attack, []string{attack}, attack,
		attack, json.RawMessage(`{"`+"</pre><script>"+`":1}`)
	x.Verdict, x.Scores[0].Verdict = result.Verdict(attack), result.Verdict(attack)
	x.Turns[0].Input.Blocks = []chat.Block{
		{Type: "image", Value: "javascript:alert(15)"},
		{Type: "image", Value: "data:image/svg+xml;base64,PHN2Zy8+"},
		{Type: "image", Value: "data:image/png;base64,AAAA\" onerror=\"alert(16)"},
		{Type: "image", Value: "data:text/html;base64,AAAA"},
		{Type: "image", Value: "https://evil.example/x.png"},
		{Type: attack, Value: attack},
	}
	fail(x, &x.Scores[0], result.Failure{Code: result.Code(attack), Source: attack, Message: attack})
	run.Totals.Failures[result.Code(attack)] = 1
	tests = append(tests, x)
	diff, err := compareWith(run, tests, x)
	if err != nil {
		t.Fatal(err)
	}
	run.Comparison = diff
	r := report.New(run, each(tests...))
	page := htmlOf(t, r)

	allowed := regexp.MustCompile(`^(!doctype|/?(html|head|meta|title|style|body|svg|symbol|path|use|rect|line|header|main|section|footer|nav|a|div|p|h[123]|span|b|i|q|bdi|small|code|em|strong|blockquote|ol|mark|thead|tbody|br|hr|pre|time|dl|dt|dd|ul|li|details|summary|input|label|table|caption|tr|th|td|img))$`)
	for _, tag := range reporttest.Tags(page) {
		name, attributes, _ := strings.Cut(strings.Trim(tag, "<>/"), " ")
		if !allowed.MatchString(strings.ToLower(name)) {
			t.Errorf("unexpected tag %s", tag)
		}
		bare := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(" "+attributes, `""`)
		if regexp.MustCompile(`(?i)\s(on\w+|style|srcset|formaction|action|srcdoc|xlink:href)\s*=|=[^"]|'`).
			MatchString(bare) {
			t.Errorf("attribute that acts: %s", tag)
		}
		for _, link := range regexp.MustCompile(`(?i)\s(?:href|src)\s*=\s*"([^"]*)"`).
			FindAllStringSubmatch(" "+attributes, -1) {
			if !regexp.MustCompile(`^#[a-z-]+$`).MatchString(link[1]) && !strings.HasPrefix(link[1], "#i-") &&
				!strings.HasPrefix(link[1], "data:image/png;base64,") {
				t.Errorf("link to %q: %s", link[1], tag)
			}
		}
	}
	if strings.Contains(page, "ZgotmplZ") {
		t.Error("a value reached a place where it was filtered")
	}
	// The text itself is there to be read.
	if !strings.Contains(html.UnescapeString(page), attack) {
		t.Error("the hostile text is not shown")
	}
}

// What a v1 test says of its turns and of the target's sampling is shown.
// TestCutReplies holds that a reply that was cut short is marked where its turn is shown.
func TestCutReplies(t *testing.T) {
	for reason, want := range map[string]string{"length": "reply cut off: length",
		"content_filter": "reply stopped: content_filter", "stop": ""} {
		run, tests := sample()
		for _, test := range tests {
			for i := range test.Turns {
				test.Turns[i].FinishReason = reason
			}
		}
		r := report.New(run, each(tests...))
		for name, shown := range map[string]string{"page": htmlOf(t, r), "terminal": text(t, r,
			report.TextOptions{Width: 200})} {
			if said := strings.Contains(shown, "reply cut off") || strings.Contains(shown,
				"reply stopped"); said != (want != "") || !strings.Contains(shown, want) {
				t.Errorf("%s of replies that ended by %s: says so is %t", name, reason, said)
			}
		}
		for _, test := range tests {
			test.Verdict = result.Pass
		}
		r = report.New(run, each(tests...))
		for name, shown := range map[string]string{"terminal": text(t, r, report.TextOptions{Width: 200,
			Verbose: true}), "markdown": markdown(t, r)} {
			if said := strings.Contains(shown, "turn 1: reply"); said != (want != "") || !strings.Contains(shown,
				want) {
				t.Errorf("%s of passed tests whose replies ended by %s: says so is %t", name, reason, said)
			}
		}
	}
}

func TestHTMLShowsTurnIDAndSampling(t *testing.T) {
	run, tests := sample()
	tests[0].Turns[0].TurnID = "greeting"
	tests[0].Sampling = &result.Sampling{Temperature: new(0.0), TopP: new(1.0), Seed: new(42)}
	page := htmlOf(t, report.New(run, each(tests...)))
	for _, want := range []string{"id greeting", "temperature 0, top_p 1, seed 42"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestHTMLPolicy(t *testing.T) {
	run, tests := sample()
	page := htmlOf(t, report.New(run, each(tests...)))
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindAllStringSubmatch(page, -1)
	if len(style) != 1 {
		t.Fatalf("%d style sheets", len(style))
	}
	hash := sha256.Sum256([]byte(style[0][1]))
	want := `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-` +
		base64.StdEncoding.EncodeToString(hash[:]) + `'; img-src data:; base-uri 'none'; form-action 'none'">`
	if !strings.Contains(page, want) {
		t.Errorf("the page lacks %s", want)
	}
	if head, _, _ := strings.Cut(page, want); strings.Contains(head, "<style") || strings.Contains(head, "<title") {
		t.Error("something stands before the policy")
	}
	for _, never := range []string{"<script", "http-equiv=\"refresh", "@import", "url(", "<link", "<iframe", "<base"} {
		if strings.Contains(strings.ToLower(page), never) {
			t.Errorf("the page holds %s", never)
		}
	}
}

func TestHTMLOfManyTests(t *testing.T) {
	stream := func(yield func(*runlog.Record, error) bool) {
		for i := range 11_000 {
			x := test("s", fmt.Sprintf("t%d", i), "question", "answer")
			if i >= 10_900 {
				failed(x, 0)
				assert(x, 1, 0)
			}
			if !yield(runlog.RecordOf(x), nil) {
				return
			}
		}
	}
	page := htmlOf(t, report.New(result.Run{}, stream))
	full, lines := strings.Count(page, `<details class="test `), strings.Count(page, `<p class="row `)
	if full+lines != 10_000 || strings.Count(page, `data-row="test"`) != 10_000 {
		t.Errorf("%d conversations in full and %d lines, want 10,000 together", full, lines)
	}
	if n := strings.Count(page, `<details class="test fail" id="t-`); n != 100 {
		t.Errorf("%d failing tests in full, want 100", n)
	}
	for _, want := range []string{"1,000 more tests not on this page; results.jsonl has every one.",
		"as a line each; results.jsonl has the conversations."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	first, last := strings.Index(page, ">t0<"), strings.Index(page, ">t10900<")
	if first < 0 || last < first {
		t.Errorf("tests do not stand in their order: %d, %d", first, last)
	}
}

func TestHTMLDropsWhatIsTooMuch(t *testing.T) {
	const n = 30
	var said []string
	for range 40 {
		said = append(said, strings.Repeat("long ", 4_000), strings.Repeat("text ", 4_000))
	}
	stream := func(yield func(*runlog.Record, error) bool) {
		for i := range n {
			x := test("s", fmt.Sprintf("t%d-", i), said...)
			if i == n-1 {
				failed(x, 0)
			}
			if !yield(runlog.RecordOf(x), nil) {
				return
			}
		}
	}
	page := htmlOf(t, report.New(result.Run{}, stream))
	full, lines := strings.Count(page, `<details class="test `), strings.Count(page, `<p class="row `)
	if full < 1 || full > 20 || full+lines != n || len(page) > 5_000_000 {
		t.Errorf("%d in full and %d lines in %d bytes", full, lines, len(page))
	}
	if !strings.Contains(page, `<details class="test fail"`) {
		t.Error("the failing test was dropped")
	}
}

func TestHTMLOfManyTrials(t *testing.T) {
	var tests []*result.Test
	sum := &result.Trials{Count: 60, Passed: 59, Strategy: "mean"}
	for n := range 60 {
		x := test("s", "t", "hi", "hello")
		if x.Trial = n + 1; n == 50 {
			failed(x, 0)
			assert(x, 1, 0)
		}
		tests = append(tests, x)
	}
	head := failed(test("s", "t"), 0.7)
	head.Trials = sum
	page := htmlOf(t, report.New(result.Run{}, each(append(tests, head)...)))
	if n := strings.Count(page, `<details class="trial `); n != 20 {
		t.Errorf("%d trials in full, want 20", n)
	}
	if !strings.Contains(page, "Trial 51") || !strings.Contains(page, "40 more trials not shown here") {
		t.Error("the failing trial, or what is left out, is not there")
	}
}

func TestHTMLOfAnInterruptedRun(t *testing.T) {
	all := trials()
	run := result.Run{ExitReason: result.ReasonInterrupted, Targets: []string{target},
		Totals: result.Totals{Planned: 5}}
	page := htmlOf(t, report.New(run, each(append(all[:2], greeting())...)))
	for _, want := range []string{
		"<title>Stopped (interrupted): 1 of 5 tests completed, 4 not run · rehearse</title>",
		"<h1>Stopped (interrupted): 1 of 5 tests completed, 4 not run</h1>",
		"not run: the run was interrupted after 2 trials", "Trial 2", "not yet, or interrupted",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestHTMLOfNothing(t *testing.T) {
	if page := htmlOf(t, report.New(result.Run{}, each())); !strings.Contains(page, "No tests were run") ||
		!strings.HasSuffix(page, "</html>\n") {
		t.Errorf("page of no tests:\n%s", page)
	}
}

// TestHTMLContrast holds the colours of both schemes to WCAG 2.2 AA, 1.4.3: 4.5 to 1 for text.
func TestHTMLContrast(t *testing.T) {
	css, err := os.ReadFile("document/frame.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, ok := strings.Cut(string(css), "prefers-color-scheme: dark")
	if !ok {
		t.Fatal("no dark scheme")
	}
	for name, scheme := range map[string]string{"light": light, "dark": dark} {
		colour := func(v string) float64 {
			m := regexp.MustCompile(`--` + v + `: #([0-9a-f]{6});`).FindStringSubmatch(scheme)
			if m == nil {
				t.Fatalf("%s: no colour %s", name, v)
			}
			return luminance(m[1])
		}
		for _, pair := range []string{
			"ink page", "ink card", "ink well", "soft page", "soft card", "soft well", "user-ink user", "accent card",
			"page ink",
			"pass card", "fail card", "error card", "skip card", "pass pass-bg", "fail fail-bg", "error error-bg",
			"skip skip-bg",
			"ink fail-bg", "ink error-bg", "ink skip-bg", "soft fail-bg", "soft error-bg", "soft skip-bg",
		} {
			text, ground, _ := strings.Cut(pair, " ")
			a, b := colour(text), colour(ground)
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
				t.Errorf("%s: %s on %s is %.2f to 1", name, text, ground, ratio)
			}
		}
	}
}

// luminance is the relative luminance of WCAG 2.2.
func luminance(hex string) float64 {
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
