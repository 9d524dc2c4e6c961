package langfuse

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"strconv"
)

const (
	// pageSize is the number of rows asked for in a page. Langfuse's cloud answers with 5 MB at most, so a row may have
	// 100 KB.
	pageSize = 50
	// maxRows bounds the rows of a list.
	maxRows = 1_000_000
	// maxPasses is how often a list that changes is read from its beginning.
	maxPasses = 3
	// maxBack is how often a pass goes back because of deleted rows.
	maxBack = 1000
)

// row is an element of a list.
type row interface {
	answer
	// key identifies a row.
	key() string
}

// page is one page of a list.
type page[T row] struct {
	Data *[]T `json:"data"`
	Meta *struct {
		Limit      int  `json:"limit"`
		TotalItems *int `json:"totalItems"`
	} `json:"meta"`
}

func (p page[T]) lacks() string {
	switch {
	case p.Data == nil:
		return "data"
	case p.Meta == nil || p.Meta.TotalItems == nil:
		return "meta.totalItems"
	}
	return rowsLack(*p.Data)
}

func rowsLack[T row](rows []T) string {
	for i, r := range rows {
		if missing := r.lacks(); missing != "" {
			return fmt.Sprintf("data[%d].%s", i, missing)
		}
		if len(r.key()) > maxName {
			return fmt.Sprintf("a short name or id in data[%d]", i)
		}
	}
	return ""
}

// pages yields the rows of a list, each once, while others may add and delete rows.
//
// The total on every page shows changes. When it shrinks, rows that were read are gone and others have moved to pages
// that were read, so as many pages are read again. When it grows, or rows are missing at the end, the list is read
// again from its beginning. Repeated rows are dropped by key. A list that is still incomplete after three readings is
// an error. One change goes unnoticed: a row that is added while another one is deleted between the same two pages.
func pages[T row](ctx context.Context, c *Client, r request) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		w := reading[T]{c: c, r: r, seen: map[string]bool{}}
		for range maxPasses {
			more, err := w.pass(ctx, yield)
			if err != nil {
				yield(*new(T), err)
			}
			if !more || err != nil || !w.grew && len(w.seen) >= w.total {
				return
			}
		}
		if len(w.seen) < w.total {
			yield(*new(T), c.malformed(r, fmt.Sprintf(
				"%d of %d rows came: the list changes faster than it can be read; try again", len(w.seen), w.total)))
		}
	}
}

type reading[T row] struct {
	c    *Client
	r    request
	seen map[string]bool
	// total is the total of the latest page; grew is true when it has risen within a pass.
	total int
	grew  bool
}

// pass reads a list from beginning to end. more is false when the reader has stopped.
func (w *reading[T]) pass(ctx context.Context, yield func(T, error) bool) (more bool, err error) {
	w.grew = false
	back := 0
	for number, first := 1, true; ; first = false {
		p, err := w.get(ctx, number)
		if err != nil {
			return false, err
		}
		for _, row := range *p.Data {
			if w.seen[row.key()] {
				continue
			}
			w.seen[row.key()] = true
			if !yield(row, nil) {
				return false, nil
			}
		}
		limit, before := p.limit(), w.total
		w.total = *p.Meta.TotalItems
		if w.total > maxRows || len(w.seen) > maxRows {
			return false, w.c.malformed(w.r, fmt.Sprintf("the list has more than %d rows", maxRows))
		}
		switch {
		case !first && w.total < before:
			if back++; back > maxBack {
				return false, w.c.malformed(w.r, "the list shrinks without end; try again")
			}
			number = max(1, number-(before-w.total+limit-1)/limit)
		case len(*p.Data) == 0 || number*limit >= w.total:
			return true, nil
		default:
			w.grew = w.grew || !first && w.total > before
			number++
		}
	}
}

func (w *reading[T]) get(ctx context.Context, number int) (page[T], error) {
	r := w.r
	r.query = url.Values{"page": {strconv.Itoa(number)}, "limit": {strconv.Itoa(pageSize)}}
	maps.Copy(r.query, w.r.query)
	var p page[T]
	err := w.c.do(ctx, r, &p)
	return p, err
}

// limit is the server's page size: the size asked for, unless the server has a lower limit.
func (p page[T]) limit() int {
	if p.Meta.Limit > 0 && p.Meta.Limit < pageSize {
		return p.Meta.Limit
	}
	return pageSize
}
