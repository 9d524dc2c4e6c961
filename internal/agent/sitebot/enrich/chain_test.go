package enrich

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fake is a source that takes its time, and perhaps keeps what others find.
type fake struct {
	took    time.Duration
	profile Profile
	err     error
	asked   atomic.Int32
}

func (f *fake) Lookup(ctx context.Context, _ Visitor) (Profile, error) {
	f.asked.Add(1)
	select {
	case <-time.After(f.took):
		return f.profile, f.err
	case <-ctx.Done():
		return Profile{}, ctx.Err()
	}
}

type keeper struct {
	fake
	keepTook time.Duration
	keepErr  error
	mu       sync.Mutex
	kept     []Profile
}

func (k *keeper) Save(ctx context.Context, _ Visitor, p Profile) error {
	select {
	case <-time.After(k.keepTook):
	case <-ctx.Done():
		return ctx.Err()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = append(k.kept, p)
	return k.keepErr
}

var (
	visitor  = Visitor{SessionID: "0b9e5b0e-8a3c-4b9c-9c0a-1f0f5b0c9d11", IP: "203.0.113.7", Site: "acme.example"}
	acme     = Profile{Status: Completed, CompanyName: "Acme", CompanyDomain: "acme.example", Sector: "Software"}
	acmePart = Profile{Status: Partial, CompanyDescription: "Databases"}
	oats     = Profile{Status: Completed, Source: "reveal", CompanyName: "Oat Sisters", CompanyDomain: "oats.example"}
)

// claiming returns a profile with a claim.
func claiming(p, claim Profile) Profile {
	p.Claim = claim.claim()
	return p
}

// acmeFrom is acme as a source has told it.
func acmeFrom(source string) Profile {
	p := acme
	p.Source = source
	return p
}

func newChain(t *testing.T, sources map[string]Source, order ...string) *Chain {
	t.Helper()
	c, err := NewChain(Options{Order: order, Sources: sources})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// outcomes writes attempts as "name outcome".
func outcomes(attempts []Attempt) []string {
	var all []string
	for _, a := range attempts {
		all = append(all, a.Source+" "+string(a.Outcome))
	}
	return all
}

func TestFind(t *testing.T) {
	private := visitor
	private.IP = "10.1.2.3"
	cases := []struct {
		name    string
		visitor Visitor
		order   []string
		sources map[string]Source
		want    Profile
		tried   []string
		took    time.Duration
		// kept is what a cache is given, if anything.
		kept Profile
	}{
		{
			name: "the cache ends the search, and is not written back", visitor: visitor,
			sources: map[string]Source{"cache": &fake{profile: acme}, "supabase": &keeper{}, "snitcher": &fake{}},
			want:    acmeFrom("cache"),
			tried:   []string{"cache completed"},
		},
		{
			name: "the table is not written back either", visitor: visitor,
			sources: map[string]Source{"cache": &keeper{}, "supabase": &fake{profile: acme}},
			want:    acmeFrom("supabase"),
			tried:   []string{"cache not_found", "supabase completed"},
		},
		{
			name: "partial answers are merged and go on", visitor: visitor,
			sources: map[string]Source{
				"cache": &keeper{}, "snitcher": &fake{profile: acmePart},
				"enrich_so": &fake{profile: acme, took: 100 * time.Millisecond},
			},
			want: Profile{
				Status: Completed, Source: "enrich_so", CompanyName: "Acme", CompanyDomain: "acme.example",
				CompanyDescription: "Databases", Sector: "Software",
			},
			tried: []string{"cache not_found", "snitcher partial", "enrich_so completed"}, took: 100 * time.Millisecond,
			kept: Profile{
				Status: Completed, Source: "enrich_so", CompanyName: "Acme", CompanyDomain: "acme.example",
				CompanyDescription: "Databases", Sector: "Software",
			},
		},
		{
			name: "failures go on", visitor: visitor,
			sources: map[string]Source{
				"cache": &fake{err: errors.New("down")}, "supabase": &fake{err: errors.New("down")},
				"snitcher": &fake{profile: acmePart},
			},
			want:  Profile{Status: Partial, Source: "snitcher", CompanyDescription: "Databases"},
			tried: []string{"cache error", "supabase error", "snitcher partial"},
		},
		{
			name: "a claim ends no search and is not kept", visitor: visitor,
			order: []string{"reveal", "cache", "snitcher"},
			sources: map[string]Source{
				"cache": &keeper{}, "reveal": &fake{profile: Merge(oats, Profile{Email: "jo@oats.example"})},
				"snitcher": &fake{profile: acme},
			},
			want:  claiming(acmeFrom("snitcher"), oats),
			tried: []string{"reveal completed", "cache not_found", "snitcher completed"},
			kept:  acmeFrom("snitcher"),
		},
		{
			name: "a claim alone is not kept", visitor: visitor,
			sources: map[string]Source{"cache": &keeper{}, "supabase": &keeper{}, "reveal": &fake{profile: oats}},
			want:    claiming(Profile{Status: Failed}, oats),
			tried:   []string{"cache not_found", "supabase not_found", "reveal completed"},
		},
		{
			name: "a claim that was kept before is not read", visitor: visitor,
			sources: map[string]Source{"cache": &fake{profile: oats}, "supabase": &fake{profile: oats}},
			want:    Profile{Status: Failed},
			tried:   []string{"cache not_found", "supabase not_found"},
		},
		{
			name: "every source has its limit, and all together theirs", visitor: visitor,
			sources: map[string]Source{
				"cache": &fake{took: time.Hour}, "supabase": &fake{took: time.Hour}, "reveal": &fake{profile: oats},
				"snitcher": &fake{took: time.Hour}, "enrich_so": &fake{took: 701 * time.Millisecond, profile: acme},
			},
			want:  claiming(Profile{Status: Failed}, oats),
			tried: []string{"cache error", "supabase error", "reveal completed", "snitcher error", "enrich_so error"},
			took:  2 * time.Second,
		},
		{
			name: "enrich_so alone has 1.5 s", visitor: visitor,
			sources: map[string]Source{"enrich_so": &fake{took: time.Hour}},
			want:    Profile{Status: Failed},
			tried:   []string{"enrich_so error"}, took: 1500 * time.Millisecond,
		},
		{
			name: "a private address is asked of nobody, and nothing is kept under it", visitor: private,
			sources: map[string]Source{
				"cache": &keeper{fake: fake{profile: acme}}, "supabase": &fake{profile: acme},
				"enrich_so": &fake{profile: acme}, "snitcher": &fake{profile: acme},
			},
			want:  acmeFrom("snitcher"),
			tried: []string{"cache skipped", "supabase skipped", "snitcher completed"},
		},
		{
			name: "the site decides on the order", visitor: visitor, order: []string{"enrich_so", "cache"},
			sources: map[string]Source{
				"cache": &keeper{}, "snitcher": &fake{profile: acme}, "enrich_so": &fake{profile: acme},
			},
			want:  acmeFrom("enrich_so"),
			tried: []string{"enrich_so completed"},
			kept:  acmeFrom("enrich_so"),
		},
		{
			name: "no source and no address", visitor: Visitor{}, want: Profile{Status: Failed},
		},
		{
			name: "what a visitor has said is not kept", visitor: visitor,
			sources: map[string]Source{
				"cache": &keeper{},
				"snitcher": &fake{profile: Merge(acme, Profile{
					Email: "jo@acme.example", Intent: "buy", FeatureList: []string{"sso"},
				})},
			},
			want: Profile{
				Status: Completed, Source: "snitcher", CompanyName: "Acme", CompanyDomain: "acme.example",
				Sector: "Software", Email: "jo@acme.example", Intent: "buy", FeatureList: []string{"sso"},
			},
			tried: []string{"cache not_found", "snitcher completed"},
			kept:  acmeFrom("snitcher"),
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				chain := newChain(t, c.sources, c.order...)
				start := time.Now()
				got, attempts := chain.Find(t.Context(), c.visitor)
				if took := time.Since(start); took != c.took {
					t.Errorf("took %s, want %s", took, c.took)
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Error(d)
				}
				if d := cmp.Diff(c.tried, outcomes(attempts)); d != "" {
					t.Error(d)
				}
				if err := chain.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				var kept []Profile
				if k, ok := c.sources["cache"].(*keeper); ok {
					kept = k.kept
				}
				if k, ok := c.sources["supabase"].(*keeper); ok {
					kept = append(kept, k.kept...)
				}
				want := []Profile{c.kept}
				if c.kept.Status == "" {
					want = nil
				}
				if d := cmp.Diff(want, kept, cmpopts.EquateEmpty()); d != "" {
					t.Errorf("kept: %s", d)
				}
			})
		})
	}
}

func TestFindSaysWhatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chain := newChain(t, map[string]Source{
			"cache": &fake{took: time.Hour}, "supabase": &fake{err: errors.New("status 500")},
			"snitcher": &fake{took: time.Hour}, "enrich_so": &fake{took: time.Hour},
		}, "cache", "supabase", "enrich_so", "snitcher")
		_, attempts := chain.Find(t.Context(), visitor)
		want := []string{
			"cache: no answer within 200ms", "supabase: status 500", "enrich_so: no answer within 1.5s",
			"snitcher: no answer within what was left of 2s for all sources",
		}
		for i, a := range attempts {
			if a.Err == nil || a.Err.Error() != want[i] {
				t.Errorf("got %v, want %s", a.Err, want[i])
			}
		}
	})
}

func TestFindCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := &keeper{}
		late := &fake{}
		chain := newChain(t, map[string]Source{
			"cache": cache, "reveal": &fake{profile: acmePart}, "snitcher": &fake{took: time.Second}, "enrich_so": late,
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		start := time.Now()
		got, _ := chain.Find(ctx, visitor)
		if took := time.Since(start); took != 10*time.Millisecond {
			t.Errorf("took %s", took)
		}
		if d := cmp.Diff(Profile{}, got); d != "" {
			t.Error(d)
		}
		if err := chain.Close(t.Context()); err != nil || len(cache.kept) > 0 || late.asked.Load() > 0 {
			t.Errorf("%v; kept %v, asked on %d", err, cache.kept, late.asked.Load())
		}
	})
}

