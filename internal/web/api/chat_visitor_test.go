package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
)

// strongSession is a session id as the page makes them.
const strongSession = "5f0c1d2e3b4a69788796a5b4c3d2e1f0"

// signedFor returns an id that the owner of a site has signed.
func signedFor(key, site, id string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(site + ":" + id))
	return id + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func TestStrongIDs(t *testing.T) {
	signed := signedFor("key", "acme.example", "user-7")
	for id, want := range map[string]bool{
		strongSession: true, "6ba7b810-9dad-11d1-80b4-00c04fd430c8": true, "abcdefghijklmnopqrstuv": true,
		"AZaz09-_efghijklmnopqrs": true, strings.Repeat("abcdefghij", 20): true,
		"": false, "s": false, "abcdefghijklmnopqrstu": false,
		strings.Repeat("abcdefghij", 20) + "k": false, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": false,
		"abcdefghiabcdefghiabcdefghi": false, "abcdefghijklmnopqrst v": false, "abcdefghijklmnopqrstü": false,
		"abcdefghijklmnopqrst:v": false, "abcdefghijklmnopqrstuv\n": false, signed: true,
		signedFor("key", "acme.example", strings.Repeat("a", 150)): true, signedFor("key", "acme.example", "1"): true,
		signedFor("other", "acme.example", "user-7"): false, signedFor("key", "other.example", "user-7"): false,
		signedFor("key", "acme.example", strings.Repeat("a", 151)): false,
		signedFor("key", "acme.example", "a b"):                    false, signedFor("key", "acme.example", ""): false,
		strings.Replace(signed, "user-7", "user-8", 1): false, signed + "=": false, signed + ".": false,
		"user-7.": false, "user-7": false, signedFor("", "acme.example", "user-7"): false,
	} {
		s := &Chats{ChatsConfig: ChatsConfig{SessionKey: []byte("key")}}
		if got := s.strongID(id, "acme.example"); got != want {
			t.Errorf("%q: %v", id, got)
		}
		s.SessionKey = nil
		if got := s.strongID(id, "acme.example"); got != (want && !strings.Contains(id, ".")) {
			t.Errorf("%q without a key: %v", id, got)
		}
	}
}

// TestWeakSessionIDs checks that visitors need ids that are hard to guess, also those that come from loopback; a token
// may use any.
func TestWeakSessionIDs(t *testing.T) {
	for _, visitor := range []string{"X-Forwarded-For: 192.0.2.1", "X-Nothing: 1"} {
		checkWeakSessionIDs(t, visitor)
	}
}

func checkWeakSessionIDs(t *testing.T, visitor string) {
	t.Helper()
	bot := &fakeBot{}
	d := openChatsBehind(t, FrontConfig{Access: access.New(access.Config{Token: "secret"})}, bot, func(c *ChatsConfig) {
		c.Public = true
	})
	for _, session := range []string{"s1", strings.Repeat("abcdefghij", 20) + "k"} {
		p := want[Problem](d, 400, "POST", chatPath, saying(session, "hi"), visitor)
		if p.Code != "weak_session_id" || pointerText(p) != "/session_id" || p.Hint == "" {
			t.Errorf("%s: %+v", session, p)
		}
	}
	if p := want[Problem](d, 400, "DELETE", chatPath+"/acme.example/s1", "", visitor); p.Code != "weak_session_id" {
		t.Errorf("%+v", p)
	}
	if n := len(bot.requests()); n != 0 {
		t.Errorf("%d turns", n)
	}
	for _, c := range []struct {
		session, header string
		visitor         bool
	}{{"s1", "Authorization: Bearer secret", false}, {strongSession, visitor, true}} {
		if response, body := d.do("POST", chatPath, saying(c.session, "hi"), c.header); response.StatusCode != 200 {
			t.Errorf("%s: %d %s", c.session, response.StatusCode, body)
		}
		asked := bot.requests()
		if last := asked[len(asked)-1]; last.Visitor != c.visitor || last.Session != c.session {
			t.Errorf("%+v", last)
		}
		if response, body := d.do("DELETE", chatPath+"/acme.example/"+c.session, "",
			c.header); response.StatusCode != 204 {
			t.Errorf("%s: %d %s", c.session, response.StatusCode, body)
		}
	}
}

// A token that may not erase has a visitor's right to it, and no more.
func TestErasingWithoutAdmin(t *testing.T) {
	bot := &fakeBot{}
	chats, err := NewChats(ChatsConfig{Bot: bot, Operator: &fakeOperator{}, Sites: acmeSites(t), Public: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		session string
		scope   access.Scope
		status  int
	}{{"s1", access.Read, 400}, {"s1", access.Admin, 204}, {strongSession, access.Read, 204}} {
		r := httptest.NewRequest("DELETE", chatPath+"/acme.example/"+c.session, nil)
		w := httptest.NewRecorder()
		chats.ServeHTTP(w, r.WithContext(access.With(r.Context(),
			access.Grant{Open: true, Scopes: access.Scopes{c.scope}})))
		if w.Code != c.status {
			t.Errorf("%s with %s: %d, want %d: %s", c.session, c.scope, w.Code, c.status, w.Body)
		}
	}
}

// What the limits refuse has a status before the stream begins, and says when to come back.
func TestLimitedAnswers(t *testing.T) {
	for fault, c := range map[sitebot.Fault]struct {
		status int
		after  time.Duration
		header string
	}{
		sitebot.RateLimited:  {429, 2500 * time.Millisecond, "3"},
		sitebot.TooManyTurns: {429, 5 * time.Second, "5"},
		sitebot.SiteBusy:     {503, time.Millisecond, "1"},
		sitebot.BudgetSpent:  {503, time.Hour, "3600"},
		sitebot.SessionFull:  {507, 0, ""},
	} {
		d := openChats(t, &fakeBot{turn: func(context.Context, sitebot.Request, sinkFunc) (*sitebot.Outcome, error) {
			return nil, &sitebot.Error{Fault: fault, Message: "Please wait.", RetryAfter: c.after}
		}})
		for _, accept := range []string{"Accept: text/event-stream", "Accept: application/json"} {
			response, body := d.do("POST", chatPath, saying("s", "hi"), accept)
			p := decoded[Problem](t, body)
			if response.StatusCode != c.status || p.Code != string(fault) ||
				p.Detail != "Please wait." || response.Header.Get("Retry-After") != c.header ||
				response.Header.Get("Content-Type") != "application/problem+json" ||
				response.Header.Get("Retry-After-Ms") != "" {
				t.Errorf("%s: %d %v %s", fault, response.StatusCode, response.Header, body)
			}
		}
	}
}

// Behind a trusted proxy the address is that of the visitor; one that sends nothing of the kind is told apart by the
// peer.
func TestVisitorsAddress(t *testing.T) {
	bot := &fakeBot{}
	d := openChats(t, bot, func(c *ChatsConfig) {
		c.Public, c.TrustedProxies = true, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	for _, header := range []string{
		"X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 10.9.9.9, 192.0.2.2", "Via: proxy",
	} {
		d.do("POST", chatPath, saying(strongSession, "hi"), header)
	}
	var from []string
	for _, r := range bot.requests() {
		if !r.Visitor {
			t.Errorf("no visitor: %+v", r)
		}
		from = append(from, r.IP.String())
	}
	if got := strings.Join(from, " "); got != "192.0.2.1 192.0.2.2 127.0.0.1" {
		t.Errorf("addresses %s", got)
	}
}
