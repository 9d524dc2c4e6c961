package limit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// Visit is a message that wants to come in.
type Visit struct {
	Site *site.Site
	// Visitor is true for a message that only the public chat lets in. The limits of visitors are not for others;
	// budgets are for all.
	Visitor bool
	// IP is where it comes from; the zero value where that is not known. All of these count as one address.
	IP netip.Addr
}

// Refusal says why a message may not come in.
type Refusal struct {
	// Reason is one of site.RateLimited, TooManyTurns, SiteBusy and BudgetSpent.
	Reason string
	// After is how long until another attempt may succeed.
	After time.Duration
}

// Error returns the reason.
func (r *Refusal) Error() string { return "refused: " + r.Reason }

// turnsWait is when another turn of an address may have ended.
const turnsWait = 5 * time.Second

// Limiter lets messages in. Make it with NewGuard. It is safe for concurrent use.
type Limiter struct {
	store Store
	now   func() time.Time
	log   *slog.Logger

	mu     sync.Mutex
	salt   string
	turns  map[string]int    // under way, by address
	unsure map[string]string // by site: the day of which it was said that not all is counted
}

// NewLimiter returns a guard that counts in a store. A nil clock is time.Now.
func NewLimiter(store Store, now func() time.Time, log *slog.Logger) *Limiter {
	if now == nil {
		now = time.Now
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Limiter{store: store, now: now, log: log, turns: map[string]int{}, unsure: map[string]string{}}
}

// Enter lets a message in, or returns a *Refusal. A refused message is not counted. Another error says that the store
// is away. The caller calls leave once, with what the turn has used, also of a turn that has failed.
func (g *Limiter) Enter(ctx context.Context, v Visit) (leave func(context.Context, Used), err error) {
	free := func() {}
	if v.Visitor {
		if free, err = g.visit(ctx, v); err != nil {
			return nil, err
		}
	} else if err := g.afford(ctx, v.Site); err != nil {
		return nil, err
	}
	return func(ctx context.Context, u Used) {
		free()
		g.count(ctx, v.Site, u)
	}, nil
}

// visit lets a visitor in. What only looks comes first: a refused message takes no token from any bucket.
func (g *Limiter) visit(ctx context.Context, v Visit) (free func(), err error) {
	address, err := g.address(ctx, v.IP)
	if err != nil {
		return nil, err
	}
	if free, err = g.begin(address, v.Site.Limits.VisitorTurns); err != nil {
		return nil, err
	}
	if err = g.afford(ctx, v.Site); err == nil {
		err = g.take(ctx, v.Site, address)
	}
	if err != nil {
		free()
		return nil, err
	}
	return free, nil
}

// take takes a token from the buckets of an address and of its site.
func (g *Limiter) take(ctx context.Context, s *site.Site, address string) error {
	var buckets []Bucket
	var reasons []string
	if l := s.Limits; l.VisitorPerMinute > 0 && l.VisitorBurst > 0 {
		buckets = append(buckets, Bucket{
			"visitor " + s.Name + " " + address, time.Minute / time.Duration(l.VisitorPerMinute), l.VisitorBurst,
		})
		reasons = append(reasons, site.RateLimited)
	}
	if most := s.Limits.SitePerMinute; most > 0 {
		buckets = append(buckets, Bucket{"site " + s.Name, time.Minute / time.Duration(most), most})
		reasons = append(reasons, site.SiteBusy)
	}
	if len(buckets) == 0 {
		return nil
	}
	empty, wait, err := g.store.Acquire(ctx, g.now(), buckets...)
	if err == nil && empty >= 0 {
		err = &Refusal{reasons[empty], wait}
	}
	return err
}

// begin counts a turn of an address until free is called. Turns are counted in this process: each ends with it.
func (g *Limiter) begin(address string, most int) (free func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if most > 0 && g.turns[address] >= most {
		return nil, &Refusal{site.TooManyTurns, turnsWait}
	}
	g.turns[address]++
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.turns[address]--; g.turns[address] <= 0 {
			delete(g.turns, address)
		}
	}), nil
}

// address names an address without giving it away: by a salted hash, of IPv6 that of its network of 64 bits, as one
// visitor can have all of it.
func (g *Limiter) address(ctx context.Context, ip netip.Addr) (string, error) {
	salt, err := g.salted(ctx)
	if err != nil {
		return "", err
	}
	if ip = ip.Unmap(); ip.Is6() {
		if network, err := ip.WithZone("").Prefix(64); err == nil {
			ip = network.Addr()
		}
	}
	sum := sha256.Sum256([]byte(salt + "\n" + ip.String()))
	return hex.EncodeToString(sum[:16]), nil
}

func (g *Limiter) salted(ctx context.Context) (salt string, err error) {
	g.mu.Lock()
	salt = g.salt
	g.mu.Unlock()
	if salt != "" {
		return salt, nil
	}
	if salt, err = g.store.Salt(ctx); err != nil {
		return "", err
	}
	g.mu.Lock()
	g.salt = salt
	g.mu.Unlock()
	return salt, nil
}
