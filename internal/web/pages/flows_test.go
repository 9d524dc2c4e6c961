package pages_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages"
)

const cafe = `
id: cafe <b>
version: 1
start: start
nodes:
  - {id: start, type: start, prompt: Greet., next: [ask]}
  - id: ask
    type: conversation
    prompt: Ask <script>alert(1)</script>
    options:
      - {id: opt_tea, label: '"tea"', when: wants tea, next: bye}
      - {id: opt_bad, label: bad, when: complains, next: sorry}
  - id: sorry
    type: conversation
    prompt: Say sorry.
    options: [{id: opt_ok, label: ok, when: accepts, next: bye}]
  - {id: bye, type: stop, prompt: Goodbye.}
`

// A flow is drawn with what a run reaches of it; what the run does not reach is listed, and a node leads to its turns.
func TestFlows(t *testing.T) {
	flows, err := flow.Load("cafe.yaml", []byte(cafe))
	if err != nil {
		t.Fatal(err)
	}
	s := newSiteOf(t, func(c *pages.Config) { c.Flows = func() ([]*flow.Flow, error) { return flows, nil } })
	talk := test("shop", "a", "x", "hello", "Which?", "tea", "Bye.")
	talk.Turns[0].Node, talk.Turns[0].State = "ask", json.RawMessage(
		`{"previous_node_id":"start","current_node_id":"ask","transition":{"kind":"advanced","option_id":null}}`)
	talk.Turns[1].Node, talk.Turns[1].State = "bye", json.RawMessage(
		`{"previous_node_id":"ask","current_node_id":"bye","transition":{"kind":"completed","option_id":"opt_tea"}}`)
	s.put(result.Run{ID: "one", Suites: []string{"shop"}, Targets: []string{"x"}}, talk,
		test("shop", "elsewhere", "y", "hello", "hi"))
	row := s.get(http.StatusOK, "/flows").One("data-row=flow")
	if row.Attr["data-flow"] != "cafe <b>" {
		t.Fatalf("row %v", row.Attr)
	}
	for _, address := range []string{row.One("<a>").Attr["href"], row.One("<a>").Attr["href"] + "?run=one"} {
		page := s.get(http.StatusOK, address)
		want := map[string]string{
			"nodes_total": "4", "nodes_covered": "3", "options_total": "3", "options_covered": "1",
		}
		for name, value := range want {
			if got := figures(page)[name]; got != value {
				t.Errorf("%s is %s, want %s", name, got, value)
			}
		}
		drawn := page.One("class=drawing")
		for node, visits := range map[string]string{"start": "1", "ask": "1", "sorry": "0", "bye": "1"} {
			if got := drawn.One("data-node=" + node).Attr["data-visits"]; got != visits {
				t.Errorf("%s: %q visits, want %s", node, got, visits)
			}
		}
		if e := drawn.One("data-edge", "data-option=opt_tea").Attr; e["data-from"] != "ask" || e["data-to"] != "bye" ||
			e["data-count"] != "1" {
			t.Errorf("edge %v", e)
		}
		if e := drawn.One("data-edge", "data-option=opt_tea").Attr["class"]; e != "edge plain" {
			t.Errorf("a taken option has the line %q", e)
		}
		if e := drawn.One("data-edge", "data-option=opt_bad").Attr["class"]; e != "edge muted" {
			t.Errorf("an option that is never taken has the line %q", e)
		}
		if words := drawn.Words(); !strings.Contains(words, "ask ×1") || !strings.Contains(words, "\"tea\" ×1") ||
			strings.Contains(words, "sorry ×") {
			t.Errorf("the picture says %q", words)
		}
		if len(drawn.All("<style>")) != 0 {
			t.Error("the picture has a style of its own")
		}
		missing := page.One("data-section=unreached")
		if missing.One("data-row=node").Attr["data-node"] != "sorry" || len(missing.All("data-row=option")) != 2 {
			t.Errorf("unreached: %s", missing.Words())
		}
		if href := page.One("data-visited=bye").One("<a>").Attr["href"]; !strings.HasPrefix(href,
			"/runs/one/tests/a?") || !strings.HasSuffix(href, "#turn-2") {
			t.Errorf("a node leads to %q", href)
		}
	}
	s.get(http.StatusNotFound, "/flows/nope")
	s.get(http.StatusNotFound, row.One("<a>").Attr["href"]+"?run=nope")
	// Without traffic nothing is reached.
	if got := figures(s.get(http.StatusOK, row.One("<a>").Attr["href"]+"?traffic=sessions"))["nodes_covered"]; got !=
		"0" {
		t.Errorf("%s nodes reached by no session", got)
	}
}

