package runindex

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
)

// search keeps the answers of a run's lexicon.
type search struct {
	mu sync.Mutex
	// found are answers of the index that they were found in.
	found map[string]map[Test]bool
	in    *Index
}

// maxAnswers bounds how many answers are kept of a run.
const maxAnswers = 64

// Hit is a text in which the words of a question stand. Text is empty until Fill has read it.
type Hit struct {
	*Row
	Passage
	// nth is which text of the record it is.
	nth int
}

// Position tells a text of a run from every other.
type Position struct {
	Row *Row
	Nth int
}

// Position returns where the text stands.
func (h Hit) Position() Position { return Position{h.Row, h.nth} }

// Matching returns the tests in which the words of a question stand, each in one text; of a question without words,
// all. The map is the archive's.
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
	found, err := r.matching(ctx, index, ParseWords(q))
	if err != nil {
		return nil, err
	}
	s.found[q] = found
	return found, nil
}

// matching is Matching for an answer that is not kept.
func (r *Run) matching(ctx context.Context, index *Index, words Words) (map[Test]bool, error) {
	rows, err := index.rows(), error(nil)
	if len(words) > 0 {
		if rows, err = r.rowsWith(ctx, index, words); err != nil {
			return nil, err
		}
	}
	found := make(map[Test]bool, len(rows))
	for _, row := range rows {
		found[testOf(row.Key)] = true
	}
	return found, nil
}

// rowsWith returns the rows in which the words of a question stand, each in one text.
func (r *Run) rowsWith(ctx context.Context, index *Index, words Words) (rows []*Row, err error) {
	if words.inARow() {
		hits, _, err := r.Hits(ctx, index, words, nil, -1, func(*Row) bool { return true })
		for _, h := range hits {
			rows = append(rows, h.Row)
		}
		return rows, err
	}
	x := index.lexicon
	if x == nil {
		return nil, nil
	}
	if err := r.learn(ctx, x, index.records); err != nil {
		return nil, err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	found := x.with(words)
	for _, row := range index.rows() {
		if from, to := x.textsOf(row); found.next(from, to) >= 0 {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// Hits returns the texts of tests in which the words of a question stand, in the order of the run, at most so many;
// more is true where there may be others. A negative number bounds nothing. Roles are those that said it; none means
// all. Fits chooses the tests. Fill reads what the texts say.
func (r *Run) Hits(ctx context.Context, index *Index, words Words, roles []string, most int,
	fits func(*Row) bool) (hits []Hit, more bool, err error) {
	x := index.lexicon
	if x == nil || len(words) == 0 {
		return nil, false, nil
	}
	if err := r.learn(ctx, x, index.records); err != nil {
		return nil, false, err
	}
	x.mu.RLock()
	found, surely := x.with(words), !words.inARow()
	for _, row := range index.rows() {
		from, to := x.textsOf(row)
		at := found.next(from, to)
		if at < 0 || !fits(row) {
			continue
		}
		for ; at >= 0; at = found.next(at+1, to) {
			if said := x.texts[at]; len(roles) == 0 || slices.Contains(roles, said.role()) {
				hits = append(hits, Hit{row, Passage{Turn: int(said >> 3), Role: said.role()}, at - from})
			}
		}
		if surely && most >= 0 && len(hits) > most {
			break
		}
	}
	x.mu.RUnlock()
	if !surely {
		if hits, err = r.verified(ctx, hits, words, most); err != nil {
			return nil, false, err
		}
	}
	if most >= 0 && len(hits) > most {
		hits, more = hits[:most], true
	}
	return hits, more, nil
}

// verified returns the hits whose words stand as the question asks, in their order, somewhat more than most at most. It
// reads their records, several at a time.
func (r *Run) verified(ctx context.Context, hits []Hit, words Words, most int) (good []Hit, err error) {
	const together = 4096
	for from := 0; from < len(hits) && (most < 0 || len(good) <= most); from += together {
		some := hits[from:min(len(hits), from+together)]
		fit := make([]bool, len(some))
		err := r.each(ctx, some, func(i int, text string) {
			if fit[i] = words.Fit(text); fit[i] && most >= 0 {
				some[i].Text = strings.Clone(text)
			}
		})
		if err != nil {
			return nil, err
		}
		for i, h := range some {
			if fit[i] {
				good = append(good, h)
			}
		}
	}
	return good, nil
}

// Fill reads the texts of hits of one run. It returns ErrAnew if a record is not any more what it was.
func (r *Run) Fill(ctx context.Context, hits []Hit) error {
	return r.each(ctx, hits, func(i int, text string) { hits[i].Text = strings.Clone(text) })
}

// each calls do with each hit and what its text says, several at a time. The text counts until do returns.
func (r *Run) each(ctx context.Context, hits []Hit, do func(i int, text string)) error {
	log, err := runlog.OpenLog(r.Dir)
	if err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	defer func() { _ = log.Close() }() // nothing was written
	var work errgroup.Group
	workers := runtime.GOMAXPROCS(0)
	share := (len(hits) + workers - 1) / workers
	for from := 0; from < len(hits); from += share {
		work.Go(func() error {
			texts, buffer := runlog.NewBrief(runlog.Texts), []byte(nil)
			var of *Row
			var passages []Passage
			for i := from; i < min(len(hits), from+share); i++ {
				if err := ctx.Err(); err != nil {
					return err
				}
				h := &hits[i]
				if h.Row != of {
					var err error
					if buffer, err = lineAt(log, h.Row, buffer); err != nil {
						return r.doubt(err)
					}
					t, _, err := texts.Read(buffer)
					if err != nil {
						return fmt.Errorf("read the record of test %s: %w", h.TestID, err)
					}
					of, passages = h.Row, Passages(t)
				}
				if h.nth < len(passages) {
					do(i, passages[h.nth].Text)
				}
			}
			return nil
		})
	}
	return work.Wait()
}

// rows returns the rows of all tests and trials in the order of the run.
func (x *Index) rows() (rows []*Row) {
	rows = make([]*Row, 0, len(x.Tests))
	for _, list := range [][]*Entry{x.Tests, x.Pending} {
		for _, e := range list {
			if e.Verdict != "" {
				rows = append(rows, e.Row)
			}
			rows = append(rows, e.Of...)
		}
	}
	return rows
}
