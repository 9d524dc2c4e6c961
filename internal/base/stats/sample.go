package stats

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"
)

// Rank returns the place of an ID in the order that a seed gives: a number that looks random, but is the same on every
// machine, for every store and in every version of this program. The n IDs of lowest rank are a random sample of size
// n. Another ID in the population changes at most one of them, and a larger sample contains every smaller one.
//
// It is 64-bit FNV-1a over the seed, eight bytes with the least significant first, and the bytes of the ID. The
// finisher of SplitMix64 follows, because FNV alone leaves the high bits of similar IDs alike.
//
// Source: G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, The FNV Non-Cryptographic Hash Algorithm; G. L. Steele, D. Lea,
// C. H. Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA (2014).
func Rank(seed uint64, id string) uint64 {
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64(make([]byte, 0, 8+len(id)), seed))
	h.Write([]byte(id))
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Sample keeps the n IDs of lowest Rank, with memory for 2n. The order of Add does not matter, nor do repeats. It is
// not safe for concurrent use.
//
// Source: E. Cohen and H. Kaplan, Summarizing Data Using Bottom-k Sketches, PODC (2007).
type Sample struct {
	seed   uint64
	n      int
	ranked []ranked
	// above is a rank that none of the n lowest reaches; it is valid only when full is true.
	above uint64
	full  bool
}

type ranked struct {
	rank uint64
	id   string
}

// NewSample returns an empty sample of at most n ids.
func NewSample(seed uint64, n int) *Sample { return &Sample{seed: seed, n: max(n, 0)} }

// Add adds an ID to the population.
func (s *Sample) Add(id string) {
	rank := Rank(s.seed, id)
	if s.n == 0 || s.full && rank > s.above {
		return
	}
	s.ranked = append(s.ranked, ranked{rank, id})
	if len(s.ranked) >= 2*s.n {
		s.cut()
	}
}

// IDs returns the sample in order of rank. Its first k IDs are the sample of size k.
func (s *Sample) IDs() []string {
	s.cut()
	ids := make([]string, len(s.ranked))
	for i, r := range s.ranked {
		ids[i] = r.id
	}
	return ids
}

// cut leaves the n IDs of lowest rank. IDs of equal rank are ordered by ID.
func (s *Sample) cut() {
	slices.SortFunc(s.ranked, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.id, b.id))
	})
	s.ranked = slices.Compact(s.ranked)
	if len(s.ranked) >= s.n && s.n > 0 {
		clear(s.ranked[s.n:])
		s.ranked = s.ranked[:s.n]
		s.above, s.full = s.ranked[s.n-1].rank, true
	}
}
