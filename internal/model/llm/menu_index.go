package llm

import (
	"math"
	"sync"
)

// index holds the texts of a menu as vectors, by word.
type index struct {
	once sync.Once
	// owner is the option that each text belongs to.
	owner []int
	terms map[string]*term
	// ordered are the terms as they came, because sums of fractions depend on the order.
	ordered []*term
	// unknown is the idf of a word that no text has.
	unknown float64
}

// term is a word with the texts that have it.
type term struct {
	idf   float64
	texts []weight
}

// weight is what a word is worth in a text: at first how often it is there, in the end its part of the text's unit
// vector.
type weight struct {
	text  int
	value float64
}

func (x *index) build(options []Option) {
	x.terms = map[string]*term{}
	for i, o := range options {
		for _, text := range append([]string{o.Label, o.When}, o.Examples...) {
			x.add(i, text)
		}
	}
	n := float64(len(x.owner))
	x.unknown = math.Log(1+n) + 1
	lengths := make([]float64, len(x.owner))
	for _, t := range x.ordered {
		t.idf *= math.Log((1+n)/(1+float64(len(t.texts)))) + 1
		for i := range t.texts {
			w := &t.texts[i]
			w.value *= t.idf
			lengths[w.text] += w.value * w.value
		}
	}
	for _, t := range x.ordered {
		for i := range t.texts {
			t.texts[i].value /= math.Sqrt(lengths[t.texts[i].text])
		}
	}
}

func (x *index) add(option int, text string) {
	number := len(x.owner)
	x.owner = append(x.owner, option)
	eachWord(text, func(word []byte, function bool) {
		t := x.terms[string(word)]
		if t == nil {
			t = &term{idf: importance(function)}
			x.terms[string(word)] = t
			x.ordered = append(x.ordered, t)
		}
		if last := len(t.texts) - 1; last >= 0 && t.texts[last].text == number {
			t.texts[last].value++
			return
		}
		t.texts = append(t.texts, weight{number, 1})
	})
}

func importance(function bool) float64 {
	if function {
		return functionWeight
	}
	return 1
}
