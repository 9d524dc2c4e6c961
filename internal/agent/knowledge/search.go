package knowledge

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
)

const (
	maxTopK = 20
	// baseShift is the lowest bit of the number of a base within the number of a passage.
	baseShift = 32
)

// Search returns the passages that match the text best, by bm25: rare words count most, long passages less. It looks
// for any of the first 64 words of the text. Case and accents do not matter; word endings do. Passages of the same
// score come in the order of their ids. How rare a word is depends on all bases of the Library. With vectors, passages
// of similar meaning are found too, and a score joins both rankings: 1 is first in both. When the embedder fails or
// takes more than a second, only words decide, and Vectors.Failed is called. No words or no bases give no passages; an
// unknown base gives an *UnknownBaseError.
func (k *Library) Search(ctx context.Context, q flow.Query) ([]flow.Passage, error) {
	bases, err := k.baseIDs(ctx, q.Bases)
	words := queryWords(q.Text)
	if err != nil || len(bases) == 0 || len(words) == 0 {
		return nil, err
	}
	topK := min(max(q.TopK, 1), maxTopK)
	near := k.byMeaning(ctx, q.Text, bases)
	if len(near) == 0 {
		found, err := k.search(ctx, words, bases, topK, topK)
		return found, k.db.Explain("search", err)
	}
	found, err := k.search(ctx, words, bases, topK, fuseDepth)
	if err != nil {
		return nil, k.db.Explain("search", err)
	}
	return fuse(topK, found, near), nil
}

// search leaves common words out as long as the others find enough passages. Scoring half of all passages by a word
// such as "the" takes most of the time and hardly changes their order. It returns at most most passages.
func (k *Library) search(ctx context.Context, words []string, bases []int64, enough, most int) ([]flow.Passage, error) {
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

// matchQuery takes the expression, the bases as a JSON array, the range of their passages, and the number of passages
// wanted. It reads the texts of all passages that score as high as the last one wanted, so that ids decide between
// equals.
const matchQuery = `
	WITH hits AS MATERIALIZED (
		SELECT rowid AS id, bm25(knowledge_index) AS score FROM knowledge_index
		WHERE knowledge_index MATCH ?1 AND rowid BETWEEN ?3 AND ?4 AND rowid >> 32 IN (SELECT value FROM json_each(?2))
	)
	SELECT b.name, p.name, -h.score, p.text
	FROM hits h JOIN knowledge_passages p ON p.id = h.id JOIN knowledge_bases b ON b.id = p.base
	WHERE h.score <= coalesce((SELECT score FROM hits ORDER BY score LIMIT 1 OFFSET ?5 - 1), 0)
	ORDER BY h.score, p.name, b.name LIMIT ?5`

func (k *Library) match(ctx context.Context, expression string, bases []int64,
	topK int) (found []flow.Passage, err error) {
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
func (k *Library) baseIDs(ctx context.Context, names []string) (ids []int64, err error) {
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
		return nil, k.db.Explain("search", err)
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
func (k *Library) withoutCommon(ctx context.Context, words []string) ([]string, error) {
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

const (
	// maxQueryWords bounds the words of one search.
	maxQueryWords = 64
	// maxQueryText bounds the part of a query that is read for words, in bytes.
	maxQueryText = 16 << 10
	// maxWord is the length to which longer words are cut, in queries and passages alike: hashes, encoded data.
	maxWord = 64
)

// spread returns the words of a text with blanks between them, in the form that the index takes. In a script that is
// written without blanks, each character is a word, because SQLite would take a whole sentence for one.
func spread(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	length, dense := 0, false
	for _, r := range text {
		mark := unicode.IsMark(r)
		if !mark && !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			length, dense = 0, false
			b.WriteByte(' ')
			continue
		}
		now := dense
		if !mark {
			now = unspaced(r)
		}
		if now && !mark || now != dense || length == maxWord {
			length = 0
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		length, dense = length+1, now
	}
	return b.String()
}

// unspaced reports whether a character belongs to a script that puts no blanks between words.
func unspaced(r rune) bool {
	const firstThai, kanaLength = 0x0e00, 'ー'
	return r >= firstThai && (r == kanaLength ||
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
			unicode.Myanmar))
}

// queryWords returns the different words of a text, the first of them if there are too many. In a script without
// blanks, a word is two neighbouring characters: one says too little, and a whole clause hardly occurs again.
func queryWords(text string) []string {
	text = text[:min(len(text), maxQueryText)]
	var words []string
	seen := map[string]bool{}
	fields := strings.Fields(spread(strings.ToValidUTF8(text, " ")))
	for i, word := range fields {
		if startsUnspaced(word) {
			switch {
			case i+1 < len(fields) && startsUnspaced(fields[i+1]):
				word += " " + fields[i+1]
			case i > 0 && startsUnspaced(fields[i-1]):
				continue // it was the second of a pair
			}
		}
		if key := fold(word); !seen[key] {
			seen[key] = true
			words = append(words, word)
		}
		if len(words) == maxQueryWords {
			break
		}
	}
	return words
}

func startsUnspaced(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unspaced(r)
}

// matchAny returns the FTS5 expression that finds every passage with one of the words.
// Words hold letters, digits, marks and blanks only; in quotes none of them is an operator.
func matchAny(words []string) string {
	return `"` + strings.Join(words, `" OR "`) + `"`
}

// fold returns a word as the index has it: in lower case and without diacritics.
func fold(word string) string {
	return strings.Map(func(r rune) rune {
		const firstDiacritic, lastDiacritic = 0x0300, 0x036f
		if r >= firstDiacritic && r <= lastDiacritic {
			return -1
		}
		return r
	}, norm.NFD.String(strings.ToLower(word)))
}
