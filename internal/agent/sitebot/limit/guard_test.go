package limit_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// door is a guard with a clock that the test turns.
type door struct {
	*limit.Limiter
	t   *testing.T
	now time.Time
	log strings.Builder
}

func newDoor(t *testing.T) *door {
	d := &door{t: t, now: time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC)}
	d.Limiter = limit.NewLimiter(&limit.Memory{}, func() time.Time { return d.now },
		slog.New(slog.NewTextHandler(&d.log, nil)))
	return d
}

// shop is a site with limits.
func shop(t *testing.T, limits string) *site.Site {
	t.Helper()
	s, err := site.Load("shop.yaml", []byte("site: shop.example\nlimits: "+limits))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type leave func(context.Context, limit.Used)

// enter returns how to leave, or why not and for how long.
func (d *door) enter(s *site.Site, address string) (leave, string, time.Duration) {
	d.t.Helper()
	v := limit.Visit{Site: s}
	if address != "" {
		v.Visitor, v.IP = true, netip.MustParseAddr(address)
	}
	left, err := d.Enter(d.t.Context(), v)
	refusal, refused := errors.AsType[*limit.Refusal](err)
	switch {
	case refused && refusal.After <= 0:
		d.t.Errorf("%s: no wait", refusal.Reason)
	case err != nil && !refused:
		d.t.Fatal(err)
	}
	if refused {
		return nil, refusal.Reason, refusal.After
	}
	return left, "", 0
}

func (d *door) passes(s *site.Site, address string) bool {
	left, _, _ := d.enter(s, address)
	if left == nil {
		return false
	}
	left(d.t.Context(), limit.Used{})
	return true
}

func (d *door) wants(s *site.Site, address, reason string, wait time.Duration) {
	d.t.Helper()
	if _, got, after := d.enter(s, address); got != reason || after != wait {
		d.t.Errorf("%s: %q for %v, want %q for %v", address, got, after, reason, wait)
	}
}

func TestVisitorsAreToldApart(t *testing.T) {
	d, s := newDoor(t), shop(t, "{visitor_per_minute: 6, visitor_burst: 2}")
	for range 2 {
		if !d.passes(s, "192.0.2.1") || !d.passes(s, "2001:db8:1:2:aaaa::1") {
			t.Fatal("the burst is refused")
		}
	}
	d.wants(s, "192.0.2.1", "rate_limited", 10*time.Second)
	d.wants(s, "::ffff:192.0.2.1", "rate_limited", 10*time.Second) // the same address
	d.wants(s, "2001:db8:1:2:bbbb::9", "rate_limited", 10*time.Second)
	if !d.passes(s, "192.0.2.2") || !d.passes(s, "2001:db8:1:3::1") {
		t.Error("another address is refused")
	}
	if !d.passes(s, "") {
		t.Error("one who is no visitor is refused")
	}
	other := *s
	other.Name = "other.example"
	if !d.passes(&other, "192.0.2.1") {
		t.Error("another site shares the bucket")
	}
	d.now = d.now.Add(10 * time.Second)
	if !d.passes(s, "192.0.2.1") || d.passes(s, "192.0.2.1") {
		t.Error("after the wait there is not one token")
	}
}

func TestTurnsUnderWay(t *testing.T) {
	d, s := newDoor(t), shop(t, "{visitor_turns: 2, visitor_per_minute: 1, visitor_burst: 4}")
	first, _, _ := d.enter(s, "192.0.2.1")
	second, _, _ := d.enter(s, "192.0.2.1")
	for range 10 { // it costs no token of the bucket
		d.wants(s, "192.0.2.1", "too_many_turns", 5*time.Second)
	}
	if !d.passes(s, "192.0.2.2") || !d.passes(s, "") {
		t.Error("others are refused")
	}
	first(t.Context(), limit.Used{})
	first(t.Context(), limit.Used{}) // twice frees one place
	if !d.passes(s, "192.0.2.1") {
		t.Error("no place after the first turn")
	}
	third, _, _ := d.enter(s, "192.0.2.1")
	if third == nil {
		t.Fatal("no place after the third turn")
	}
	d.wants(s, "192.0.2.1", "too_many_turns", 5*time.Second)
	second(t.Context(), limit.Used{})
	third(t.Context(), limit.Used{})
	d.wants(s, "192.0.2.1", "rate_limited", time.Minute)
}

func TestSiteBucket(t *testing.T) {
	d, s := newDoor(t), shop(t, "{site_per_minute: 3, visitor_per_minute: 1, visitor_burst: 2}")
	for i := range 3 {
		if !d.passes(s, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}).String()) {
			t.Fatal("refused")
		}
	}
	d.wants(s, "192.0.2.2", "site_busy", 20*time.Second)
	if !d.passes(s, "") {
		t.Error("one who is no visitor is refused")
	}
	d.now = d.now.Add(20 * time.Second)
	if !d.passes(s, "192.0.2.2") {
		t.Error("the refused message has cost the visitor a token")
	}
}

