package e2e

import (
	"testing"
)

// bookshop is the page of the run with faults; it is the second newest of the demonstration, before the classifier.
const bookshop = `/runs?suite=bookshop%2Fsuite.yaml`

// compared is the page on which the two assistants of that run, RUN, stand beside each other.
const compared = `/compare?a=RUN&b=RUN&a_target=careful&b_target=hasty`

// places are the pages of the demonstration by the names of their pictures. Where a page is found by a click, link is the selector.
var places = []struct{ name, at, link string }{
	{"runs", "/runs", ""},
	{"run", bookshop, `[data-row="run"] a`},
	{"matrix", bookshop, `[data-row="run"] a => a[href*="/matrix"]`},
	{"conversation", bookshop, `[data-row="run"] a => [data-row="test"][data-test="return-policy"][data-target="hasty"] a`},
	{"trials", bookshop, `[data-row="run"] a => [data-row="test"][data-test="gift-wrapping"][data-target="hasty"] a => [data-key="t"]`},
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
	{"try", "/try", ""},
	{"try-from", bookshop, `[data-row="run"] a => [data-row="test"][data-test="return-policy"][data-target="hasty"] a => [data-action="try"]`},
	{"not-found", "/runs/nope", ""},
}

// TestPages opens every page at two widths in light and dark: nothing fails, nothing leaves the server, axe finds nothing, nothing scrolls sideways.
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
