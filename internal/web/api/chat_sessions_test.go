package api

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
)

func openOperator(t *testing.T, change ...func(*ChatsConfig)) (*desk, *fakeOperator) {
	o := &fakeOperator{}
	return openChats(t, &fakeBot{}, append(change, func(c *ChatsConfig) { c.Operator = o })...), o
}

func TestChatSessions(t *testing.T) {
	d, o := openOperator(t)
	all := chatPath + "/acme.example/sessions"
	list := want[map[string]any](d, 200, "GET", all, "")
	if list["next_cursor"] != "abc" || len(list["sessions"].([]any)) != 1 {
		t.Errorf("%v", list)
	}
	place := sessionindex.Cursor{Last: o.asked[0].Since, Thread: "acme.example:s1"}
	want[map[string]any](d, 200, "GET",
		all+"?q=tea&since=2026-01-02T00:00:00Z&until=2026-01-03T00:00:00Z&outcome=failed&limit=7&cursor="+
			place.String(), "")
	asked := o.asked[1]
	if asked.Text != "tea" || asked.Since.Day() != 2 || asked.Until.Day() != 3 ||
		asked.Outcome != sessionindex.Failed || asked.Limit != 7 || asked.After.Thread != place.Thread ||
		o.asked[0].Limit != 50 {
		t.Errorf("%+v", o.asked)
	}
	for _, odd := range []string{
		"outcome=won", "since=yesterday", "limit=0", "limit=1001", "limit=x", "cursor=!", "page=2", "q=%ff",
	} {
		want[Problem](d, 400, "GET", all+"?"+odd, "")
	}
	if p := want[Problem](d, 404, "GET", chatPath+"/other.example/sessions", ""); p.Code != "unknown_site" {
		t.Errorf("%+v", p)
	}
}

func TestChatSession(t *testing.T) {
	d, o := openOperator(t)
	one := chatPath + "/acme.example/s1"
	want[sitebot.Session](d, 200, "GET", one, "")
	if p := want[Problem](d, 404, "GET", chatPath+"/acme.example/none", ""); p.Code != "unknown_session" {
		t.Errorf("%+v", p)
	}
	if p := want[Problem](d, 503, "GET", chatPath+"/acme.example/broken", ""); strings.Contains(p.Detail, "10.0.0.7") {
		t.Errorf("%+v", p)
	}
	for body, status := range map[string]int{
		`{"turn": 2, "rating": "up"}`: 204, `{"turn": 1, "rating": "down", "comment": "no"}`: 204,
	} {
		if response, answer := d.do("POST", one+"/feedback", body); response.StatusCode != status {
			t.Errorf("%s: %d %s", body, response.StatusCode, answer)
		}
	}
	want[Problem](d, 404, "POST", one+"/feedback", `{"turn": 3, "rating": "up"}`)
	want[Problem](d, 404, "POST", chatPath+"/acme.example/none/feedback", `{"turn": 1, "rating": "up"}`)
	want[Problem](d, 400, "POST", one+"/feedback", `{"turn": 1, "stars": 5}`)
	if len(o.rated) != 2 {
		t.Errorf("%+v", o.rated)
	}
}

// Visitors of a public chat may rate what they know the id of, and see no session, not even their own.
func TestChatSessionsAreClosed(t *testing.T) {
	o := &fakeOperator{}
	chats, err := NewChats(ChatsConfig{Bot: &fakeBot{}, Operator: o, Public: true})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/sessions", ""},
		{"GET", "/" + strongSession, ""},
		{"POST", "/" + strongSession + "/feedback", `{"turn": 1, "rating": "up"}`},
		{"POST", "/s1/feedback", `{"turn": 1, "rating": "up"}`},
	} {
		r := httptest.NewRequest(c.method, chatPath+"/acme.example"+c.path, strings.NewReader(c.body))
		r.RemoteAddr, r.Host = "203.0.113.9:4711", "chat.acme.example"
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		behindFront(chats).ServeHTTP(w, r)
		got[c.method+" "+strings.ReplaceAll(c.path, strongSession, "ID")] = w.Code
	}
	if d := cmp.Diff(map[string]int{
		"GET /sessions": 403, "GET /ID": 403, "POST /ID/feedback": 204, "POST /s1/feedback": 400,
	}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
