package pages_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
	"github.com/rehearse-dev/rehearse/internal/web/pages/pagestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// now is when the tests' pages are looked at.
var now = time.Date(2026, 7, 14, 12, 0, 0, 0, time.UTC)

// site is a server of pages over a folder of runs.
type site struct {
	t    testing.TB
	root string
	web  *httptest.Server
	at   time.Time
}

func newSite(t testing.TB) *site {
	t.Helper()
	return newSiteOf(t, func(*pages.Config) {})
}

// newSiteOf is newSite with other settings.
func newSiteOf(t testing.TB, change func(*pages.Config)) *site {
	t.Helper()
	s := &site{t: t, root: t.TempDir(), at: now}
	runs := runindex.New(func() time.Time { s.at = s.at.Add(time.Second); return s.at })
	runs.AddRoot(s.root)
	c := pages.Config{Runs: runs, Now: func() time.Time { return now }, Frame: frame.Config{}}
	change(&c)
	s.web = httptest.NewServer(pages.New(c))
	t.Cleanup(s.web.Close)
	return s
}

// put writes a run. Its totals are counted unless it has some.
func (s *site) put(run result.Run, tests ...*result.Test) {
	s.t.Helper()
	dir := filepath.Join(s.root, run.ID)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	log, err := runlog.Open(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	var records result.Tallies
	for _, x := range tests {
		records.Add(x)
		if err := log.Append(x); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		s.t.Fatal(err)
	}
	run.Schema = result.Schema
	if run.ExitReason == "" {
		run.ExitReason, run.ExitCode = result.ReasonPassed, new(0)
	}
	if run.StartedAt.IsZero() {
		run.StartedAt = now.Add(-time.Hour)
	}
	if run.Totals.Tests == 0 && run.ExitCode != nil {
		run.Count(&records, run.Planned())
	}
	if err := runlog.WriteRun(dir, run); err != nil {
		s.t.Fatal(err)
	}
}

// answer sends a request.
func (s *site) answer(method, path string, head http.Header, body io.Reader) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.web.URL+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for name, values := range head {
		r.Header[name] = values
		if name == "Host" {
			r.Host = values[0]
		}
	}
	client := &http.Client{
		Transport:     s.web.Client().Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response, string(text)
}

// get returns a page. Every page is looked at for what all have in common.
func (s *site) get(status int, path string) *pagestest.Node {
	s.t.Helper()
	response, text := s.answer(http.MethodGet, path, nil, nil)
	if response.StatusCode != status {
		s.t.Fatalf("GET %s: %s, want %d", path, response.Status, status)
	}
	page, err := pagestest.Parse(text)
	if err != nil {
		s.t.Fatalf("GET %s: %v", path, err)
	}
	s.common(path, page, len(text))
	return page
}

// common holds what every page has: one heading, landmarks, ids that are unique, no style and no script in it, no
// address elsewhere.
func (s *site) common(path string, page *pagestest.Node, size int) {
	s.t.Helper()
	if n := len(page.All("<h1>")); n != 1 || page.One("<html>").Attr["lang"] != "en" ||
		len(page.All("<main>", "data-page")) != 1 || size > 1<<20 {
		s.t.Errorf("GET %s: %d headings, %d bytes", path, n, size)
	}
	if page.One("class=skip").Attr["href"] != "#main" || page.One("<main>").Attr["id"] != "main" {
		s.t.Errorf("GET %s: no skip link", path)
	}
	ids := map[string]bool{}
	for _, e := range page.All() {
		if id, ok := e.Attr["id"]; ok && ids[id] {
			s.t.Errorf("GET %s: two elements have the id %s", path, id)
		} else if ok {
			ids[id] = true
		}
		for name, value := range e.Attr {
			outside := slices.Contains([]string{"href", "src", "action", "formaction", "poster", "srcset"}, name) &&
				!(strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "//") || strings.HasPrefix(value, "#") ||
					strings.HasPrefix(value, "data:"))
			if outside || name == "style" || strings.HasPrefix(name, "on") {
				s.t.Errorf("GET %s: <%s %s=%q>", path, e.Name, name, value)
			}
		}
		if e.Name == "style" || e.Name == "iframe" || e.Name == "script" && (e.Attr["src"] == "" || e.Words() != "") {
			s.t.Errorf("GET %s: <%s> in the page", path, e.Name)
		}
	}
}

// rows names the rows of a page by an attribute.
func rows(page *pagestest.Node, kind, attribute string) string {
	var all []string
	for _, row := range page.All("data-row=" + kind) {
		all = append(all, row.Attr[attribute])
	}
	return strings.Join(all, " ")
}

// figures returns the figures of a page: NAME=VALUE, with its target behind it.
func figures(page *pagestest.Node) map[string]string {
	all := map[string]string{}
	for _, f := range page.One("<main>").All("data-figure") {
		name := f.Attr["data-figure"]
		if target, ok := f.Attr["data-target"]; ok {
			name += "@" + target
		}
		all[name] = f.Attr["data-value"]
	}
	return all
}

// test makes a record of a conversation that passed.
func test(suite, id, target string, said ...string) *result.Test {
	t := &result.Test{
		Schema: result.Schema, Suite: suite, TestID: id, Target: target, Score: 1, Verdict: result.Pass, Threshold: 0.8,
		ExecutionStatus: result.OK, StartedAt: now, Failures: []result.Failure{},
	}
	for i := 0; i+1 < len(said); i += 2 {
		x := result.Turn{Index: i/2 + 1, Output: said[i+1], LatencyMS: 12, Attempts: 1}
		x.Input.Text = said[i]
		t.Turns = append(t.Turns, x)
		t.Scores = append(t.Scores, result.Score{
			Name: fmt.Sprintf("turn-%d", x.Index), Type: "turn", Score: 1, Verdict: result.Pass,
		})
	}
	return t
}

// failed makes a record one that failed in its last turn.
func failed(t *result.Test, code result.Code, message string, assertions ...result.Assertion) *result.Test {
	t.Verdict, t.Score = result.Fail, 0.5
	f := result.Failure{Code: code, Source: "structured", Turn: len(t.Turns), Message: message}
	t.Failures = append(t.Failures, f)
	if n := len(t.Scores); n > 0 {
		s := &t.Scores[n-1]
		s.Verdict, s.Score, s.Failures, s.Assertions = result.Fail, 0, []result.Failure{f}, assertions
	}
	return t
}

func query(pairs ...string) string {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return "?" + values.Encode()
}
