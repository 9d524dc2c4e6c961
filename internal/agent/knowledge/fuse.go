package knowledge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
)

const (
	// fuseDepth is the number of passages that are read of each ranking. A passage further down could not rise far.
	fuseDepth = 50
	// fuseK keeps the first few ranks from deciding alone; 60 is the value of Cormack, Clarke and Büttcher, "Reciprocal
	// Rank Fusion outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009.
	fuseK = 60
	// embedQueryTimeout bounds the wait for the vector of a query, because a user waits for the answer.
	embedQueryTimeout = time.Second
)

var errSlowEmbedder = errors.New("no answer within a second")

// byMeaning returns the passages that are nearest to the text, nearest first, and none if there are no vectors or no
// embedder answers.
func (k *Library) byMeaning(ctx context.Context, text string, bases []int64) []flow.Passage {
	if k.vectors == nil {
		return nil
	}
	found, err := k.lookNear(ctx, text, bases)
	if err != nil && ctx.Err() == nil {
		k.vectors.failed(fmt.Errorf("knowledge is searched by words only, without vectors of %s: %w",
			k.vectors.Model, err))
	}
	return found
}

func (k *Library) lookNear(ctx context.Context, text string, bases []int64) ([]flow.Passage, error) {
	rows, err := k.matrix.read(ctx, k.db.Read(), k.vectors.Model)
	if err != nil || len(rows.passages) == 0 {
		return nil, k.db.Explain("read vectors from", err)
	}
	query, err := k.vectors.embedQuery(ctx, text)
	if err != nil {
		return nil, err
	}
	if len(query) != rows.size {
		return nil, &vectorSizeError{len(query), rows.size}
	}
	found, err := k.passagesOf(ctx, rows.nearest(query, bases, fuseDepth))
	return found, k.db.Explain("search", err)
}

// embedQuery gives up after a second, even on an embedder that does not look at its context.
func (v *Vectors) embedQuery(ctx context.Context, text string) ([]float32, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, embedQueryTimeout, errSlowEmbedder)
	defer cancel()
	type answer struct {
		vectors [][]float32
		err     error
	}
	answers := make(chan answer, 1)
	go func() {
		vectors, err := v.embed(ctx, []string{text})
		answers <- answer{vectors, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil {
			return nil, cmp.Or(context.Cause(ctx), a.err)
		}
		return a.vectors[0], nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// passagesOf reads passages in the order given; their scores are the cosines.
func (k *Library) passagesOf(ctx context.Context, nearest []near) ([]flow.Passage, error) {
	ids := make([]int64, len(nearest))
	cosines := map[int64]float32{}
	for i, n := range nearest {
		ids[i], cosines[n.passage] = n.passage, n.cosine
	}
	var found []flow.Passage
	err := k.each(ctx, func(scan func(...any) error) error {
		var id int64
		var p flow.Passage
		err := scan(&id, &p.Base, &p.ID, &p.Text)
		p.Score = float64(cosines[id])
		found = append(found, p)
		return err
	}, `SELECT p.id, b.name, p.name, p.text FROM knowledge_passages p JOIN knowledge_bases b ON b.id = p.base
		WHERE p.id IN (SELECT value FROM json_each(?))`, jsonArray(ids))
	sortPassages(found)
	return found, err
}

// fuse joins rankings by reciprocal rank: a passage counts 1 / (fuseK + rank) in each. The sum is scaled so that a
// passage that is first in every ranking scores 1. Passages with the same score share a rank.
func fuse(topK int, rankings ...[]flow.Passage) []flow.Passage {
	type key struct{ base, id string }
	at := map[key]int{}
	var fused []flow.Passage
	for _, ranking := range rankings {
		rank := 0
		for i, p := range ranking {
			if i == 0 || p.Score != ranking[i-1].Score {
				rank = i + 1
			}
			j, ok := at[key{p.Base, p.ID}]
			if !ok {
				j = len(fused)
				at[key{p.Base, p.ID}] = j
				fused = append(fused, flow.Passage{Base: p.Base, ID: p.ID, Text: p.Text})
			}
			fused[j].Score += (fuseK + 1) / float64(fuseK+rank) / float64(len(rankings))
		}
	}
	sortPassages(fused)
	return fused[:min(topK, len(fused))]
}

// sortPassages puts the best first; between equals, ids decide.
func sortPassages(passages []flow.Passage) {
	slices.SortFunc(passages, func(a, b flow.Passage) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Base, b.Base))
	})
}
