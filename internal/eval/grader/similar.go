package grader

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// maxEmbedded bounds the characters of a text that are sent to an embedding model. Most models read fewer.
const maxEmbedded = 30_000

func newSimilar(a *Args) runner.Grader {
	reference := a.reference()
	method := a.OneOf("method", "embedding asks the configured embeddings endpoint, lexical compares word counts",
		"embedding", "lexical")
	least := a.NumberOr("min", -1, 0, 1,
		"makes the score 1 from this similarity upwards, else 0, in place of the similarity itself")
	if least >= 0 && a.node.Has("threshold") {
		a.Report("threshold", "keep min", "min and threshold are the same here")
	}
	embedder := a.set.Embedder
	name, compare := method+" similarity", func(ctx context.Context, text, reference string) (float64, error) {
		if method == "lexical" {
			return byWords(text, reference, lexical), nil
		}
		return embedded(ctx, embedder, text, reference)
	}
	if least < 0 {
		return similarity{likeness(a, reference, name, 0.8, compare), method == "embedding"}
	}
	a.PassFrom(least)
	graded := likeness(a, reference, name, least, compare)
	a.Assertion.Threshold = -1 // a score of 1 or 0 needs none
	return similarity{wholly(graded), method == "embedding"}
}

// similarity is the grader similar. embeds is true when it asks an embedding model.
type similarity struct {
	runner.Grader
	embeds bool
}

// Embeds reports whether the grader asks an embedding model.
func (s similarity) Embeds() bool { return s.embeds }

// wholly makes a grader's score 1 when it reaches its own passing score, and 0 otherwise.
func wholly(g runner.Grader) runner.Grader {
	return gradeFunc(func(ctx context.Context, x *runner.Exchange) (result.Grade, error) {
		grade, err := g.Grade(ctx, x)
		if err != nil {
			return grade, err
		}
		grade.Score = 0
		if grade.Assertions[0].Passed {
			grade.Score = 1
		}
		return grade, nil
	})
}

// LexicalSimilarity compares two texts by the counts of their words, from 0 to 1.
func LexicalSimilarity(a, b string) float64 { return byWords(a, b, lexical) }

// lexical returns the cosine of the counts of two lists of words, neither of them empty.
func lexical(a, b []string) float64 {
	counts, others := frequencies(a), frequencies(b)
	dot := 0.0
	for w, n := range counts {
		dot += float64(n) * float64(others[w])
	}
	if dot == 0 {
		return 0
	}
	return math.Min(1, dot/math.Sqrt(squares(counts)*squares(others)))
}

func squares(counts map[string]int) float64 {
	sum := 0.0
	for _, n := range counts {
		sum += float64(n) * float64(n)
	}
	return sum
}

// embedded returns the cosine of the embeddings of two texts. Negative cosines and empty texts score 0.
func embedded(ctx context.Context, e Embedder, text, reference string) (float64, error) {
	if e == nil {
		return 0, errors.New("no embeddings model is configured: add `embedder: PROVIDER:MODEL` to rehearse.yaml, " +
			"or ask for method: lexical")
	}
	if text == "" {
		return 0, nil
	}
	vectors, err := e.Embed(ctx, []string{cutRunes(text, maxEmbedded), cutRunes(reference, maxEmbedded)})
	if err != nil {
		return 0, fmt.Errorf("embeddings: %w", err)
	}
	if len(vectors) != 2 || len(vectors[0]) == 0 || len(vectors[0]) != len(vectors[1]) {
		return 0, errors.New("embeddings: expected two vectors of one length")
	}
	cosine := cosine(vectors[0], vectors[1])
	if math.IsNaN(cosine) {
		return 0, errors.New("embeddings: a vector has no direction")
	}
	return math.Max(0, math.Min(1, cosine)), nil
}

// cosine returns the cosine of the angle between two vectors of one length, NaN when one of them has no direction.
func cosine(a, b []float64) float64 {
	dot, aa, bb := 0.0, 0.0, 0.0
	for i := range a {
		dot += a[i] * b[i]
		aa += a[i] * a[i]
		bb += b[i] * b[i]
	}
	return dot / (math.Sqrt(aa) * math.Sqrt(bb))
}