// A run counts for a flow where one of its targets follows it, as far as the run says so: nodes of the same names are
// not enough.
func TestFlowsOfOtherTargets(t *testing.T) {
	flows, err := flow.Load("cafe.yaml", []byte(cafe))
	if err != nil {
		t.Fatal(err)
	}
	s := newSiteOf(t, func(c *pages.Config) { c.Flows = func() ([]*flow.Flow, error) { return flows, nil } })
	talk := func(target string) *result.Test {
		talk := test("shop", "a", target, "hello", "Which?")
		talk.Turns[0].Node, talk.Turns[0].State = "ask", json.RawMessage(
			`{"previous_node_id":"start","current_node_id":"ask","transition":{"kind":"advanced","option_id":null}}`)
		return talk
	}
	following := func(id string) any { return map[string]any{result.FlowsKey: map[string]any{"x": id, "y": "bar"}} }
	for name, config := range map[string]any{
		"this": following("cafe <b>"), "another": following("bar"),
		"none": map[string]any{result.FlowsKey: map[string]any{}}, "silent": nil,
	} {
		s.put(result.Run{ID: name, Suites: []string{"shop"}, Targets: []string{"x", "y"}, Config: config}, talk("x"),
			talk("y"))
	}
	address := s.get(http.StatusOK, "/flows").One("data-row=flow").One("<a>").Attr["href"]
	for run, want := range map[string]struct{ visits, says string }{
		"this": {"1", ""}, "another": {"0", "None of its targets follows this flow"},
		"none":   {"2", "does not say which flow its targets follow"},
		"silent": {"2", "does not say which flow its targets follow"},
	} {
		page := s.get(http.StatusOK, address+"?run="+run)
		if got := page.One("data-node=ask").Attr["data-visits"]; got != want.visits {
			t.Errorf("%s: %s visits, want %s", run, got, want.visits)
		}
		lead := page.One("class=lead").Words()
		if !strings.Contains(lead, want.says) ||
			want.says == "" && (strings.Contains(lead, "None of") || strings.Contains(lead, "does not say")) {
			t.Errorf("%s: %s", run, lead)
		}
	}
}

// asked is a log that records for which flow it was last read.
type asked struct {
	log
	flow string
}

func (a *asked) EachFrom(ctx context.Context, f replay.Filter, session string) iter.Seq2[replay.Event, error] {
	a.flow = f.FlowID
	return a.log.EachFrom(ctx, f, session)
}

// TestFlowOfSessions checks that coverage by sessions reads those of the flow alone, between the days of the address,
// and that a flow without a definition leads to its sessions.
func TestFlowOfSessions(t *testing.T) {
	flows, err := flow.Load("cafe.yaml", []byte(cafe))
	if err != nil {
		t.Fatal(err)
	}
	stored := log(logged("s1", "cafe <b>", "u", now, "", "hello", "tea"))
	for i := range stored {
		stored[i].Context = json.RawMessage(`{"current_state":"ask"}`)
	}
	events := &asked{log: append(stored, logged("s2", "other", "u", now, "", "hello", "tea")...)}
	s := newSiteOf(t, func(c *pages.Config) {
		c.Flows = func() ([]*flow.Flow, error) { return flows, nil }
		c.Store = func(context.Context) (*pages.Stored, error) { return &pages.Stored{Sessions: events}, nil }
	})
	for _, row := range s.get(http.StatusOK, "/flows").All("data-row=flow") {
		want := map[string]string{
			"cafe <b>": "/flows/cafe%20%3Cb%3E", "other": "/sessions?flow=other",
		}[row.Attr["data-flow"]]
		if href := row.One("<a>").Attr["href"]; href != want || row.Attr["data-sessions"] != "1" {
			t.Errorf("flow %s with %s sessions leads to %s, want %s", row.Attr["data-flow"], row.Attr["data-sessions"],
				href, want)
		}
	}
	missing := s.get(http.StatusNotFound, "/flows/other").One("<main>")
	if len(missing.All("href=/sessions?flow=other")) != 1 {
		t.Errorf("a flow without a definition does not lead to its sessions: %s", missing.Words())
	}
	address := "/flows/cafe%20%3Cb%3E?traffic=sessions"
	if got := figures(s.get(http.StatusOK, address))["nodes_covered"]; got != "1" || events.flow != "cafe <b>" {
		t.Errorf("%q nodes are covered by the sessions of the flow %q", got, events.flow)
	}
	tomorrow := now.AddDate(0, 0, 1).Format(time.DateOnly)
	if got := figures(s.get(http.StatusOK, address+"&from="+tomorrow))["nodes_covered"]; got != "0" {
		t.Errorf("%s nodes are covered by sessions of other days", got)
	}
}
