package enrich

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Memory
		get := func(key string) (Profile, bool) {
			p, ok, err := m.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			return p, ok
		}
		set := func(key string, p Profile, ttl time.Duration) {
			if err := m.Set(t.Context(), key, "owner of "+key, p, ttl); err != nil {
				t.Fatal(err)
			}
		}
		if _, ok := get("a"); ok {
			t.Error("an empty cache has something")
		}
		set("a", Profile{FeatureList: []string{"x"}}, time.Hour)
		p, _ := get("a")
		p.FeatureList[0] = "changed"
		if p, _ := get("a"); p.FeatureList[0] != "x" {
			t.Error("the cache shares its memory")
		}
		time.Sleep(time.Hour)
		if _, ok := get("a"); ok || m.order.Len() > 0 {
			t.Error("an expired profile is still there")
		}
		for i := range memoryMost + 5 {
			set(string(rune('一'+i)), acme, time.Hour)
		}
		set(string(rune('一'+5)), acme, time.Hour) // set again: now the youngest
		if len(m.entries) != memoryMost || m.order.Len() != memoryMost {
			t.Errorf("%d entries, %d in order", len(m.entries), m.order.Len())
		}
		if _, ok := get(string(rune('一' + 4))); ok {
			t.Error("the oldest is still there")
		}
	})
}

func TestMemoryForgets(t *testing.T) {
	c, err := NewCached(&Memory{}, "salt")
	if err != nil {
		t.Fatal(err)
	}
	other := visitor
	other.IP, other.SessionID = "203.0.113.8", "other"
	for _, v := range []Visitor{visitor, other} {
		if err := c.Save(t.Context(), v, acme); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := c.Forget(t.Context(), visitor.Site, visitor.SessionID); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := c.Lookup(t.Context(), visitor); err != nil || p.Status != "" {
		t.Errorf("still there: %+v, %v", p, err)
	}
	if p, err := c.Lookup(t.Context(), other); err != nil || p.Status != Completed {
		t.Errorf("another's: %+v, %v", p, err)
	}
}

func TestCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if _, err := NewCached(&Memory{}, ""); err == nil {
			t.Error("no salt, no error")
		}
		c, err := NewCached(&Memory{}, "salt")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Save(t.Context(), visitor, Merge(acme, Profile{Email: "jo@acme.example"})); err != nil {
			t.Fatal(err)
		}
		look := func(v Visitor) Profile {
			p, err := c.Lookup(t.Context(), v)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		if d := cmp.Diff(acme, look(visitor)); d != "" {
			t.Error(d)
		}
		elsewhere, other := visitor, visitor
		elsewhere.Site, other.IP = "other.example", "203.0.113.8"
		if d := cmp.Diff([]Profile{{}, {}}, []Profile{look(elsewhere), look(other)}); d != "" {
			t.Errorf("another site or address: %s", d)
		}
		time.Sleep(TTL)
		if d := cmp.Diff(Profile{}, look(visitor)); d != "" {
			t.Errorf("after %s: %s", TTL, d)
		}
	})
}
