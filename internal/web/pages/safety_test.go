package pages_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// bad is what no page may take at its word.
const bad = "\"'><script src=//evil.example/x.js></script><img src=x onerror=alert(1)>{{.}}\u202e\x1b[2J</title></style></main>javascript:alert(1)[a](javascript:alert(1))![p](//evil.example/p.png)"

// Whatever is hostile in a run is shown and does nothing: common() looks at every element of every page.
func TestHostile(t *testing.T) {
	s := newSite(t)
	x := test(bad, bad, bad, bad, bad)
	x.Tags, x.Metadata, x.SessionID = []string{bad}, map[string]any{bad: bad}, bad
	x.Turns[0].ToolCalls = []chat.ToolCall{{
		Name: bad, Args: json.RawMessage(`{"a":` + mustJSON(bad) + `}`), Result: json.RawMessage(mustJSON(bad)),
	}}
	x.Turns[0].State = json.RawMessage(`{` + mustJSON(bad) + `:` + mustJSON(bad) + `,"facts":{` +
		mustJSON(bad) + `:1}}`)
	x.Turns[0].Node, x.Turns[0].TraceID, x.Turns[0].TurnID = bad, bad, bad
	x.Turns[0].Input = chat.Content{Blocks: []chat.Block{
		{Type: "image", Value: "https://evil.example/a.png"},
		{Type: "image", Value: "data:image/svg+xml;base64,AAAA"},
		{Type: "text", Value: bad},
	}}
	x.Output = []chat.Message{chat.NewMessage(chat.Role(bad), bad)}
	failed(x, result.Code(bad), bad, result.Assertion{
		Text: bad, Evidence: `"` + bad + `"`, Grader: bad, Voters: []result.Voter{{Model: bad, Reasoning: bad}},
	})
	s.put(result.Run{
		ID: "r", Targets: []string{bad, "u"}, Suites: []string{bad}, Judge: bad,
		ExitMessage: bad, Warnings: []string{bad}, RegradedFrom: bad, ExitCode: new(1),
		ExitReason: bad, NotRun: []result.Key{{Suite: bad, TestID: bad + "2", Target: bad}},
	}, x)
	for _, path := range []string{
		"/runs", "/runs/r", "/runs/r/tests/" + url.PathEscape(bad),
		"/runs/r/tests/" + url.PathEscape(bad) + "?view=raw",
		"/runs" + query("q", bad, "suite", bad, "state", bad, "since", bad),
		"/runs/r" + query("q", bad, "verdict", bad, "group", "tag", "sort", bad),
		"/runs/r/tests/" + url.PathEscape(bad) + query("from", bad),
	} {
		page := s.get(200, path)
		if w := page.Words(); strings.ContainsAny(w, "\u202e\x1b") {
			t.Errorf("%s: a character that is not shown as one", path)
		}
	}
	s.get(404, "/runs/"+url.PathEscape(bad))
	s.get(404, "/runs/r/tests/"+url.PathEscape(bad)+query("trial", bad))
	shown := s.get(200, "/runs/r/tests/"+url.PathEscape(bad)).One("data-turn=1")
	if !strings.Contains(shown.One("data-role=assistant").Words(), "<script src=//evil.example/x.js></script>") {
		t.Error("HTML is not shown as text")
	}
}

