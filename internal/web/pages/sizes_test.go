package pages_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// A page is under 1 MB, however much was said, and says what it leaves out.
func TestLongConversationsAreBounded(t *testing.T) {
	s := newSite(t)
	for i, id := range []string{"a", "b"} {
		var all []*result.Test
		for name, n := range map[string]int{"plain": 300} {
			var said []string
			for turn := range n {
				said = append(said, strings.Repeat("what about <this> & that? ", 77),
					strings.Repeat(id+" is \"what\" I say ", 125)+string(rune('a'+turn%26)))
			}
			x := test("shop", name, "t", said...)
			x.Scores[n-1].Verdict = result.Fail
			all = append(all, x)
			for trial := range 4 {
				y := *x
				y.TestID, y.Trial = "trials-"+name, trial+1
				all = append(all, &y)
			}
		}
		s.put(result.Run{
			ID: id, Suites: []string{"shop.yaml"}, Targets: []string{"t"},
			StartedAt: now.Add(time.Duration(i-5) * time.Hour),
		}, all...)
	}
	for _, address := range []string{
		"/compare/tests/plain?a=a&b=b", "/runs/b/tests/plain", "/runs/b/tests/plain?view=raw",
		"/runs/b/tests/trials-plain?trial=1&trial=2&trial=3&trial=4",
	} {
		response, page := s.answer(http.MethodGet, address, nil, nil)
		if response.StatusCode != http.StatusOK || len(page) > 1_000_000 {
			t.Errorf("%s: %d, %d bytes", address, response.StatusCode, len(page))
		}
	}
	for _, address := range []string{"/compare/tests/plain?a=a&b=b", "/runs/b/tests/plain"} {
		page := s.get(http.StatusOK, address)
		if len(page.All("id=turn-1")) == 0 {
			t.Errorf("%s does not begin with the first turn", address)
		}
		more := page.All("class=left")[len(page.All("class=left"))-1]
		next := more.One("<a>").Attr["href"]
		if words := more.Words(); !strings.Contains(words, "more turns not shown here") ||
			!strings.Contains(next, "turn=") {
			t.Fatalf("%s: %q leads to %q", address, words, next)
		}
		at, anchor, _ := strings.Cut(next, "#")
		if following := s.get(http.StatusOK, at); len(following.All("id="+anchor)) != 1 ||
			len(page.All("id="+anchor)) != 0 {
			t.Errorf("%s leads to %s, where the turn is not", address, next)
		}
	}
	// The turn that failed is there, however late; a turn that is asked for is, too.
	for address, id := range map[string]string{
		"/runs/b/tests/plain": "turn-300", "/runs/b/tests/plain?turn=250": "turn-250",
		"/compare/tests/plain?a=a&b=b&turn=250": "turn-250",
	} {
		if _, page := s.answer(http.MethodGet, address, nil, nil); !strings.Contains(page, ` id="`+id+`"`) {
			t.Errorf("%s has no %s", address, id)
		}
	}
}