func TestZeroIsOff(t *testing.T) {
	d, s := newDoor(t), shop(t, "{visitor_per_minute: 0, visitor_turns: 0, site_per_minute: 0}")
	for range 1000 {
		if left, why, _ := d.enter(s, "192.0.2.1"); left == nil {
			t.Fatal(why)
		}
	}
}

func TestBudgets(t *testing.T) {
	for name, c := range map[string]struct {
		limits string
		use    limit.Spent
	}{
		"tokens":  {"{tokens_per_day: 1000}", limit.Spent{Tokens: 400}},
		"dollars": {"{cost_per_day: 0.01}", limit.Spent{Tokens: 1, CostUSD: 0.004}},
	} {
		t.Run(name, func(t *testing.T) {
			d, s := newDoor(t), shop(t, c.limits)
			for i, who := range []string{"", "192.0.2.1", ""} { // all turns count, and the one that goes over ends well
				left, why, _ := d.enter(s, who)
				if left == nil {
					t.Fatalf("turn %d: %s", i, why)
				}
				gone, cancel := context.WithCancel(t.Context())
				cancel() // that the visitor has left makes no difference
				left(gone, limit.Used{Spent: c.use})
			}
			d.wants(s, "192.0.2.1", "budget_spent", time.Hour)
			d.wants(s, "", "budget_spent", time.Hour)
			d.now = d.now.Add(time.Hour)
			if !d.passes(s, "192.0.2.1") {
				t.Error("the next day is refused")
			}
			if d.log.Len() != 0 {
				t.Error(d.log.String())
			}
		})
	}
}

// What a budget cannot see is said: once a day.
func TestBudgetsThatDoNotSee(t *testing.T) {
	d := newDoor(t)
	for _, s := range []*site.Site{shop(t, "{cost_per_day: 1}"), shop(t, "{tokens_per_day: 100}"), shop(t, "{}")} {
		other := *s
		other.Name = strings.Repeat("x", int(s.Limits.CostPerDay)+2) + ".example"
		for range 3 {
			left, _, _ := d.enter(&other, "192.0.2.1")
			left(t.Context(), limit.Used{CostUnknown: true, TokensUnknown: s.Limits.TokensPerDay > 0})
		}
	}
	if n := strings.Count(d.log.String(), "level=WARN"); n != 2 {
		t.Errorf("%d warnings: %s", n, d.log.String())
	}
}

// awayStore fails.
type awayStore struct{ limit.Store }

func (awayStore) Salt(context.Context) (string, error) { return "", errors.New("away") }

// A store that is away lets no visitor in: else a flood that brings it down would have no limits.
func TestStoreAway(t *testing.T) {
	g := limit.NewLimiter(awayStore{}, nil, nil)
	if _, err := g.Enter(t.Context(), limit.Visit{Site: shop(t, "{}"), Visitor: true}); err == nil ||
		errors.As(err, new(*limit.Refusal)) {
		t.Errorf("%v", err)
	}
	if _, err := g.Enter(t.Context(), limit.Visit{Site: shop(t, "{}")}); err != nil {
		t.Errorf("one without limits: %v", err)
	}
}
