package natsconn

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Limit is what all workers together may ask of a provider. 0 means no limit.
type Limit struct {
	RequestsPerMinute int `json:"rpm,omitempty"`
	TokensPerMinute   int `json:"tpm,omitempty"`
	Concurrency       int `json:"concurrency,omitempty"`
}

// tighten returns the lower of each number.
func (l Limit) tighten(o Limit) Limit {
	lower := func(a, b int) int {
		if a == 0 || b != 0 && b < a {
			return b
		}
		return a
	}
	return Limit{
		lower(l.RequestsPerMinute, o.RequestsPerMinute), lower(l.TokensPerMinute, o.TokensPerMinute),
		lower(l.Concurrency, o.Concurrency),
	}
}

// share is what one process has, or wants, of a limit: requests and tokens a minute, and calls at once.
type share struct {
	Requests float64 `json:"requests"`
	Tokens   float64 `json:"tokens"`
	Slots    int     `json:"slots"`
}

// leaseHolder is a process in the record of a limit.
type leaseHolder struct {
	// Beat changes while the process lives.
	Beat uint64 `json:"beat"`
	Want share  `json:"want"`
	Have share  `json:"have"`
	// Last is when it gave a slot up for others, in the order of the record; who has waited longest comes first.
	Last  uint64 `json:"last"`
	Limit Limit  `json:"limit"`
}

// ledger is the record of a limit: who has which share. It is changed by compare-and-set only.
type ledger struct {
	Seq     uint64                 `json:"seq"`
	Holders map[string]leaseHolder `json:"holders"`
}

// limit returns the lowest numbers that any holder states.
func (l ledger) limit() Limit {
	var lowest Limit
	for _, h := range l.Holders {
		lowest = lowest.tighten(h.Limit)
	}
	return lowest
}

// grant returns what a holder may have now: its fair share of what all want, and no more than the others leave.
func (l ledger) grant(id string) share {
	limit, me := l.limit(), l.Holders[id]
	var others share
	for name, h := range l.Holders {
		if name != id {
			others.Requests += h.Have.Requests
			others.Tokens += h.Have.Tokens
			others.Slots += h.Have.Slots
		}
	}
	fair := func(total int, want func(share) float64) float64 {
		wants := make([]float64, 0, len(l.Holders))
		for _, h := range l.Holders {
			wants = append(wants, want(h.Want))
		}
		return min(want(me.Want), level(float64(total), wants))
	}
	requests := fair(limit.RequestsPerMinute, func(s share) float64 { return s.Requests })
	tokens := fair(limit.TokensPerMinute, func(s share) float64 { return s.Tokens })
	return share{
		Requests: max(0, min(requests, float64(limit.RequestsPerMinute)-others.Requests)),
		Tokens:   max(0, min(tokens, float64(limit.TokensPerMinute)-others.Tokens)),
		Slots:    max(0, min(l.slots(id, limit.Concurrency), limit.Concurrency-others.Slots)),
	}
}

// level returns the most that anybody gets when a total is shared fairly: who wants less gets that, the others the same
// each.
func level(total float64, wants []float64) float64 {
	slices.Sort(wants)
	for i, want := range wants {
		each := total / float64(len(wants)-i)
		if want >= each {
			return each
		}
		total -= want
	}
	return math.Inf(1)
}

// slots returns a holder's fair number of calls at once. Those that are left over go to who has waited longest.
func (l ledger) slots(id string, total int) int {
	order := slices.SortedFunc(maps.Keys(l.Holders), func(a, b string) int {
		return cmp.Or(cmp.Compare(l.Holders[a].Last, l.Holders[b].Last), cmp.Compare(a, b))
	})
	wants := make([]float64, 0, len(order))
	for _, name := range order {
		wants = append(wants, float64(l.Holders[name].Want.Slots))
	}
	whole := level(float64(total), wants)
	if math.IsInf(whole, 1) {
		return l.Holders[id].Want.Slots
	}
	each := int(whole)
	left := total
	for _, h := range l.Holders {
		left -= min(h.Want.Slots, each)
	}
	for _, name := range order {
		want := l.Holders[name].Want.Slots
		extra := 0
		if want > each && left > 0 {
			extra, left = 1, left-1
		}
		if name == id {
			return min(want, each) + extra
		}
	}
	return 0
}

// contended reports whether somebody else wants more calls at once than it has.
func (l ledger) contended(id string) bool {
	for name, h := range l.Holders {
		if name != id && h.Want.Slots > h.Have.Slots {
			return true
		}
	}
	return false
}

// base is how many slots a holder keeps when others want some, too.
func (l ledger) base(id string) int {
	wants := make([]float64, 0, len(l.Holders))
	for _, h := range l.Holders {
		wants = append(wants, float64(h.Want.Slots))
	}
	return int(min(float64(l.Holders[id].Want.Slots), level(float64(l.limit().Concurrency), wants)))
}
