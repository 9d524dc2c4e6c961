package langfuse

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"strconv"
)

// maxEmpty is the greatest number of successive pages without rows.
const maxEmpty = 3

// stretch is a part of a list with a cursor for the next part.
type stretch[T row] struct {
	Data *[]T `json:"data"`
	Meta *struct {
		Cursor *string `json:"cursor"`
	} `json:"meta"`
}

func (s stretch[T]) lacks() string {
	switch {
	case s.Data == nil:
		return "data"
	case s.Meta == nil:
		return "meta"
	}
	return rowsLack(*s.Data)
}

// next returns the cursor of the next part; "" at the end.
func (s stretch[T]) next() string {
	if s.Meta.Cursor == nil {
		return ""
	}
	return *s.Meta.Cursor
}

// stretches yields the rows of a list with cursors, each once.
func stretches[T row](ctx context.Context, c *Client, r request) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		seen := map[string]bool{}
		empty := 0
		for cursor := ""; ; {
			s, err := cursorGet[T](ctx, c, r, cursor)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, row := range *s.Data {
				if seen[row.key()] {
					continue
				}
				seen[row.key()] = true
				if !yield(row, nil) {
					return
				}
			}
			if empty++; len(*s.Data) > 0 && s.next() != cursor {
				empty = 0
			}
			if cursor = s.next(); cursor == "" {
				return
			}
			if empty >= maxEmpty || len(seen) > maxRows {
				yield(*new(T), c.malformed(r, fmt.Sprintf("the list does not end (after %d rows)", len(seen))))
				return
			}
		}
	}
}

func cursorGet[T row](ctx context.Context, c *Client, r request, cursor string) (stretch[T], error) {
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	maps.Copy(query, r.query)
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	r.query = query
	var s stretch[T]
	err := c.do(ctx, r, &s)
	return s, err
}
