package view_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"rehearse/internal/flow"
	"rehearse/internal/result"
	"rehearse/internal/view"
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

// A flow is drawn with the traffic of a run; what the run does not reach is listed, and a node leads to its turns.
func TestFlows(t *testing.T) {
	flows, err := flow.Load("cafe.yaml", []byte(cafe))
	if err != nil {
		t.Fatal(err)
	}
	s := newSiteOf(t, func(c *view.Config) { c.Flows = func() ([]*flow.Flow, error) { return flows, nil } })
	talk := test("shop", "a", "x", "hello", "Which?", "tea", "Bye.")
	talk.Turns[0].Node, talk.Turns[0].State = "ask", json.RawMessage(`{"previous_node_id":"start","current_node_id":"ask","transition":{"kind":"advanced","option_id":null}}`)
	talk.Turns[1].Node, talk.Turns[1].State = "bye", json.RawMessage(`{"previous_node_id":"ask","current_node_id":"bye","transition":{"kind":"completed","option_id":"opt_tea"}}`)
	s.put(result.Run{ID: "one", Suites: []string{"shop"}, Targets: []string{"x"}}, talk, test("shop", "elsewhere", "y", "hello", "hi"))
	row := s.get(http.StatusOK, "/flows").One("data-row=flow")
	if row.Attr["data-flow"] != "cafe <b>" {
		t.Fatalf("row %v", row.Attr)
	}
	for _, address := range []string{row.One("<a>").Attr["href"], row.One("<a>").Attr["href"] + "?run=one"} {
		page := s.get(http.StatusOK, address)
		want := map[string]string{"nodes_total": "4", "nodes_covered": "3", "options_total": "3", "options_covered": "1"}
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
		if e := drawn.One("data-edge", "data-option=opt_tea").Attr; e["data-from"] != "ask" || e["data-to"] != "bye" || e["data-count"] != "1" {
			t.Errorf("edge %v", e)
		}
		if len(drawn.All("<style>")) != 0 {
			t.Error("the picture has a style of its own")
		}
		missing := page.One("data-section=unreached")
		if missing.One("data-row=node").Attr["data-node"] != "sorry" || len(missing.All("data-row=option")) != 2 {
			t.Errorf("unreached: %s", missing.Words())
		}
		if href := page.One("data-visited=bye").One("<a>").Attr["href"]; !strings.HasPrefix(href, "/runs/one/tests/a?") || !strings.HasSuffix(href, "#turn-2") {
			t.Errorf("a node leads to %q", href)
		}
	}
	s.get(http.StatusNotFound, "/flows/nope")
	s.get(http.StatusNotFound, row.One("<a>").Attr["href"]+"?run=nope")
	// Without traffic nothing is reached.
	if got := figures(s.get(http.StatusOK, row.One("<a>").Attr["href"]+"?traffic=sessions"))["nodes_covered"]; got != "0" {
		t.Errorf("%s nodes reached by no session", got)
	}
}
