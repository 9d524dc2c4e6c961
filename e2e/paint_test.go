package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// painted is how many conversations the run of TestFirstPaint has.
const painted = 1_000

// paint waits for the first paint with content, and returns its milliseconds since the page was asked for (W3C Paint
// Timing).
const paint = `new Promise((done) => new PerformanceObserver((list) => {
	const first = list.getEntriesByName("first-contentful-paint")[0];
	if (first) done(first.startTime);
}).observe({type: "paint", buffered: true}))`

// TestFirstPaint opens a run of 1,000 conversations, and says when its pages were first painted. The goal of ui.md is
// 300 ms; a test that limits times would fail on a busy machine, so that only what is painted is held to.
func TestFirstPaint(t *testing.T) {
	var suite strings.Builder
	suite.WriteString("name: many\ntests:\n")
	for n := range painted {
		fmt.Fprintf(&suite, "  - {id: t%d, mode: conversation, turns: [{input: Hello, assertions: [{type: contains, "+
			"value: tea}]}, {input: And number %d?, assertions: [{type: contains, value: tea}]}]}\n", n, n)
	}
	write(t, "many/suite.yaml", suite.String())
	write(t, "many/agent.yaml", "default: {reply: We sell tea.}\n")
	rehearse(t, 0, "run", "many/suite.yaml", "--target", "scripted:many/agent.yaml", "--quiet", "--out",
		".rehearse/runs/many")
	for _, place := range []string{"/runs", "/runs/latest", "/runs/latest/matrix"} {
		for _, l := range []look{{width: 1280}, {width: 400}} {
			b := open(t, l)
			b.to(place)
			t.Logf("%s, %d pixels wide: first paint after %.0f ms", place, l.width, value[float64](b, paint))
			if rows := value[int](b, `document.querySelectorAll("[data-row]").length`); rows == 0 {
				t.Errorf("%s has no rows", b.path())
			}
		}
	}
}
