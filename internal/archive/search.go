package archive

import (
	"context"
	"hash/maphash"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"rehearse/internal/result"
)

// signature tells which words a record may have: a Bloom filter of them, which is never wrong about a word that the record has.
//
// Source: B. H. Bloom, Space/Time Trade-offs in Hash Coding with Allowable Errors, Communications of the ACM 13 (1970).
type signature []uint64

// bitsPerWord and hashes let about one word in a hundred pass that a record does not have. maxSignature bounds a signature, in words of 64 bits.
const (
	bitsPerWord  = 10
	hashes       = 4
	maxSignature = 1 << 12
)

// signed returns the signature of words.
func signed(seed maphash.Seed, words map[string]struct{}) signature {
	n := max(1, min(maxSignature, (len(words)*bitsPerWord+63)/64))
	s := make(signature, n)
	for word := range words {
		for at := range places(seed, word, n) {
			s[at/64] |= 1 << (at % 64)
		}
	}
	return s
}

// places yields the bits of a word.
func places(seed maphash.Seed, word string, n int) func(func(uint64) bool) {
	return func(yield func(uint64) bool) {
		h := maphash.String(seed, word)
		step := bits.RotateLeft64(h, 32) | 1
		for range hashes {
			if !yield(h % uint64(n*64)) {
				return
			}
			h += step
		}
	}
}

// may reports whether a record may have the words of a question. Beginnings of words are not in signatures.
func (s signature) may(seed maphash.Seed, q Words) bool {
	for _, t := range q {
		for i, word := range t.Words {
			if t.Prefix && i == len(t.Words)-1 {
				continue
			}
			for at := range places(seed, word, len(s)) {
				if s[at/64]&(1<<(at%64)) == 0 {
					return false
				}
			}
		}
	}
	return true
}

// search is what a run keeps so that words are found soon. It is made when something is first looked for, and grows with the run.
type search struct {
	mu         sync.Mutex
	seed       maphash.Seed
	signatures map[*Row]signature
	// found are answers of the index that they were found in.
	found map[string]map[Test]bool
	in    *Index
}

// forget drops everything: the log has been written anew.
func (s *search) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signatures, s.found, s.in = nil, nil, nil
}

// maxAnswers bounds how many answers are kept of a run.
const maxAnswers = 64

// Hit is a text in which the words of a question stand.
type Hit struct {
	*Row
	Passage
}

// Matching returns the tests in which the words of a question stand, each in one text. The map is the archive's.
func (r *Run) Matching(ctx context.Context, index *Index, q string) (map[Test]bool, error) {
	s := &r.search
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.in != index || s.found == nil || len(s.found) >= maxAnswers {
		s.found, s.in = map[string]map[Test]bool{}, index
	}
	if found, ok := s.found[q]; ok {
		return found, nil
	}
	found := map[Test]bool{}
	words := ParseWords(q)
	var mu sync.Mutex
	err := s.each(ctx, r, index.rows(), words, func(_ int, row *Row, t *result.Test) bool {
		if slices.ContainsFunc(Passages(t), func(p Passage) bool { return words.Fit(p.Text) }) {
			mu.Lock()
			found[testOf(row.Key)] = true
			mu.Unlock()
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	s.found[q] = found
	return found, nil
}

// Hits returns the texts of tests in which the words of a question stand, in the order of the run, at most so many; more is true where there may be
// others. Roles are those that said it; none means all. Fits chooses the tests.
func (r *Run) Hits(ctx context.Context, index *Index, words Words, roles []string, most int, fits func(*Row) bool) (hits []Hit, more bool, err error) {
	s := &r.search
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := slices.DeleteFunc(index.rows(), func(row *Row) bool { return !fits(row) })
	by := make([][]Hit, len(rows))
	total := 0
	var mu sync.Mutex
	err = s.each(ctx, r, rows, words, func(i int, row *Row, t *result.Test) bool {
		var of []Hit
		for _, p := range Passages(t) {
			if (len(roles) == 0 || slices.Contains(roles, p.Role)) && words.Fit(p.Text) {
				p.Text = strings.Clone(p.Text)
				of = append(of, Hit{row, p})
			}
		}
		mu.Lock()
		defer mu.Unlock()
		by[i] = of
		total += len(of)
		return total <= most
	})
	for _, of := range by {
		hits = append(hits, of...)
	}
	if len(hits) > most {
		hits, more = hits[:most], true
	}
	return hits, more, err
}

// rows returns the rows of all tests and trials in the order of the run.
func (x *Index) rows() (rows []*Row) {
	for _, list := range [][]*Entry{x.Tests, x.Pending} {
		for _, e := range list {
			if e.Verdict != "" {
				rows = append(rows, e.own)
			}
			rows = append(rows, e.Of...)
		}
	}
	return rows
}

// each calls do with the record of each row that may have the words, several at a time, until do returns false. s.mu is held.
func (s *search) each(ctx context.Context, r *Run, rows []*Row, words Words, do func(i int, row *Row, t *result.Test) bool) error {
	if s.signatures == nil {
		s.seed, s.signatures = maphash.MakeSeed(), map[*Row]signature{}
	}
	type signedRow struct {
		row *Row
		signature
	}
	var work errgroup.Group
	workers := runtime.GOMAXPROCS(0)
	made := make([][]signedRow, workers)
	var stop sync.Once
	stopped := make(chan struct{})
	for worker := range workers {
		work.Go(func() error {
			for i := worker; i < len(rows); i += workers {
				select {
				case <-stopped:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				default:
				}
				row := rows[i]
				known, ok := s.signatures[row]
				if ok && !known.may(s.seed, words) {
					continue
				}
				t, err := r.Read(row)
				if err != nil {
					continue // the log has been written anew: the next index has its records
				}
				if !ok {
					known = signed(s.seed, wordsIn(t))
					made[worker] = append(made[worker], signedRow{row, known})
				}
				if known.may(s.seed, words) && !do(i, row, t) {
					stop.Do(func() { close(stopped) })
				}
			}
			return nil
		})
	}
	err := work.Wait()
	for _, list := range made {
		for _, m := range list {
			s.signatures[m.row] = m.signature
		}
	}
	return err
}

// wordsIn returns the words of all texts of a record.
func wordsIn(t *result.Test) map[string]struct{} {
	all := map[string]struct{}{}
	for _, p := range Passages(t) {
		for _, word := range split(p.Text) {
			all[word] = struct{}{}
		}
	}
	return all
}
