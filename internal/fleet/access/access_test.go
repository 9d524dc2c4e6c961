package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// memory keeps tokens, and counts how often it was read.
type memory struct {
	tokens map[[sha256.Size]byte]store.Token
	reads  int
	err    error
}

func newMemory() *memory { return &memory{tokens: map[[sha256.Size]byte]store.Token{}} }

func (m *memory) TokenHashes(context.Context) (map[[sha256.Size]byte]store.Token, error) {
	m.reads++
	copied := map[[sha256.Size]byte]store.Token{}
	maps.Copy(copied, m.tokens)
	return copied, m.err
}

func (m *memory) CreateToken(_ context.Context, t store.Token, hash [sha256.Size]byte) (store.Token, error) {
	for _, kept := range m.tokens {
		if kept.Name == t.Name {
			return t, fmt.Errorf("there is one: %w", store.ErrExists)
		}
	}
	m.tokens[hash] = t
	return t, m.err
}

func (m *memory) Tokens(context.Context, store.PageOf) (store.Page[store.Token], error) {
	return store.Page[store.Token]{}, m.err
}

func (m *memory) DeleteToken(_ context.Context, name string) error {
	for hash, t := range m.tokens {
		if t.Name == name {
			delete(m.tokens, hash)
			return m.err
		}
	}
	return fmt.Errorf("no token: %w", store.ErrUnknown)
}

func TestScopesOpen(t *testing.T) {
	for _, c := range []struct {
		has, opens Scopes
	}{
		{Scopes{Read}, Scopes{Read}},
		{Scopes{Run}, Scopes{Read, Run}},
		{Scopes{Test}, Scopes{Test}},
		{Scopes{Admin}, Scopes{Read, Run, Test, Admin}},
		{Scopes{Test, Read}, Scopes{Read, Test}},
		{nil, nil},
		{Scopes{""}, nil},
		{Scopes{"root"}, nil},
	} {
		for _, needed := range []Scope{Read, Run, Test, Admin, ""} {
			if got, want := c.has.Open(needed), slices.Contains(c.opens, needed) ||
				slices.Contains(c.has, Admin); got != want {
				t.Errorf("%v opens %q: %v", c.has, needed, got)
			}
		}
	}
}

func TestParseScopes(t *testing.T) {
	for names, want := range map[string]string{
		"read": "read", "test,read,test": "read, test", "admin,run": "run, admin",
		"": `there is no scope ""`, "Read": `there is no scope "Read": use read, run, test, admin`,
		"read,write": `"write"`,
	} {
		got, err := ParseScopes(strings.Split(names, ","))
		if said := got.String() + fmt.Sprint(err); !strings.Contains(said, want) {
			t.Errorf("%q: %s", names, said)
		}
	}
	if _, err := ParseScopes(nil); err == nil {
		t.Error("a token without a scope")
	}
}

func TestIssue(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	kept := newMemory()
	seen := map[string]bool{}
	for i := range 50 {
		made, token, err := Issue(t.Context(), kept, Wish{Scopes: []string{"read"}}, now)
		if err != nil || made.Name == "" || made.ExpiresAt != nil || !strings.HasPrefix(token, "rht_") ||
			len(token) != len("rht_")+43 || seen[token] {
			t.Fatalf("%d: %+v %v", i, made, err)
		}
		seen[token] = true
		if kept.tokens[store.HashToken(token)].Name != made.Name {
			t.Error("the token is not kept under its hash")
		}
		if strings.Contains(fmt.Sprintf("%+v", kept.tokens), token) {
			t.Error("the store has the token")
		}
	}
	for name, w := range map[string]Wish{
		"scopes": {Scopes: nil}, "scopes ": {Scopes: []string{"root"}},
		"expires":  {Scopes: []string{"read"}, Expires: now},
		"expires ": {Scopes: []string{"read"}, Expires: now.AddDate(101, 0, 0)},
		"name":     {Scopes: []string{"read"}, Name: "a/b"},
		"name ":    {Scopes: []string{"read"}, Name: strings.Repeat("x", 101)},
		"name  ":   {Scopes: []string{"read"}, Name: "a\x1b[31m"},
		"name   ":  {Scopes: []string{"read"}, Name: " a"}, "name    ": {Scopes: []string{"read"}, Name: ".."},
		"name     ": {Scopes: []string{"read"}, Name: "\xff"},
	} {
		_, token, err := Issue(t.Context(), kept, w, now)
		if wish, ok := errors.AsType[*WishError](err); !ok || wish.Field != strings.TrimSpace(name) || token != "" ||
			!source.IsInvalid(err) {
			t.Errorf("%+v: %q %v", w, token, err)
		}
	}
	again := Wish{Name: "ci", Scopes: []string{"run"}, Expires: now.Add(time.Hour)}
	if made, _, err := Issue(t.Context(), kept, again, now); err != nil || !made.ExpiresAt.Equal(again.Expires) {
		t.Errorf("%+v %v", made, err)
	}
	if _, token, err := Issue(t.Context(), kept, again, now); !errors.Is(err, store.ErrExists) ||
		!source.IsInvalid(err) || token != "" {
		t.Error(err)
	}
	if err := Revoke(t.Context(), kept, "ci"); err != nil {
		t.Error(err)
	}
	if err := Revoke(t.Context(), kept, "ci"); !errors.Is(err, store.ErrUnknown) || !source.IsInvalid(err) {
		t.Error(err)
	}
	kept.err = errors.New("away")
	if err := Revoke(t.Context(), kept, "none"); !source.IsInvalid(err) {
		t.Error(err)
	}
}

