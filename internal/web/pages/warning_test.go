package pages_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// addLine appends a line to the log of a run.
func (s *site) addLine(run, line string) {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.root, run, runlog.LogFile), os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := log.WriteString(line + "\n"); err != nil {
		s.t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// A line that is no record of this schema, or does not say how its test came out, counts nowhere: neither on pages nor
// in the stream.
func TestWhatIsNoRecord(t *testing.T) {
	s := newSite(t)
	s.put(result.Run{ID: "r", Targets: []string{"t"}, ExitReason: result.ReasonDied},
		rated("a", "t", result.Fail, 0, 10))
	for i, line := range []string{
		`{"schema":99,%s,"verdict":"pass","score":1}`, `{"schema":1,%s}`,
		`{"schema":1,%s,"verdict":"PASSED","score":1}`, `{"schema":1,%s,"verdict":"pass","turns":7}`,
	} {
		s.addLine("r", fmt.Sprintf(line, fmt.Sprintf(`"suite":"s","test_id":"x%d","target":"t"`, i)))
	}
	page := s.get(200, "/runs/r")
	if got := page.One("data-list=tests").Attr["data-total"]; got != "1" || len(page.All("data-row=pending")) != 0 ||
		!warned(page, "4 records of this run cannot be read") {
		t.Errorf("%s tests, %d pending: %s", got, len(page.All("data-row=pending")), page.One("data-warning").Words())
	}
	if _, stream := s.answer("GET", "/runs/r/events", nil, nil); strings.Count(stream, "event: result") != 1 {
		t.Errorf("the stream has %s", stream)
	}
}

// A queued run has not ended.
func TestQueuedRunHasNoEnd(t *testing.T) {
	s := newSite(t)
	s.put(result.Run{ID: "r", Targets: []string{"t"}, ExitReason: "waits"})
	s.change("r", `"waits"`, `""`)
	if state := s.get(200, "/runs").One("data-row=run").Attr["data-state"]; state != "queued" {
		t.Fatal(state)
	}
	response, err := s.web.Client().Get(s.web.URL + "/runs/r/events")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	first := make([]byte, 1024)
	n, err := response.Body.Read(first)
	if err != nil || !strings.HasPrefix(string(first[:n]), "event: progress") {
		t.Errorf("%q %v", first[:n], err)
	}
}

// Words behind an escape in arguments and results of tools are found.
func TestSearchInEscapedJSON(t *testing.T) {
	s := newSite(t)
	x := test("s", "a", "t", "Hi", "Yes")
	x.Turns[0].ToolCalls = []chat.ToolCall{{
		Name: "find", Args: []byte(`{"city":"Z\u00fcrich"}`),
		Result: []byte(`{"text":"first\nsecond line","none":null,"n":1e400}`),
	}}
	s.put(result.Run{ID: "r", Targets: []string{"t"}}, x)
	for _, q := range []string{"zurich", "second", `"first second"`, "find city", "1e400"} {
		page := s.get(200, "/search?"+url.Values{"q": {q}, "role": {"tool"}}.Encode())
		if got := page.One("data-list=hits").Attr["data-total"]; got != "1" || len(page.All("<mark>")) == 0 {
			t.Errorf("%s: %s hits", q, got)
		}
	}
}

// Runs that are not searched because the list is full are told.
func TestSearchTellsOfRunsLeftOut(t *testing.T) {
	s := newSite(t)
	var many []*result.Test
	for i := range 1000 {
		many = append(many, test("s", fmt.Sprint("m", i), "t", "straw", "straw"))
	}
	s.put(result.Run{ID: "new", Targets: []string{"t"}}, many...)
	if page := s.get(200, "/search?q=straw"); len(page.All("data-warning")) != 0 {
		t.Error("all hits are listed")
	}
	s.put(result.Run{ID: "old", Targets: []string{"t"}, StartedAt: now.Add(-time.Hour * 9)},
		test("s", "a", "t", "straw", "straw"))
	page := s.get(200, "/search?q=straw")
	if got := page.One("data-list=hits").Attr["data-total"]; got != "2000" || len(page.All("data-warning")) != 1 {
		t.Errorf("%s hits, %d warnings", got, len(page.All("data-warning")))
	}
}

// Tests without a number stand in the order of the run, whatever else their records say.
func TestSortLeavesTheUnknownInOrder(t *testing.T) {
	s := newSite(t)
	a, b, c := rated("a", "t", result.Error, 0.1, 10), rated("b", "t", result.Error, 0.9, 20),
		rated("c", "t", result.Pass, 0.5, 30)
	for i, x := range []*result.Test{a, b, c} {
		x.Cost = chat.Cost{USD: float64(i), Unknown: x != c}
	}
	s.put(result.Run{ID: "r", Targets: []string{"t"}}, a, b, c)
	for _, sort := range []string{"score", "-score", "-cost"} {
		if got := rows(s.get(200, "/runs/r?sort="+sort), "test", "data-test"); got != "c a b" {
			t.Errorf("%s: %s", sort, got)
		}
	}
}
