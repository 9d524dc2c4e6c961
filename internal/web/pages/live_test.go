package pages_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// event is one of a stream.
type event struct{ id, kind, data string }

func (e event) String() string { return e.id + " " + e.kind + " " + e.data }

// listen reads the events of a run until its stream ends, or stop says that it has seen enough.
func (s *site) listen(path, last string, stop func(event) bool) (all []event) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.web.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	response, err := s.web.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		s.t.Fatalf("%s %s", response.Status, got)
	}
	var e event
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		case "":
			if e.kind != "" {
				all = append(all, e)
				if stop != nil && stop(e) {
					return all
				}
			}
			e = event{}
		}
	}
	return all
}

// A finished run answers with its results and its end, and from any event on.
func TestEventsOfFinished(t *testing.T) {
	s := newSite(t)
	broken := test("s", "b", "t")
	broken.Verdict, broken.Trial = result.Error, 2
	s.put(result.Run{ID: "r", Targets: []string{"t"}, ExitCode: new(3), ExitReason: result.ReasonErrors},
		test("s", "a", "t", "Hi", "yes"), broken, test("s", "c", "t", "Hi", "yes"))
	want := []string{
		`1 result {"suite":"s","test_id":"a","target":"t","trial":0,"verdict":"pass","score":1}`,
		`2 result {"suite":"s","test_id":"b","target":"t","trial":2,"verdict":"error","score":null}`,
		`3 result {"suite":"s","test_id":"c","target":"t","trial":0,"verdict":"pass","score":1}`,
		`4 end {"exit_code":3,"exit_reason":"errors","run_id":"r"}`,
	}
	for last, from := range map[string]int{"": 0, "2": 2, "3": 3, "4": 4, "9": 3} {
		if got := fmt.Sprint(s.listen("/runs/r/events", last, nil)); got != fmt.Sprint(want[from:]) {
			t.Errorf("after %q: %s", last, got)
		}
	}
	if response, _ := s.answer("GET", "/runs/r/events?last_event_id=x", nil, nil); response.StatusCode != 400 {
		t.Error(response.Status)
	}
	s.get(404, "/runs/nope/events")
	if s.get(200, "/runs/r").One("<body>").Attr["data-events"] != "" {
		t.Error("the page of a finished run waits for events")
	}
}

// A running run tells of each record as it ends, and of its end.
func TestEventsOfRunning(t *testing.T) {
	s := newSite(t)
	s.put(result.Run{
		ID: "r", Targets: []string{"t"}, ExitReason: result.ReasonRunning, Totals: result.Totals{Planned: 2},
	})
	dir := filepath.Join(s.root, "r")
	lock, err := runlog.AcquireLock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.get(200, "/runs/r").One("<body>").Attr["data-events"]; got != "/runs/r/events" {
		t.Errorf("the page waits for %q", got)
	}
	log, err := runlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range s.listen("/runs/r/events", "", func(e event) bool {
		if e.kind == "progress" && !strings.Contains(e.data, `"completed":0`) {
			return false
		}
		if e.kind == "progress" {
			var p struct {
				Done    int
				Running *int
				Totals  result.Totals
			}
			if err := json.Unmarshal([]byte(e.data), &p); err != nil || p.Running != nil || p.Totals.Planned != 2 {
				t.Errorf("%s: %v", e.data, err)
			}
			if err := log.Append(test("s", "a", "t", "Hi", "yes")); err != nil {
				t.Error(err)
			}
		}
		if e.kind == "result" {
			run := result.Run{
				Schema: result.Schema, ID: "r", StartedAt: now, Targets: []string{"t"}, ExitReason: result.ReasonPassed,
				ExitCode: new(0),
			}
			if err := log.Append(test("s", "b", "t", "Hi", "yes")); e.id == "1" && err != nil {
				t.Error(err)
			}
			if err := runlog.WriteRun(dir, run); err != nil {
				t.Error(err)
			}
			_ = log.Close()
		}
		return false
	}) {
		if e.kind != "progress" {
			kinds = append(kinds, e.id+" "+e.kind)
		}
	}
	if got := strings.Join(kinds, ", "); got != "1 result, 2 result, 3 end" {
		t.Error(got)
	}
	_ = lock.Release()
}
