package e2e

import (
	"testing"
)

// bookshop is the page of the run with faults; it is the second newest of the demonstration, before the classifier.
const bookshop = `/runs?suite=bookshop%2Fsuite.yaml`

// compared is the page on which the two assistants of that run, RUN, stand beside each other.
const compared = `/compare?a=RUN&b=RUN&a_target=careful&b_target=hasty`

// places are the pages of the demonstration by the names of their pictures. Where a page is found by a click, link is
// the selector.
var places = []struct{ name, at, link string }{
	{"runs", "/runs", ""},
	{"run", bookshop, `[data-row="run"] a`},
	{"matrix", bookshop, `[data-row="run"] a => a[href*="/matrix"]`},
	{
		"conversation", bookshop,
		`[data-row="run"] a => [data-row="test"][data-test="return-policy"][data-target="hasty"] a`,
	},
	{
		"trials", bookshop,
		`[data-row="run"] a => [data-row="test"][data-test="gift-wrapping"][data-target="hasty"] a => [data-key="t"]`,
	},
	{"compare", compared, ""},
	{"compare-conversation", compared, `[data-section="regressed"] [data-row="test"] a`},
	{"search", "/search?q=birthday", ""},
	{"replays", "/replays", ""},
	{"replay", "/replays", `[data-row="replay"] a`},
	{"replay-session", "/replays", `[data-row="replay"] a => [data-row="session"] a`},
	{"sessions", "/sessions", ""},
	{"session", "/sessions", `[data-row="session"] a`},
	{"flows", "/flows", ""},
	{"flow", "/flows/hotel_book?traffic=sessions", ""},
	{"judge", "/judge", ""},
	{"datasets", "/datasets", ""},
	{"classifications", "/classify", ""},
	{"classify", "/classify", `[data-row="classification"] a`},
	{"not-found", "/runs/nope", ""},
}

// TestPages opens every page at two widths in light and dark: nothing fails, nothing leaves the server, axe finds
// nothing, nothing scrolls sideways.
func TestPages(t *testing.T) {
	for _, place := range places {
		t.Run(place.name, func(t *testing.T) {
			b := open(t, looks[0])
			b.to(place.at)
			b.follow(place.link)
			for _, l := range looks {
				b.as(l)
				b.fits()
				b.accessible()
				b.keep(place.name+"-"+l.String(), true)
			}
		})
	}
}

// TestRowsOfMetrics holds that a sentence beside the figures of a metric does not make its row as tall as it is narrow.
func TestRowsOfMetrics(t *testing.T) {
	b := open(t, look{width: 400})
	b.to("/replays")
	b.to(value[string](b, `document.querySelector('[data-row="replay"] a').getAttribute('href')`))
	if tallest := value[int](b, `Math.round(Math.max(...[...document.querySelectorAll('[data-metric]')].map((row) => row.getBoundingClientRect().height)))`); tallest > 120 {
		t.Errorf("a row of metrics is %d pixels tall", tallest)
	}
}

// TestFlowIsReadable holds that a large flow keeps a size at which its words can be read, and that it begins where its
// start is.
func TestFlowIsReadable(t *testing.T) {
	b := open(t, look{width: 400})
	b.to("/flows/hotel_book?traffic=sessions")
	if wide := value[int](b,
		`Math.round(document.querySelector('.canvas svg').getBoundingClientRect().width)`); wide < 900 {
		t.Errorf("the flow is %d pixels wide", wide)
	}
	if left := value[int](b, `Math.round(document.querySelector('.canvas').scrollLeft)`); left < 100 {
		t.Errorf("the flow is shown from %d pixels on", left)
	}
}
