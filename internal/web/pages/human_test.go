package pages_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages"
	"github.com/rehearse-dev/rehearse/internal/web/pages/pagestest"
)

// withStore gives the pages a store to write to.
func withStore(t *testing.T, change ...func(*pages.Config)) (*site, *store.Store) {
	t.Helper()
	kept, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "rehearse.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	open := func(context.Context) (*pages.Stored, error) {
		return &pages.Stored{
			Sessions: kept.Events(), Datasets: kept.Datasets(), Annotations: kept.Annotations(),
			Replays: kept.ReplayRuns(),
		}, nil
	}
	return newSiteOf(t, func(c *pages.Config) {
		c.Store, c.Make = open, open
		for _, other := range change {
			other(c)
		}
	}), kept
}

// browser is somebody with cookies.
type browser struct {
	*site
	client *http.Client
}

func (s *site) browser() *browser {
	jar, _ := cookiejar.New(nil)
	return &browser{s, &http.Client{
		Transport: s.web.Client().Transport, Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// send opens a page, fills in one of its forms and sends it; the answer's status and where it leads.
func (b *browser) send(page, form string, fields map[string]string) (status int, to string) {
	b.t.Helper()
	answer, err := b.client.Get(b.web.URL + page)
	if err != nil {
		b.t.Fatal(err)
	}
	parsed, err := pagestest.Parse(bodyOf(b.t, answer))
	if err != nil {
		b.t.Fatal(err)
	}
	f := parsed.One("data-form=" + form)
	if f.Attr["method"] != "post" {
		b.t.Fatalf("%s has no form %s", page, form)
	}
	values := url.Values{}
	for _, hidden := range f.All("type=hidden") {
		values.Set(hidden.Attr["name"], hidden.Attr["value"])
	}
	for name, value := range fields {
		values.Set(name, value)
	}
	for name := range values { // as browsers send the ends of lines
		values.Set(name, strings.ReplaceAll(values.Get(name), "\n", "\r\n"))
	}
	answer, err = b.client.PostForm(b.web.URL+f.Attr["action"], values)
	if err != nil {
		b.t.Fatal(err)
	}
	if said := bodyOf(b.t, answer); answer.StatusCode == http.StatusUnprocessableEntity {
		if refused, err := pagestest.Parse(said); err == nil {
			b.t.Log(refused.One("<main>").Words())
		}
	}
	return answer.StatusCode, answer.Header.Get("Location")
}

func reviewedRun(s *site) {
	s.put(result.Run{ID: "one", Suites: []string{"shop"}, Targets: []string{"x"}},
		failed(talked("a"), result.AssistantContent, "wanted: contains \"x\""), talked("b"),
		failed(talked("c"), result.AssistantContent, "no"))
}

// A verdict of somebody stands beside the machine's, in the store and in the folder of the run, and can be taken back.
func TestOverride(t *testing.T) {
	s, kept := withStore(t)
	reviewedRun(s)
	b := s.browser()
	page := "/runs/one/tests/a?suite=shop&target=x"
	if status, to := b.send(page, "override", map[string]string{
		"verdict": "pass", "comment": "it is <b>right</b>", "author": "Ada",
	}); status != http.StatusSeeOther || !strings.HasPrefix(to, "/runs/one/tests/a?") {
		t.Fatalf("%d to %s", status, to)
	}
	shown := s.get(http.StatusOK, page)
	if main := shown.One("<main>"); main.Attr["data-verdict"] != "fail" || main.Attr["data-review"] != "pass" {
		t.Errorf("verdicts %v", main.Attr)
	}
	if said := shown.One("data-annotation=override").Words(); !strings.Contains(said, "Ada") ||
		!strings.Contains(said, "it is <b>right</b>") {
		t.Errorf("said %q", said)
	}
	run := s.get(http.StatusOK, "/runs/one")
	for name, want := range map[string]string{"failed": "2", "reviewed": "1"} {
		if got := run.One("data-figure=" + name).Attr["data-value"]; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := run.One("data-figure=pass_rate_reviewed").Attr["data-value"]; !strings.HasPrefix(got, "0.666") {
		t.Errorf("pass rate after review %s", got)
	}
	if got := run.One("data-figure=pass_rate").Attr["data-value"]; !strings.HasPrefix(got, "0.333") {
		t.Errorf("pass rate %s", got)
	}
	if row := run.One("data-row=test", "data-test=a"); row.Attr["data-review"] != "pass" ||
		row.Attr["data-verdict"] != "fail" {
		t.Errorf("row %v", row.Attr)
	}
	if n := len(s.get(http.StatusOK, "/runs/one?review=pass").All("data-row=test")); n != 1 {
		t.Errorf("%d tests reviewed as passed", n)
	}
	// Both places have it; what the machine said stays in its record.
	inStore, err := kept.Annotations().Of(t.Context(), "one")
	inFolder, _, err2 := annotation.Read(filepath.Join(s.root, "one"))
	if err != nil || err2 != nil || len(inStore) != 1 || len(inFolder) != 1 || inFolder[0].Author != "Ada" ||
		!inStore[0].At.Equal(now) {
		t.Errorf("store %+v, folder %+v, %v %v", inStore, inFolder, err, err2)
	}
	for x, err := range runlog.Read(filepath.Join(s.root, "one")) {
		if err != nil || x.TestID == "a" && x.Verdict != result.Fail {
			t.Errorf("the record of %s has changed: %v", x.TestID, err)
		}
	}
	// The browser remembers who it was.
	again, err := b.client.Get(s.web.URL + page)
	if err != nil {
		t.Fatal(err)
	}
	if body := bodyOf(t, again); !strings.Contains(body, `value="Ada"`) {
		t.Error("the author is forgotten")
	}
	b.send(page, "override", map[string]string{"verdict": "none", "comment": "I was wrong", "author": "Ada"})
	run = s.get(http.StatusOK, "/runs/one")
	if run.One("data-figure=reviewed").Attr["data-value"] != "0" ||
		len(run.All("data-figure=pass_rate_reviewed")) != 0 || len(run.All("data-review")) != 0 {
		t.Error("the override was not taken back")
	}
	// Compare uses it where it is asked for.
	b.send(page, "override", map[string]string{"verdict": "pass", "comment": "right", "author": "Ada"})
	s.put(result.Run{ID: "two", Suites: []string{"shop"}, Targets: []string{"x"}, StartedAt: now},
		failed(talked("a"), result.AssistantContent, "no"), talked("b"), talked("c"))
	for query, want := range map[string]string{"": "0", "&reviewed=1": "1"} {
		compared := s.get(http.StatusOK, "/compare?a=one&b=two"+query)
		got := compared.One("data-section=regressed").Attr["data-count"]
		if got == "" {
			got = "0"
		}
		if got != want {
			t.Errorf("%q: %s regressed, want %s", query, got, want)
		}
	}
}

// What cannot be meant is refused, and nothing has changed.
func TestRefusedForms(t *testing.T) {
	s, kept := withStore(t)
	reviewedRun(s)
	b := s.browser()
	page := "/runs/one/tests/a?suite=shop&target=x"
	day := func(days int) string { return now.AddDate(0, 0, days).Format("2006-01-02") }
	for name, c := range map[string]struct {
		form   string
		fields map[string]string
		want   int
	}{
		"no comment":      {"override", map[string]string{"verdict": "pass", "author": "a"}, 422},
		"no author":       {"override", map[string]string{"verdict": "pass", "comment": "x"}, 422},
		"another verdict": {"override", map[string]string{"verdict": "error", "comment": "x", "author": "a"}, 422},
		"today": {
			"quarantine", map[string]string{"owner": "a", "until": day(0), "reason": "x", "author": "a"}, 422,
		},
		"too late": {
			"quarantine", map[string]string{"owner": "a", "until": day(91), "reason": "x", "author": "a"}, 422,
		},
		"no owner":        {"quarantine", map[string]string{"until": day(9), "reason": "x", "author": "a"}, 422},
		"no dataset":      {"dataset", map[string]string{"author": "a"}, 422},
		"a turn too many": {"dataset", map[string]string{"dataset": "d", "turn": "99", "author": "a"}, 422},
		"another part": {
			"override", map[string]string{"verdict": "pass", "comment": "x", "author": "a", "item": "turn-99"}, 422,
		},
		"another trial": {
			"override", map[string]string{"verdict": "pass", "comment": "x", "author": "a", "trial": "7"}, 422,
		},
		"another test": {
			"override", map[string]string{"suite": "nowhere", "verdict": "pass", "comment": "x", "author": "a"}, 404,
		},
		"a forged form": {
			"override", map[string]string{"csrf": "x", "verdict": "pass", "comment": "x", "author": "a"}, 403,
		},
		"more than a form": {
			"override", map[string]string{"verdict": "pass", "comment": strings.Repeat("x", 2<<20), "author": "a"}, 413,
		},
	} {
		if status, _ := b.send(page, c.form, c.fields); status != c.want {
			t.Errorf("%s: %d, want %d", name, status, c.want)
		}
	}
	if all, err := kept.Annotations().Of(t.Context(), "one"); err != nil || len(all) != 0 {
		t.Errorf("kept %+v, %v", all, err)
	}
	if _, err := os.Stat(filepath.Join(s.root, "one", annotation.File)); err == nil {
		t.Error("a file was written")
	}
}

// A quarantine holds in later runs, and shows what to paste.
func TestQuarantineForm(t *testing.T) {
	s, kept := withStore(t)
	reviewedRun(s)
	until := now.AddDate(0, 0, 90).Format("2006-01-02")
	page := "/runs/one/tests/a?suite=shop&target=x"
	if status, _ := s.browser().send(page, "quarantine", map[string]string{
		"owner": "ada: #1", "until": until, "reason": "it moves", "author": "Ada",
	}); status != http.StatusSeeOther {
		t.Fatalf("status %d", status)
	}
	terms, err := kept.Annotations().Quarantines(t.Context())
	if got := terms[result.Key{Suite: "shop", TestID: "a"}]; err != nil || got.Owner != "ada: #1" ||
		got.Until != until {
		t.Errorf("%+v, %v", terms, err)
	}
	if words := s.get(http.StatusOK, page).One("<pre>").Words(); !strings.HasPrefix(words, "quarantine: {owner: ") ||
		!strings.Contains(words, until) {
		t.Errorf("to paste: %q", words)
	}
}

// A conversation becomes an item of a dataset and a suite.
func TestToDatasetAndSuite(t *testing.T) {
	s, kept := withStore(t)
	reviewedRun(s)
	page := "/runs/one/tests/b?suite=shop&target=x"
	for range 2 { // the second time the same item
		if status, _ := s.browser().send(page, "dataset", map[string]string{
			"dataset": "hard", "author": "Ada",
		}); status != http.StatusSeeOther {
			t.Fatalf("status %d", status)
		}
	}
	items := 0
	for item, err := range kept.Datasets().Items(t.Context(), "hard") {
		if err != nil || !strings.Contains(string(item.Input), `"query"`) {
			t.Errorf("%s, %v", item.Input, err)
		}
		items++
	}
	if items != 1 {
		t.Errorf("%d items", items)
	}
	response, body := s.answer(http.MethodGet, s.get(http.StatusOK, page).One("data-action=suite").Attr["href"],
		nil, nil)
	if response.StatusCode != http.StatusOK || !strings.Contains(body, "tests:") || !strings.Contains(body, "id: b") ||
		!strings.Contains(body, "turns:") {
		t.Errorf("%s\n%s", response.Status, body)
	}
}

// Read-only pages have no forms.
func TestReadOnly(t *testing.T) {
	s := newSiteOf(t, func(c *pages.Config) {
		c.Make = func(context.Context) (*pages.Stored, error) { t.Error("opened"); return nil, nil }
		c.Frame.ReadOnly = true
	})
	reviewedRun(s)
	if forms := s.get(http.StatusOK, "/runs/one/tests/a?suite=shop&target=x").
		All("<form>", "method=post"); len(forms) != 0 {
		t.Errorf("%d forms", len(forms))
	}
	response, _ := s.answer(http.MethodPost, "/runs/one/tests/a/override", nil, strings.NewReader("verdict=pass"))
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("POST: %s", response.Status)
	}
}

// talked is a conversation of the suite shop with the target x.
func talked(id string) *result.Test {
	return test("shop", id, "x", "hello", "hello there", "bye", "good bye")
}

func bodyOf(t testing.TB, answer *http.Response) string {
	t.Helper()
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// A judged assertion is labelled without its judge's answer in sight; figures and the download have the labels.
func TestJudge(t *testing.T) {
	s, _ := withStore(t)
	judged := func(id string, passed bool) *result.Test {
		x := talked(id)
		x.Scores[1].Assertions = []result.Assertion{
			{
				Text: "Is <kind>", Passed: passed, Grader: "rubrics", Evidence: "because of the greeting",
				Spans: [][2]int{{0, 4}},
			}, {Text: `contains "x"`, Passed: true, Grader: "contains"},
		}
		return x
	}
	s.put(result.Run{ID: "one", Suites: []string{"shop"}, Targets: []string{"x"}, Judge: "openai:gpt-5"},
		judged("a", true), judged("b", false), judged("c", true), talked("d"))
	page := s.get(http.StatusOK, "/judge?run=one")
	if n := len(page.All("data-row=judgement")); n != 3 || page.One("data-list=judgements").Attr["data-total"] != "3" {
		t.Fatalf("%d judgements", n)
	}
	row := page.One("data-row=judgement", "data-test=a")
	if _, shown := row.Attr["data-judged"]; shown || strings.Contains(row.Words(), "because of the greeting") ||
		row.Attr["data-item"] != "turn-2" || row.Attr["data-assertion"] != "Is <kind>" {
		t.Errorf("before it is labelled: %v %q", row.Attr, row.Words())
	}
	if marks := page.All("data-evidence"); len(marks) > 0 {
		t.Errorf("%d pieces are marked that the judge quoted", len(marks))
	}
	if !strings.Contains(row.Words(), "good bye") || strings.Contains(row.Words(), "hello there") {
		t.Errorf("the turn it is about: %q", row.Words())
	}
	b := s.browser()
	for _, label := range []string{"pass", "pass", "unclear"} { // of a, b and c: those that are labelled leave the list
		status, to := b.send("/judge?run=one&labelled=no&grader=rubrics", "label", map[string]string{
			"label": label, "author": "Ada", "comment": "so",
		})
		if status != http.StatusSeeOther || to != "/judge?grader=rubrics&labelled=no&run=one" {
			t.Fatalf("%d to %q", status, to)
		}
	}
	page = s.get(http.StatusOK, "/judge?run=one")
	row = page.One("data-row=judgement", "data-test=a")
	if row.Attr["data-judged"] != "pass" || row.Attr["data-label"] == "" ||
		!strings.Contains(row.Words(), "because of the greeting") {
		t.Errorf("labelled: %v", row.Attr)
	}
	if n := len(page.All("data-judged", "data-row=judgement")); n != 3 {
		t.Errorf("%d labelled", n)
	}
	response, body := s.answer(http.MethodGet, "/judge/labels.jsonl?run=one", nil, nil)
	lines := strings.Split(strings.TrimSpace(body), "\n")
	if response.StatusCode != http.StatusOK || len(lines) != 3 ||
		!strings.Contains(lines[0], `"model":"openai:gpt-5"`) || !strings.Contains(lines[0], `"run_id":"one"`) ||
		!strings.Contains(lines[0], `"author":"Ada"`) {
		t.Errorf("%s\n%s", response.Status, body)
	}
	if got := page.One("data-figure=labels").Attr["data-value"]; got != "2" {
		t.Errorf("%s labels count", got)
	}
	if got := page.One("<td>", "data-label=pass", "data-judged=pass").Attr["data-count"]; got != "1" {
		t.Errorf("pass and pass: %s", got)
	}
	if status, _ := b.send("/judge?run=one", "label", map[string]string{
		"label": "pass", "author": "Ada", "assertion": "made up",
	}); status != http.StatusUnprocessableEntity {
		t.Errorf("a made up assertion: %d", status)
	}
}

// A comparison after review is kept as long as people decide the same, and no longer.
func TestCompareFollowsReviews(t *testing.T) {
	s, _ := withStore(t)
	reviewedRun(s)
	s.put(result.Run{ID: "two", Suites: []string{"shop"}, Targets: []string{"x"}, StartedAt: now},
		failed(talked("a"), result.AssistantContent, "no"), talked("b"), talked("c"))
	b := s.browser()
	say := func(run, test, verdict string) {
		t.Helper()
		if status, _ := b.send("/runs/"+run+"/tests/"+test+"?suite=shop&target=x", "override", map[string]string{
			"verdict": verdict, "comment": "so it is", "author": "Ada",
		}); status != http.StatusSeeOther {
			t.Fatalf("status %d", status)
		}
	}
	check := func(reviewed, machine string) {
		t.Helper()
		for query, want := range map[string]string{"": machine, "&reviewed=1": reviewed} {
			for range 2 {
				page := s.get(http.StatusOK, "/compare?a=one&b=two"+query)
				var got []string
				for _, section := range page.All("data-section") {
					if n := section.Attr["data-count"]; n != "0" {
						got = append(got, section.Attr["data-section"]+n)
					}
				}
				rate := page.One("data-metric=pass_rate").Attr
				if got := strings.Join(got, " ") + " " + rate["data-b"]; got != want {
					t.Errorf("%q: %s, want %s", query, got, want)
				}
			}
		}
	}
	machine := "fixed1 still_failing1 unchanged1 0.6666666666666666"
	check(machine, machine)
	say("one", "a", "pass")
	check("regressed1 fixed1 unchanged1 0.6666666666666666", machine)
	say("two", "a", "pass")
	check("fixed1 unchanged2 1", machine)
	say("two", "b", "fail")
	check("regressed1 fixed1 unchanged1 0.6666666666666666", machine)
	say("two", "b", "none")
	say("two", "a", "none")
	say("one", "a", "none")
	check(machine, machine)
}