func TestNewChain(t *testing.T) {
	if want := []string{"cache", "supabase", "reveal", "snitcher", "enrich_so"}; !slices.Equal(Order(), want) {
		t.Errorf("the order is %v", Order())
	}
	for _, c := range []struct {
		order []string
		want  string
	}{
		{[]string{"cache", "clearbit"}, `unknown source "clearbit": write some of cache, supabase`},
		{[]string{"cache", "cache"}, `"cache" stands twice`},
	} {
		if _, err := NewChain(Options{Order: c.order}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v", c.order, err)
		}
	}
}

// An address is in the profile where the site keeps it, and nowhere else, whatever a source says.
func TestKeepIP(t *testing.T) {
	for keep, want := range map[bool]string{false: "", true: "203.0.113.7"} {
		told := acme
		told.IPAddress = "198.51.100.1"
		c, err := NewChain(Options{
			StoreIP: keep, Sources: map[string]Source{"reveal": &fake{profile: told}, "snitcher": &fake{profile: told}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := c.Find(t.Context(), visitor); got.IPAddress != want || got.CompanyName != "Acme" ||
			got.Claim["company_name"] != "Acme" || got.Claim["ip_address"] != "" {
			t.Errorf("keep_ip %v: %+v", keep, got)
		}
	}
}