func mustJSON(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestHeaders(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{"/runs", "/nope"} {
		response, _ := s.answer("GET", path, nil, nil)
		policy := response.Header.Get("Content-Security-Policy")
		for _, part := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:",
			"form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
		} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: no %s", path, part)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Error(policy)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			if got := response.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
	page := s.get(404, "/nope")
	for _, at := range []string{page.One("rel=stylesheet").Attr["href"], page.One("<script>").Attr["src"]} {
		response, text := s.answer("GET", at, nil, nil)
		if response.StatusCode != 200 || !strings.Contains(response.Header.Get("Cache-Control"), "immutable") ||
			len(text) < 100 || len(text) > 150_000 {
			t.Errorf("%s: %s, %d bytes", at, response.Status, len(text))
		}
	}
	if response, text := s.answer("GET", "/healthz", nil, nil); response.StatusCode != 200 || text != "ok\n" {
		t.Error(response.Status, text)
	}
}

func TestHosts(t *testing.T) {
	web := httptest.NewServer(pages.New(pages.Config{
		Runs: runindex.New(nil), Frame: frame.Config{Hosts: []string{"ci.example"}},
	}))
	defer web.Close()
	s := &site{t: t, web: web}
	port := web.URL[strings.LastIndex(web.URL, ":"):]
	for host, want := range map[string]int{
		"127.0.0.1" + port: 200, "localhost" + port: 200, "LOCALHOST": 200, "ci.example": 200, "CI.example:443": 200,
		"evil.example": 403, "evil.example" + port: 403, "10.0.0.7": 403, "localhost.evil.example": 403,
		"127.0.0.1.evil.example" + port: 403, "0.0.0.0" + port: 403, "[::1]" + port: 403,
	} {
		if response, _ := s.answer("GET", "/runs", http.Header{"Host": {host}}, nil); response.StatusCode != want {
			t.Errorf("%s: %s, want %d", host, response.Status, want)
		}
	}
}

func TestMethods(t *testing.T) {
	s := newSite(t)
	for method, want := range map[string]int{"PUT": 405, "DELETE": 405, "POST": 403, "HEAD": 200} {
		if response, _ := s.answer(method, "/runs", nil, nil); response.StatusCode != want {
			t.Errorf("%s: %s", method, response.Status)
		}
	}
}

// A body of more than 1 MB is refused, of whatever kind it is, also where nobody has shown a token yet.
func TestLargeBodies(t *testing.T) {
	guarded := newSiteOf(t, func(c *pages.Config) {
		c.Frame.Guard = pages.Tokens{Authenticator: access.New(access.Config{Token: "rht_secret"})}
	})
	for path, s := range map[string]*site{"/runs": newSite(t), "/login": guarded} {
		for _, kind := range []string{
			"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain",
		} {
			body := "--x\r\nContent-Disposition: form-data; name=\"to\"\r\n\r\n" + strings.Repeat("x", 2<<20) +
				"\r\n--x--\r\n"
			if response, _ := s.answer("POST", path, http.Header{"Content-Type": {kind}},
				strings.NewReader(body)); response.StatusCode != 413 {
				t.Errorf("%s, %s: %s", path, kind, response.Status)
			}
		}
	}
}

// With a token, a page leads to the login, which sets a cookie that opens pages. No address has the token in it.
func TestLogin(t *testing.T) {
	guard := pages.Tokens{Authenticator: access.New(access.Config{Token: "rht_secret"})}
	web := httptest.NewServer(pages.New(pages.Config{Runs: runindex.New(nil), Frame: frame.Config{Guard: guard}}))
	defer web.Close()
	s := &site{t: t, web: web}
	response, _ := s.answer("GET", "/runs?q=a%26b", nil, nil)
	if response.StatusCode != 303 || response.Header.Get("Location") != "/login?to=%2Fruns%3Fq%3Da%2526b" {
		t.Fatalf("%s %s", response.Status, response.Header.Get("Location"))
	}
	if response, _ := s.answer("GET", "/runs", http.Header{"Authorization": {"Bearer rht_secret"}},
		nil); response.StatusCode != 200 {
		t.Error(response.Status)
	}
	if response, _ := s.answer("GET", "/runs", http.Header{"Authorization": {"Bearer wrong"}},
		nil); response.StatusCode != 303 {
		t.Error(response.Status)
	}
	response, text := s.answer("GET", response.Header.Get("Location"), nil, nil)
	form := s.get(200, "/login").One("data-form=login")
	if form.Attr["method"] != "post" || form.One("name=csrf").Attr["value"] == "" {
		t.Error("no form")
	}
	cookie := response.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode {
		t.Errorf("%v", cookie)
	}
	value := text[strings.Index(text, `name="csrf" value="`)+len(`name="csrf" value="`):]
	value = value[:strings.Index(value, `"`)]
	post := func(csrf, token, to, origin string) *http.Response {
		head := http.Header{
			"Content-Type": {"application/x-www-form-urlencoded"},
			"Cookie":       {cookie.Name + "=" + cookie.Value},
		}
		if origin != "" {
			head.Set("Origin", origin)
		}
		response, _ := s.answer("POST", "/login", head,
			strings.NewReader(url.Values{"csrf": {csrf}, "token": {token}, "to": {to}}.Encode()))
		return response
	}
	for _, tc := range []struct {
		csrf, token, to, origin string
		status                  int
		location                string
	}{
		{value, "rht_secret", "/runs?q=1", "", 303, "/runs?q=1"},
		{value, " rht_secret ", "/runs", web.URL, 303, "/runs"},
		{value, "rht_secret", "https://evil.example/", "", 303, "/runs"},
		{value, "rht_secret", "//evil.example", "", 303, "/runs"},
		{value, "rht_secret", `/\evil.example`, "", 303, "/runs"},
		{value, "wrong", "/runs", "", 401, ""},
		{value, "", "/runs", "", 401, ""},
		{"x", "rht_secret", "/runs", "", 403, ""},
		{"", "rht_secret", "/runs", "", 403, ""},
		{value, "rht_secret", "/runs", "https://evil.example", 403, ""},
		{value, "rht_secret", "/runs", "null", 403, ""},
	} {
		response := post(tc.csrf, tc.token, tc.to, tc.origin)
		if response.StatusCode != tc.status || response.Header.Get("Location") != tc.location ||
			(len(response.Cookies()) > 0) != (tc.status == 303) {
			t.Errorf("%+v: %s %s %v", tc, response.Status, response.Header.Get("Location"), response.Cookies())
		}
	}
	token := post(value, "rht_secret", "/runs", "").Cookies()[0]
	if !token.HttpOnly || token.SameSite != http.SameSiteStrictMode {
		t.Errorf("%v", token)
	}
	if response, _ := s.answer("GET", "/runs", http.Header{"Cookie": {
		token.Name + "=" + token.Value,
	}}, nil); response.StatusCode != 200 {
		t.Error(response.Status)
	}
	if response, _ := s.answer("GET", "/healthz", nil, nil); response.StatusCode != 200 {
		t.Error("the health check asks for a token")
	}
}

// looking admits everybody to pages and nobody to forms.
type looking struct{}

func (looking) Admits(_ *http.Request, _ string, post bool) error {
	if post {
		return errors.New("no")
	}
	return nil
}

// Whoever may look and not send forms sees none.
func TestNoFormsWithoutTheirScope(t *testing.T) {
	s := newSiteOf(t, func(c *pages.Config) {
		c.Frame.Guard = looking{}
		c.Make = func(context.Context) (*pages.Stored, error) { return &pages.Stored{}, nil }
	})
	s.put(result.Run{ID: "r", Targets: []string{"t"}}, test("shop", "a", "t", "Hi", "Hello"))
	for _, address := range []string{"/runs", "/runs/r", "/runs/r/tests/a", "/judge"} {
		if forms := s.get(200, address).All("method=post"); len(forms) > 0 {
			t.Errorf("%s has %d forms that its reader may not send", address, len(forms))
		}
	}
}

// Whoever may look and sends a form is told what it needs, not to log in.
func TestFormWithoutItsScope(t *testing.T) {
	s := newSiteOf(t, func(c *pages.Config) { c.Frame.Guard = looking{} })
	response, page := s.answer("POST", "/runs", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
		strings.NewReader("a=b"))
	if response.StatusCode != 403 || !strings.Contains(page, "needs the scope run") {
		t.Errorf("%s\n%s", response.Status, page)
	}
}
