package store

import (
	"context"
	"encoding/json"
	"slices"

	"rehearse/internal/flow"
)

const (
	maxTopK = 20
	// baseShift is where the number of a base stands in the number of a passage.
	baseShift = 32
)

// Search returns the passages that have most in common with the text, by bm25: rare words count most, long passages less.
// It looks for any of the text's words, the first 64; upper and lower case and accents do not matter, word endings do.
// Passages of the same score come in the order of their ids. How rare a word is follows from all bases of this Knowledge.
// With vectors, what is near in meaning is found too, and scores join both rankings: 1 is first in both. When the embedder fails or
// takes more than a second, words alone decide; Vectors.Failed is told.
// No words or no bases give no passages; an unknown base gives an *UnknownBaseError.
func (k *Knowledge) Search(ctx context.Context, q flow.Query) ([]flow.Passage, error) {
	bases, err := k.baseIDs(ctx, q.Bases)
	words := queryWords(q.Text)
	if err != nil || len(bases) == 0 || len(words) == 0 {
		return nil, err
	}
	topK := min(max(q.TopK, 1), maxTopK)
	near := k.byMeaning(ctx, q.Text, bases)
	if len(near) == 0 {
		found, err := k.search(ctx, words, bases, topK, topK)
		return found, explain("search", k.store.path, err)
	}
	found, err := k.search(ctx, words, bases, topK, fuseDepth)
	if err != nil {
		return nil, explain("search", k.store.path, err)
	}
	return fuse(topK, found, near), nil
}

// search leaves common words out as long as the others find enough: going through half of all passages to score
// them by a word such as "the" takes most of the time and moves hardly any of them. It returns at most so many.
func (k *Knowledge) search(ctx context.Context, words []string, bases []int64, enough, most int) ([]flow.Passage, error) {
	telling, err := k.withoutCommon(ctx, words)
	if err != nil {
		return nil, err
	}
	if len(telling) > 0 {
		found, err := k.match(ctx, matchAny(telling), bases, most)
		if err != nil || len(found) >= enough || len(telling) == len(words) {
			return found, err
		}
	}
	return k.match(ctx, matchAny(words), bases, most)
}

// matchQuery takes the expression, the bases as a JSON array, the range of their passages, and how many are wanted.
// The texts are read only of what is as good as the last one wanted, and all of that, so that ids decide between equals.
const matchQuery = `
	WITH hits AS MATERIALIZED (
		SELECT rowid AS id, bm25(knowledge_index) AS score FROM knowledge_index
		WHERE knowledge_index MATCH ?1 AND rowid BETWEEN ?3 AND ?4 AND rowid >> 32 IN (SELECT value FROM json_each(?2))
	)
	SELECT b.name, p.name, -h.score, p.text
	FROM hits h JOIN knowledge_passages p ON p.id = h.id JOIN knowledge_bases b ON b.id = p.base
	WHERE h.score <= coalesce((SELECT score FROM hits ORDER BY score LIMIT 1 OFFSET ?5 - 1), 0)
	ORDER BY h.score, p.name, b.name LIMIT ?5`

func (k *Knowledge) match(ctx context.Context, expression string, bases []int64, topK int) (found []flow.Passage, err error) {
	first, last := slices.Min(bases)<<baseShift, (slices.Max(bases)+1)<<baseShift-1
	err = k.each(ctx, func(scan func(...any) error) error {
		var p flow.Passage
		err := scan(&p.Base, &p.ID, &p.Score, &p.Text)
		found = append(found, p)
		return err
	}, matchQuery, expression, jsonArray(bases), first, last, topK)
	return found, err
}

// baseIDs returns the numbers of the bases with these names.
func (k *Knowledge) baseIDs(ctx context.Context, names []string) (ids []int64, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	known := map[string]int64{}
	err = k.each(ctx, func(scan func(...any) error) error {
		var name string
		var id int64
		err := scan(&name, &id)
		known[name] = id
		return err
	}, `SELECT name, id FROM knowledge_bases WHERE name IN (SELECT value FROM json_each(?))`, jsonArray(names))
	if err != nil {
		return nil, explain("search", k.store.path, err)
	}
	for _, name := range names {
		id, ok := known[name]
		if !ok {
			return nil, k.unknown(ctx, name)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// withoutCommon returns the words that are not common.
func (k *Knowledge) withoutCommon(ctx context.Context, words []string) ([]string, error) {
	folded := make([]string, len(words))
	for i, word := range words {
		folded[i] = fold(word)
	}
	common := map[string]bool{}
	err := k.each(ctx, func(scan func(...any) error) error {
		var word string
		err := scan(&word)
		common[word] = true
		return err
	}, `SELECT word FROM knowledge_common WHERE word IN (SELECT value FROM json_each(?))`, jsonArray(folded))
	var telling []string
	for i, word := range words {
		if !common[folded[i]] {
			telling = append(telling, word)
		}
	}
	return telling, err
}

func jsonArray[T string | int64](values []T) string {
	data, _ := json.Marshal(values) // texts and numbers always can be
	return string(data)
}