// A token that expires is refused from that moment on; one that is made or removed counts, or counts no more, within 5
// s, on every server of the store.
func TestChangesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := newMemory()
		servers := []*Authenticator{New(Config{Store: kept}), New(Config{Store: kept, Token: "secret"})}
		all := func(token string, want error) {
			t.Helper()
			for i, a := range servers {
				if _, err := a.Authenticate(token); !errors.Is(err, want) {
					t.Errorf("server %d: %v, want %v", i, err, want)
				}
			}
		}
		if configured, err := servers[0].Configured(); configured || err != nil {
			t.Error(configured, err)
		}
		all("rht_1", ErrUnknown)
		_, token, err := Issue(t.Context(), kept, Wish{
			Name: "ci", Scopes: []string{"run"}, Expires: time.Now().Add(time.Minute),
		}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		all(token, nil)
		for _, a := range servers {
			if g, err := a.Authenticate(token); err != nil || g.Token != "ci" || !g.Allows(Read) || !g.Allows(Run) ||
				g.Allows(Test) || g.Allows(Admin) || g.Open {
				t.Errorf("%+v %v", g, err)
			}
			if configured, err := a.Configured(); !configured || err != nil {
				t.Error(configured, err)
			}
		}
		time.Sleep(55*time.Second - time.Nanosecond)
		all(token, nil)
		time.Sleep(time.Nanosecond)
		all(token, ErrExpired)
		if configured, err := servers[0].Configured(); !configured || err != nil {
			t.Error("an expired token opens the server to everybody here", err)
		}
		if err := Revoke(t.Context(), kept, "ci"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		all(token, ErrUnknown)
		all("", ErrUnknown)
		if g, err := servers[1].Authenticate("secret"); err != nil || !g.Allows(Admin) {
			t.Error(g, err)
		}
		if configured, _ := servers[0].Configured(); configured {
			t.Error("the last token is gone")
		}
		// The server that has changed a token knows it at once.
		_, token, _ = Issue(t.Context(), kept, Wish{Scopes: []string{"read"}}, time.Now())
		servers[0].Forget()
		if _, err := servers[0].Authenticate(token); err != nil {
			t.Error(err)
		}
	})
}

// Whoever sends unknown tokens causes one query a second at most, also while the store is away.
func TestUnknownTokensAreCheap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, away := range []error{nil, errors.New("away")} {
			kept := newMemory()
			kept.err = away
			a := New(Config{Store: kept})
			for i := range 10_000 {
				_, err := a.Authenticate(fmt.Sprint("rht_", i))
				if errors.Is(err, ErrUnknown) != (away == nil) || err == nil {
					t.Fatal(err)
				}
				if i%1000 == 999 {
					time.Sleep(time.Second)
				}
			}
			if kept.reads != 10 || len(a.tokens) > 0 {
				t.Errorf("%d reads, %d tokens", kept.reads, len(a.tokens))
			}
			kept.err = nil
			if _, err := a.Authenticate("rht_x"); !errors.Is(err, ErrUnknown) {
				t.Error("the store is back:", err)
			}
		}
	})
}

// Requests that come while a store hangs wait for one look together: none begins another when that one has failed.
func TestStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Config{Store: hanging{}})
		began := time.Now()
		for range 100 {
			if _, err := a.Authenticate("rht_1"); err == nil || errors.Is(err, ErrUnknown) {
				t.Error(err)
			}
		}
		if took := time.Since(began); took != lookTime {
			t.Errorf("the last one waited for %s", took)
		}
	})
}

// hanging never answers.
type hanging struct{}

func (hanging) TokenHashes(ctx context.Context) (map[[sha256.Size]byte]store.Token, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestRate(t *testing.T) {
	now := time.Now()
	r := NewRate(50, func() time.Time { return now })
	for i := range 100 {
		if wait := r.Acquire("a"); wait != 0 {
			t.Fatalf("request %d waits %s", i, wait)
		}
	}
	if wait := r.Acquire("a"); wait != 20*time.Millisecond {
		t.Errorf("waits %s", wait)
	}
	if wait := r.Acquire("b"); wait != 0 {
		t.Errorf("another waits %s", wait)
	}
	now = now.Add(time.Second)
	passed := 0
	for range 200 {
		if r.Acquire("a") == 0 {
			passed++
		}
	}
	if passed != 50 {
		t.Errorf("%d requests in a second", passed)
	}
	now = now.Add(-time.Hour) // a clock that is set back takes nothing away for long
	r.Acquire("a")
	now = now.Add(time.Minute)
	if r.Acquire("a") != 0 {
		t.Error("the bucket does not fill up again")
	}
}

// The number of buckets is bounded. Those that are full again make room; without room, new senders share one.
func TestRateIsBounded(t *testing.T) {
	now := time.Now()
	r := NewRate(1, func() time.Time { return now })
	for i := range maxBuckets {
		r.Acquire(fmt.Sprint(i))
	}
	passed := 0
	for i := range 100 {
		if r.Acquire(fmt.Sprint("new ", i)) == 0 {
			passed++
		}
	}
	if passed != 2 || len(r.buckets) != maxBuckets {
		t.Errorf("%d new senders passed, %d buckets", passed, len(r.buckets))
	}
	now = now.Add(2 * time.Second)
	if r.Acquire("new") != 0 || len(r.buckets) != 1 {
		t.Errorf("%d buckets", len(r.buckets))
	}
}

func TestGrant(t *testing.T) {
	if g := Of(context.Background()); g.Allows(Read) {
		t.Error("a context without a grant")
	}
	if g := Of(With(context.Background(), Grant{Open: true})); !g.Allows(Test) {
		t.Error("an open request")
	}
}
