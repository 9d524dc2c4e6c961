package enrich

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Budget is how long all sources together may take.
const Budget = 2 * time.Second

// Source knows something of visitors. Implementations are safe for concurrent use.
type Source interface {
	// Lookup returns what the source knows, with the Status Completed or Partial; any other status means that it knows
	// nothing. It ends with ctx. Errors carry no secret and not the visitor's address.
	Lookup(ctx context.Context, v Visitor) (Profile, error)
}

// Saver is a Source that remembers what other sources have found, until a visitor from the same address comes again.
type Saver interface {
	Source
	// Save remembers the company of a visitor with a public address. It ends with ctx.
	Save(ctx context.Context, v Visitor, p Profile) error
}

// step is what the chain knows of a source before asking it.
type step struct {
	name  string
	limit time.Duration
	// byIP is true of sources that go by the address, and so know nothing of one that is not public.
	byIP bool
	// fresh is true of sources whose answers are worth keeping, since they do not come from something kept.
	fresh bool
	// claims is true of a source that repeats what the browser reports about itself.
	claims bool
	source Source
}

// steps returns the sources that there are, in their default order, with their limits (sitebot 2.11).
func steps() []step {
	return []step{
		{name: "cache", limit: 200 * time.Millisecond, byIP: true},
		{name: "supabase", limit: 300 * time.Millisecond, byIP: true},
		{name: claimSource, limit: Budget, claims: true}, // it is in the request: there is nothing to wait for
		{name: "snitcher", limit: 800 * time.Millisecond, fresh: true},
		{name: "enrich_so", limit: 1500 * time.Millisecond, byIP: true, fresh: true},
	}
}

// claimSource is the source of claims.
const claimSource = "reveal"

// Order returns the names of the sources in their default order: cache, supabase, reveal, snitcher, enrich_so.
func Order() []string {
	var names []string
	for _, s := range steps() {
		names = append(names, s.name)
	}
	return names
}

// Chain asks sources one after the other until one has the whole answer. It is safe for concurrent use; Close ends it.
type Chain struct {
	steps  []step
	keepIP bool
	writes *writes
}

// Options say what a Chain asks.
type Options struct {
	// Order has the names of the sources in the order in which they are asked; Order() without.
	Order []string
	// Sources are those that are configured, by name. Names in Order that are not here are skipped.
	Sources map[string]Source
	// StoreIP puts the visitor's address into profiles. Without it, none has one, whatever a source says.
	StoreIP bool
	// Failed is told of answers that could not be kept, by the name of the source that should have; nil to ignore them.
	// It is called from other goroutines.
	Failed func(source string, err error)
}

// NewChain returns a chain. A name that is unknown or stands twice is an error.
func NewChain(o Options) (*Chain, error) {
	order := o.Order
	if len(order) == 0 {
		order = Order()
	}
	all := steps()
	c := &Chain{keepIP: o.StoreIP, writes: &writes{failed: o.Failed, slots: make(chan struct{}, writesMost)}}
	for i, name := range order {
		at := slices.IndexFunc(all, func(s step) bool { return s.name == name })
		switch {
		case at < 0:
			return nil, fmt.Errorf("enrichment.sources: unknown source %q: write some of %s", name,
				strings.Join(Order(), ", "))
		case slices.Contains(order[:i], name):
			return nil, fmt.Errorf("enrichment.sources: %q stands twice: write it once, where it is to be asked", name)
		}
		if source := o.Sources[name]; source != nil {
			s := all[at]
			s.source = source
			c.steps = append(c.steps, s)
		}
	}
	return c, nil
}

// Find asks the sources for at most Budget. The first complete answer ends the search; partial ones are merged, and
// failures and exceeded limits only go into the attempts. The profile's status is Failed when no source knew anything.
// What the browser reports about itself ends no search: it is the profile's Claim, wherever its source stands in the
// order. A complete answer that is new is kept in the background by every source that can. When the caller's ctx ends
// first, the profile is empty and nothing is kept.
func (c *Chain) Find(ctx context.Context, v Visitor) (Profile, []Attempt) {
	limited, cancel := context.WithTimeout(ctx, Budget)
	defer cancel()
	var found Profile
	var claim map[string]string
	var attempts []Attempt
	for _, s := range c.steps {
		if limited.Err() != nil {
			break
		}
		p, a := s.ask(limited, v)
		attempts = append(attempts, a)
		if p.Status == "" {
			continue
		}
		if s.claims {
			claim = p.claim()
			continue
		}
		found = Merge(found, p)
		if p.Status == Completed {
			break
		}
	}
	if ctx.Err() != nil {
		return Profile{}, attempts
	}
	if last := len(attempts) - 1; found.Status == Completed && v.public() && c.fresh(attempts[last].Source) {
		c.keep(ctx, v, found.company())
	}
	found.Claim = claim
	return c.named(found, v), attempts
}

// named completes what was found with what the request itself says.
func (c *Chain) named(p Profile, v Visitor) Profile {
	p.IPAddress = ""
	if ip, ok := v.address(); ok && c.keepIP {
		p.IPAddress = ip.String()
	}
	if p.Status == "" {
		p.Status = Failed
	}
	return p
}

func (c *Chain) fresh(source string) bool {
	return slices.ContainsFunc(c.steps, func(s step) bool { return s.name == source && s.fresh })
}

// Outcome is what asking a source came to.
type Outcome string

// The outcomes. OutcomeSkipped is that of a source that goes by addresses where the visitor's is not public.
const (
	OutcomeCompleted Outcome = "completed"
	OutcomePartial   Outcome = "partial"
	OutcomeNotFound  Outcome = "not_found"
	OutcomeError     Outcome = "error"
	OutcomeSkipped   Outcome = "skipped"
)

// Attempt tells the log how it went with one source.
type Attempt struct {
	Source  string        `json:"source"`
	Outcome Outcome       `json:"outcome"`
	Took    time.Duration `json:"took_ns"`
	// Err is why the outcome is OutcomeError; it has no secret in it, nor the visitor's address.
	Err error `json:"-"`
}

// ask asks one source within its limit. The profile has a status if, and only if, the source knew something.
func (s step) ask(ctx context.Context, v Visitor) (Profile, Attempt) {
	a := Attempt{Source: s.name, Outcome: OutcomeSkipped}
	if s.byIP && !v.public() {
		return Profile{}, a
	}
	limited, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	start := time.Now()
	p, err := s.source.Lookup(limited, v)
	a.Took = time.Since(start)
	switch {
	case err != nil:
		a.Outcome, a.Err = OutcomeError, s.explain(ctx, limited, err)
		return Profile{}, a
	case p.Status == Completed:
		a.Outcome = OutcomeCompleted
	case p.Status == Partial:
		a.Outcome = OutcomePartial
	default:
		a.Outcome = OutcomeNotFound
	}
	if !s.claims && p.Source == claimSource { // an older version stored claims
		a.Outcome = OutcomeNotFound
	}
	if a.Outcome == OutcomeNotFound {
		return Profile{}, a
	}
	if !known(p.Source) {
		p.Source = s.name
	}
	return p, a
}

func (s step) explain(ctx, limited context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s: no answer within what was left of %s for all sources", s.name, Budget)
	case ctx.Err() == nil && limited.Err() != nil:
		return fmt.Errorf("%s: no answer within %s", s.name, s.limit)
	}
	return fmt.Errorf("%s: %w", s.name, err)
}
