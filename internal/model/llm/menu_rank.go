package llm

import (
	"cmp"
	"math"
	"slices"
)

// Ranked is an option with how similar it is to a text, from 0 to 1.
type Ranked struct {
	ID    string
	Score float64
}

const (
	// maxQuery is how much of a text is compared, in bytes.
	maxQuery = 4 << 10
	// functionWeight makes words that carry little meaning count little; texts of nothing else still equal each other.
	functionWeight = 0.2
)

// Rank returns all options, the most similar to text first; equals stay in the menu's order.
//
// Each of an option's texts (label, when, every example) is a document of its own, and the option is as similar as the
// most similar of them. Similarity is the cosine of TF-IDF vectors with counts as term frequency and the smoothed idf
// of scikit-learn, ln((1+N)/(1+df))+1
// (https://scikit-learn.org/stable/modules/feature_extraction.html#tfidf-term-weighting). Words that the menu does not
// have count for the length of the text's vector, so that a text about something else is not similar.
func (m *Menu) Rank(text string) []Ranked {
	m.index.once.Do(func() { m.index.build(m.options) })
	ranked := make([]Ranked, len(m.options))
	for i, o := range m.options {
		ranked[i].ID = o.ID
	}
	for i, score := range m.index.compare(text) {
		best := &ranked[m.index.owner[i]].Score
		*best = max(*best, score)
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int { return cmp.Compare(b.Score, a.Score) })
	return ranked
}

// compare returns the similarity of a text to each text of the index.
func (x *index) compare(text string) []float64 {
	scores := make([]float64, len(x.owner))
	length := 0.0
	type counted struct {
		term *term
		n    float64
	}
	query := make([]counted, 0, 32)
	eachWord(text[:min(len(text), maxQuery)], func(word []byte, function bool) {
		t := x.terms[string(word)]
		if t == nil {
			unknown := x.unknown * importance(function)
			length += unknown * unknown // each on its own: telling repetitions apart isn't worth remembering them
			return
		}
		for i := range query {
			if query[i].term == t {
				query[i].n++
				return
			}
		}
		query = append(query, counted{t, 1})
	})
	for _, q := range query {
		value := q.n * q.term.idf
		length += value * value
		for _, w := range q.term.texts {
			scores[w.text] += value * w.value
		}
	}
	if length > 0 {
		length = math.Sqrt(length)
		for i := range scores {
			scores[i] = min(scores[i]/length, 1)
		}
	}
	return scores
}
