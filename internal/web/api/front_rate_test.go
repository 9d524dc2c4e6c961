package api

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// Each token has a rate of its own, and so has each address without one. Twice a second's worth passes at once.
func TestFrontRate(t *testing.T) {
	tokens := map[string]store.Token{
		"rht_a": {Name: "a", Scopes: []string{"read"}}, "rht_b": {Name: "b", Scopes: []string{"read"}},
	}
	configured := access.Config{Token: "secret", Store: &tokenStore{tokens: tokens}}
	type sender struct{ path, peer, token, forwarded string }
	const many = 30 // more than a burst, and less than a second's worth more
	for name, c := range map[string]struct {
		access     access.Config
		trust      bool
		senders    []sender
		ok, others int // of all requests: how many pass the rate, and how many are 429
	}{
		"a token": {configured, false, []sender{{"/x", "192.0.2.1:5", "rht_a", ""}}, 20, 10},
		"from many addresses": {
			configured, false, []sender{{"/x", "192.0.2.1:5", "rht_a", ""}, {"/x", "192.0.2.2:5", "rht_a", ""}}, 20, 40,
		},
		"two tokens": {
			configured, false, []sender{{"/x", "192.0.2.1:5", "rht_a", ""}, {"/x", "192.0.2.1:5", "rht_b", ""}}, 40, 20,
		},
		"the environment's":     {configured, false, []sender{{"/x", "192.0.2.1:5", "secret", ""}}, 20, 10},
		"a token, here":         {configured, false, []sender{{"/x", "127.0.0.1:5", "rht_a", ""}}, 20, 10},
		"here, trusted":         {configured, true, []sender{{"/x", "127.0.0.1:5", "", ""}}, 30, 0},
		"a token, here, needed": {configured, true, []sender{{"/x", "127.0.0.1:5", "rht_a", ""}}, 30, 0},
		"here, none configured": {access.Config{}, false, []sender{{"/x", "127.0.0.1:5", "", ""}}, 30, 0},
		"no token":              {configured, false, []sender{{"/x", "192.0.2.1:5", "", ""}}, 20, 10},
		"no token, two": {
			configured, false, []sender{{"/x", "192.0.2.1:5", "", ""}, {"/x", "192.0.2.2:5", "", ""}}, 40, 20,
		},
		"wrong tokens": {
			configured, false, []sender{{"/x", "192.0.2.1:5", "rht_1", ""}, {"/x", "192.0.2.1:5", "rht_2", ""}}, 20, 40,
		},
		"wrong and right": {
			configured, false, []sender{{"/x", "192.0.2.1:5", "rht_1", ""}, {"/x", "192.0.2.1:5", "rht_a", ""}}, 40, 20,
		},
		"one IPv6 network": {
			configured, false, []sender{{"/x", "[2001:db8::1]:5", "", ""}, {"/x", "[2001:db8::2:1]:5", "", ""}}, 20, 40,
		},
		"two IPv6 networks": {
			configured, false, []sender{{"/x", "[2001:db8::1]:5", "", ""}, {"/x", "[2001:db8:0:1::1]:5", "", ""}}, 40,
			20,
		},
		"behind a proxy": {
			configured, false, []sender{{"/x", "10.0.0.1:5", "", "192.0.2.1"}, {"/x", "10.0.0.1:5", "", "192.0.2.2"}},
			40, 20,
		},
		"behind another": {
			configured, false, []sender{{"/x", "10.1.0.1:5", "", "192.0.2.1"}, {"/x", "10.1.0.1:5", "", "192.0.2.2"}},
			20, 40,
		},
		"health": {
			configured, false, []sender{{"/healthz", "192.0.2.1:5", "", ""}, {"/livez", "192.0.2.1:5", "", ""}}, 60, 0,
		},
		"what is public": {configured, false, []sender{{"/public", "192.0.2.1:5", "", ""}}, 30, 0},
		"here, with visitors": {
			access.Config{}, false, []sender{{"/public", "192.0.2.1:5", "", ""}, {"/x", "127.0.0.1:5", "", ""}}, 50, 10,
		},
		"elsewhere, refused": {access.Config{}, false, []sender{{"/x", "192.0.2.1:5", "", ""}}, 20, 10},
	} {
		synctest.Test(t, func(t *testing.T) { // where no time passes
			config := FrontConfig{
				Access: access.New(c.access), TrustLoopback: c.trust, Rate: 10,
				TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")},
			}
			if slices.ContainsFunc(c.senders, func(s sender) bool { return s.path == "/public" }) {
				config.Public = func(r *http.Request) bool { return r.URL.Path == "/public" }
			}
			front := Front(http.NotFoundHandler(), config)
			ok, others := 0, 0
			for _, from := range c.senders {
				for range many {
					r := httptest.NewRequest(http.MethodGet, "http://localhost"+from.path, nil)
					r.RemoteAddr = from.peer
					if from.token != "" {
						r.Header.Set("Authorization", "Bearer "+from.token)
					}
					if from.forwarded != "" {
						r.Header.Set("X-Forwarded-For", from.forwarded)
					}
					w := httptest.NewRecorder()
					front.ServeHTTP(w, r)
					if w.Code != http.StatusTooManyRequests {
						ok++
						continue
					}
					others++
					if p := decoded[Problem](t, w.Body.String()); p.Code != "rate_limited" ||
						w.Header().Get("Retry-After") != "1" {
						t.Errorf("%s: %v %s", name, w.Header(), w.Body)
					}
				}
			}
			if ok != c.ok || others != c.others {
				t.Errorf("%s: %d passed and %d were refused, want %d and %d", name, ok, others, c.ok, c.others)
			}
		})
	}
}
