package store

import (
	"context"
	"iter"
)

const (
	// rowsPerPage and pageBytes bound a page, which is full when it has reached either. The first page is smaller,
	// because the size of the rows is not known yet.
	rowsPerPage = 1_000
	firstPage   = 50
	pageBytes   = 4 << 20
)

// pages reads a long list page by page, so that it needs no connection while the caller is busy.
type pages[T any] struct {
	// read hands at most limit items to take, in order, beginning after the last one that it handed over, until take
	// returns false.
	read func(ctx context.Context, limit int, take func(T) bool) error
	size func(T) int
}

// each yields every item. After an error it yields nothing more.
func (p pages[T]) each(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var page []T
		// PostgreSQL sends all rows that it was asked for, so fewer are asked for when items are large.
		limit := firstPage
		for {
			page = page[:0]
			size := 0
			err := p.read(ctx, limit, func(item T) bool {
				page = append(page, item)
				size += p.size(item)
				return size < pageBytes
			})
			if err != nil {
				page = nil
			}
			for _, item := range page {
				if err = ctx.Err(); err != nil {
					break
				}
				if !yield(item, nil) {
					return
				}
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			if len(page) < limit && size < pageBytes {
				return
			}
			limit = max(1, min(rowsPerPage, 2*limit, pageBytes/(size/len(page)+1)))
		}
	}
}
