package api

import (
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestChatRefuses(t *testing.T) {
	bot := &fakeBot{}
	d := openChats(t, bot)
	long, deep := strings.Repeat("x", 300), strings.Repeat(`{"a":`, 20_000)+"1"+strings.Repeat("}", 20_000)
	for name, c := range map[string]struct {
		body          string
		status        int
		code, pointer string
		headers       []string
	}{
		"broken":           {`{`, 400, "invalid_request", "", nil},
		"empty":            {``, 400, "invalid_request", "", nil},
		"null":             {`null`, 400, "invalid_request", "/site_name", nil},
		"a list":           {`[]`, 400, "invalid_request", "", nil},
		"trailing":         {saying("s", "hi") + "{}", 400, "invalid_request", "", nil},
		"unknown field":    {saying("s", "hi", `"model":"gpt"`), 400, "invalid_request", "/model", nil},
		"typed":            {saying("s", "hi", `"language":7`), 400, "invalid_request", "/language", nil},
		"no site":          {`{"session_id":"s","input":"x"}`, 400, "invalid_request", "/site_name", nil},
		"no session":       {`{"site_name":"acme.example","input":"x"}`, 400, "invalid_request", "/session_id", nil},
		"blank session":    {saying(" ", "hi"), 400, "invalid_request", "/session_id", nil},
		"odd session":      {saying(`a\u0000b`, "hi"), 400, "invalid_request", "/session_id", nil},
		"turned session":   {saying(`a\u202eb`, "hi"), 400, "invalid_request", "/session_id", nil},
		"long session":     {saying(long, "hi"), 400, "invalid_request", "/session_id", nil},
		"long person":      {saying("s", "hi", `"person_id":"`+long+`"`), 400, "invalid_request", "/person_id", nil},
		"no input":         {`{"site_name":"acme.example","session_id":"s"}`, 400, "invalid_request", "/input", nil},
		"blank input":      {saying("s", " \n\t\u00a0"), 400, "invalid_request", "/input", nil},
		"bad UTF-8":        {strings.Replace(saying("s", "hi"), "hi", "h\xffi", 1), 400, "invalid_request", "", nil},
		"reveal of a list": {saying("s", "hi", `"reveal":[1]`), 400, "invalid_request", "/reveal", nil},
		"large reveal": {
			saying("s", "hi", `"reveal":{"x":"`+strings.Repeat("x", 70_000)+`"}`), 400, "invalid_request", "/reveal",
			nil,
		},
		"deep":         {saying("s", "hi", `"reveal":`+deep), 400, "invalid_request", "", nil},
		"unknown site": {strings.Replace(saying("s", "hi"), "acme", "<b>acme", 1), 404, "unknown_site", "", nil},
		"2 MB":         {saying("s", strings.Repeat("x", 2<<20)), 413, "too_large", "", nil},
		"media type": {
			saying("s", "hi"), 415, "unsupported_media_type", "", []string{"Content-Type: text/plain"},
		},
		"another's page":  {saying("s", "hi"), 403, "forbidden", "", []string{"Origin: https://evil.example"}},
		"through a proxy": {saying("s", "hi"), 403, "forbidden", "", []string{"X-Forwarded-For: 127.0.0.1"}},
		"a page in a frame": {
			saying("s", "hi"), 403, "forbidden", "", []string{"Sec-Fetch-Site: cross-site", "Origin: null"},
		},
	} {
		for _, headers := range [][]string{c.headers, append([]string{"Accept: application/json"}, c.headers...)} {
			p := want[Problem](d, c.status, "POST", chatPath, c.body, headers...)
			if p.Code != c.code || pointerText(p) != c.pointer || p.Detail == "" || c.status != 404 && p.Hint == "" {
				t.Errorf("%s: problem %+v, pointer %q", name, p, pointerText(p))
			}
		}
	}
	if n := len(bot.requests()); n != 0 {
		t.Errorf("%d turns", n)
	}
	want[Problem](d, 405, "GET", chatPath, "")
	want[Problem](d, 404, "POST", chatPath+"/elsewhere", "{}")
}

func TestChatTakesNullAndForms(t *testing.T) {
	bot := &fakeBot{}
	d := openChats(t, bot)
	body := saying("s", "hi", `"reveal":null`, `"person_id":null`)
	if response, answer := d.do("POST", chatPath, body,
		"Content-Type: application/x-www-form-urlencoded"); response.StatusCode != 200 {
		t.Error(answer)
	}
	if got := bot.requests()[0]; got.Reveal != nil || got.PersonID != "" {
		t.Errorf("%+v", got)
	}
}

func TestVisitorIP(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, c := range map[string]struct {
		peer      string
		forwarded []string
		trusted   []netip.Prefix
		want      string
	}{
		"direct":                    {"192.0.2.1:5", nil, nil, "192.0.2.1"},
		"claimed":                   {"192.0.2.1:5", []string{"198.51.100.7"}, nil, "192.0.2.1"},
		"claimed to a proxy's user": {"192.0.2.1:5", []string{"198.51.100.7"}, proxies, "192.0.2.1"},
		"through a proxy":           {"10.0.0.1:5", []string{"198.51.100.7"}, proxies, "198.51.100.7"},
		"the visitor lies":          {"10.0.0.1:5", []string{"127.0.0.1, 198.51.100.7"}, proxies, "198.51.100.7"},
		"two proxies": {
			"[fd00::1]:5", []string{"1.1.1.1, 198.51.100.7", "10.9.9.9"}, proxies, "198.51.100.7",
		},
		"from inside":            {"10.0.0.1:5", []string{"10.1.1.1"}, proxies, "10.1.1.1"},
		"with a port":            {"10.0.0.1:5", []string{"198.51.100.7:80"}, proxies, "198.51.100.7"},
		"IPv6":                   {"10.0.0.1:5", []string{"[2001:db8::7]:80"}, proxies, "2001:db8::7"},
		"IPv6 in brackets":       {"10.0.0.1:5", []string{"[2001:db8::7]"}, proxies, "2001:db8::7"},
		"IPv4 in IPv6":           {"[::ffff:10.0.0.1]:5", []string{"::ffff:198.51.100.7"}, proxies, "198.51.100.7"},
		"the proxy says nothing": {"10.0.0.1:5", []string{""}, proxies, "10.0.0.1"},
		"the proxy says rubbish": {"10.0.0.1:5", []string{"198.51.100.7, unknown"}, proxies, "invalid IP"},
		"a socket":               {"@", []string{"198.51.100.7"}, proxies, "invalid IP"},
	} {
		r := httptest.NewRequest("POST", chatPath, nil)
		r.RemoteAddr = c.peer
		r.Header["X-Forwarded-For"] = c.forwarded
		if got := visitorIP(r, c.trusted).String(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
