package natsconn

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestSharesStayWithinTheLimit whatever the processes want, in whatever order they ask, and whoever is lost.
func TestSharesStayWithinTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := Limit{
			RequestsPerMinute: rapid.IntRange(1, 100).Draw(t, "rpm"),
			TokensPerMinute:   rapid.IntRange(1, 1000).Draw(t, "tpm"),
			Concurrency:       rapid.IntRange(1, 9).Draw(t, "slots"),
		}
		book := ledger{Holders: map[string]leaseHolder{}}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			id := fmt.Sprint(rapid.IntRange(1, 5).Draw(t, "who"))
			if rapid.IntRange(0, 9).Draw(t, "lost") == 0 {
				delete(book.Holders, id)
				continue
			}
			me := book.Holders[id]
			me.Limit = limit
			me.Want = share{
				Requests: rapid.Float64Range(0, 120).Draw(t, "requests"),
				Tokens:   rapid.Float64Range(0, 1200).Draw(t, "tokens"), Slots: rapid.IntRange(0, 12).Draw(t, "calls"),
			}
			book.Holders[id] = me
			me.Have = book.grant(id)
			book.Holders[id] = me
			var sum share
			for _, h := range book.Holders {
				sum.Requests += h.Have.Requests
				sum.Tokens += h.Have.Tokens
				sum.Slots += h.Have.Slots
			}
			const dust = 1e-6
			if sum.Requests > float64(limit.RequestsPerMinute)+dust ||
				sum.Tokens > float64(limit.TokensPerMinute)+dust || sum.Slots > limit.Concurrency {
				t.Fatalf("shares %+v of %+v", sum, limit)
			}
			if me.Have.Slots > me.Want.Slots || me.Have.Requests > me.Want.Requests {
				t.Fatalf("it wants %+v and has %+v", me.Want, me.Have)
			}
		}
	})
}

// TestSharesAreFair: when all want more, a limit is divided evenly, and who wants less leaves the rest to the others.
func TestSharesAreFair(t *testing.T) {
	book := ledger{Holders: map[string]leaseHolder{}}
	limit := Limit{RequestsPerMinute: 90, Concurrency: 7}
	for id, want := range map[string]int{"a": 100, "b": 100, "c": 1} {
		book.Holders[id] = leaseHolder{Want: share{Requests: float64(want), Slots: want}, Limit: limit}
	}
	for range 2 {
		for _, id := range []string{"a", "b", "c"} {
			me := book.Holders[id]
			me.Have = book.grant(id)
			book.Holders[id] = me
		}
	}
	for id, want := range map[string]share{"a": {44.5, 0, 3}, "b": {44.5, 0, 3}, "c": {1, 0, 1}} {
		if got := book.Holders[id].Have; got != want {
			t.Errorf("%s has %+v, want %+v", id, got, want)
		}
	}
}
