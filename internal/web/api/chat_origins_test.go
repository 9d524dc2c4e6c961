package api

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
)

func TestChatDoor(t *testing.T) {
	const page, states = "/chat/acme.example", chatPath + "/acme.example/s/state"
	type from struct{ peer, host string }
	visitor, proxied, here := from{"192.0.2.1:5", "x.example"}, from{"127.0.0.1:5", "x.example"},
		from{"127.0.0.1:5", "localhost:80"}
	for name, c := range map[string]struct {
		from
		path, header string
		// The statuses where everyone may talk, and where not.
		public, closed int
	}{
		"a visitor talks":         {visitor, chatPath, "", 200, 401},
		"a visitor looks":         {visitor, page, "", 200, 401},
		"a visitor reads a state": {visitor, states, "", 401, 401},
		"by another name":         {proxied, states, "", 401, 401},
		"a wrong token":           {visitor, states, "Authorization: Bearer x", 401, 401},
		"a wrong token talks":     {visitor, chatPath, "Authorization: Bearer x", 401, 401},
		"the token":               {visitor, states, "Authorization: Bearer secret", 404, 404},
		"the token talks":         {visitor, chatPath, "Authorization: Bearer secret", 200, 200},
		"this machine":            {here, states, "", 401, 401},
		"this machine talks":      {here, chatPath, "", 200, 401},
		"another's page":          {here, chatPath, "Origin: https://evil.example", 403, 401},
		"its own page":            {here, chatPath, "Origin: http://localhost:80", 200, 401},
		"a known site's page":     {here, chatPath, "Origin: https://acme.example", 200, 401},
		"a visitor elsewhere":     {visitor, "/api/v1/runs", "", 401, 401},
		"a visitor, odd path":     {visitor, "/chat/../api/v1/runs", "", 401, 401},
		"the script":              {visitor, "/chat.js", "", 200, 401},
		"how the page looks":      {visitor, page + "/config.json", "", 200, 401},
		"and for others' scripts": {visitor, page + "/config.json", "Origin: https://evil.example", 200, 401},
		"the page's colours":      {visitor, page + "/theme.css", "", 200, 401},
	} {
		for _, public := range []bool{true, false} {
			chats, err := NewChats(ChatsConfig{
				Bot: &fakeBot{}, Sites: acmeSites(t), Public: public, Origins: []string{"https://acme.example"},
			})
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest("GET", c.path, nil)
			if c.path == chatPath {
				r = httptest.NewRequest("POST", c.path, strings.NewReader(saying(strongSession, "hi")))
			}
			r.RemoteAddr, r.Host = c.peer, c.host
			key, value, _ := strings.Cut(c.header, ": ")
			r.Header.Set(key, value)
			w := httptest.NewRecorder()
			behindFront(chats, FrontConfig{Access: access.New(access.Config{Token: "secret"})}).ServeHTTP(w, r)
			status := c.closed
			if public {
				status = c.public
			}
			if w.Code != status || w.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s, public %v: %d, want %d: %s", name, public, w.Code, status, w.Body)
			}
		}
	}
}

func TestChatOrigins(t *testing.T) {
	for _, odd := range []string{
		"", "*", "null", "acme.example", "https://acme.example/", "https://*.acme.example", "https://a b",
		"https://a;b", "HTTPS://acme.example",
	} {
		if _, err := NewChats(ChatsConfig{Origins: []string{odd}}); err == nil ||
			!strings.Contains(err.Error(), "such as https://") {
			t.Errorf("%q: %v", odd, err)
		}
	}
	d := openChats(t, &fakeBot{}, func(c *ChatsConfig) {
		c.Origins = []string{"https://acme.example", "http://localhost:3000"}
	})
	for origin, status := range map[string]int{
		"https://acme.example": 204, "http://localhost:3000": 204,
		"https://evil.example": 403, "https://acme.example.evil.example": 403, "null": 403, "": 403,
	} {
		allowed := origin
		if status == 403 {
			allowed = ""
		}
		response, answer := d.do("OPTIONS", chatPath, "", "Origin: "+origin, "Access-Control-Request-Method: POST")
		if response.StatusCode != status || response.Header.Get("Access-Control-Allow-Origin") != allowed ||
			response.Header.Get("Vary") != "Origin" {
			t.Errorf("%s: %d %v %s", origin, response.StatusCode, response.Header, answer)
		}
		if allowed == "" {
			continue
		}
		// a page may also read why it was refused
		for body, status := range map[string]int{saying("s", "hi"): 200, "{}": 400} {
			response, _ := d.do("POST", chatPath, body, "Origin: "+origin)
			if response.StatusCode != status || response.Header.Get("Access-Control-Allow-Origin") != allowed {
				t.Errorf("%s: %d %v", origin, response.StatusCode, response.Header)
			}
		}
		response, _ = d.do("GET", chatPath+"/acme.example/s/state", "", "Origin: "+origin)
		if got := response.Header.Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("%s may read states: %q", origin, got)
		}
	}
}
