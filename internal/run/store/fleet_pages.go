package store

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"
)

const (
	// DefaultLimit is the number of items of a page where the caller names none.
	DefaultLimit = 100
	// MaxLimit is the number of items of a page at most.
	MaxLimit = 1_000
)

// PageOf says which page of a list is wanted. The zero value is the first, of DefaultLimit items.
type PageOf struct {
	// Limit is the number of items at most; 0 is DefaultLimit, and more than MaxLimit is MaxLimit.
	Limit int
	// Cursor is the Next of the page before; empty for the first page.
	Cursor string
}

// Page is a part of a list. Going from cursor to cursor gives every item that is there all the while exactly once.
type Page[T any] struct {
	Items []T `json:"items"`
	// Next is the cursor of the next page, nil for the last.
	Next *string `json:"next_cursor"`
}

func (p PageOf) limit() int {
	if p.Limit <= 0 {
		return DefaultLimit
	}
	return min(p.Limit, MaxLimit)
}

// newCursor makes a cursor of where a page of a kind has ended.
func newCursor(kind, at string) *string {
	return new(base64.RawURLEncoding.EncodeToString([]byte(kind + " " + at)))
}

// after returns where the page begins that is wanted, "" for the first one.
func (p PageOf) after(f *Fleet, kind string) (at string, err error) {
	if p.Cursor == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	at, ok := strings.CutPrefix(string(text), kind+" ")
	if err != nil || !ok || at == "" || plainText(at) != at {
		return "", f.badCursor()
	}
	return at, nil
}

// number returns where the page begins that is wanted, none for the first one.
func (p PageOf) number(f *Fleet, kind string, none int64) (int64, error) {
	at, err := p.after(f, kind)
	if err != nil || at == "" {
		return none, err
	}
	n, err := strconv.ParseInt(at, 10, 64)
	if err != nil || n < 0 {
		return 0, f.badCursor()
	}
	return n, nil
}

func (f *Fleet) badCursor() error {
	return f.fault("read a page from", "the cursor is not one of this list",
		"give next_cursor of the page before, or none for the first page", ErrCursor)
}

// newPage makes a page of items, of which one more than the limit was asked for.
func newPage[T any](items []T, limit int, cursor func(last T) *string) Page[T] {
	if len(items) > limit {
		items = items[:limit]
		return Page[T]{Items: items, Next: cursor(items[limit-1])}
	}
	if items == nil {
		items = []T{}
	}
	return Page[T]{Items: items}
}

// list reads the items of a page.
func list[T any](ctx context.Context, f *Fleet, op, query string, args []any,
	scan func(scanner) (T, error)) (items []T, err error) {
	err = f.read(ctx, op, query, args, func(row scanner) error {
		item, err := scan(row)
		items = append(items, item)
		return err
	})
	return items, err
}
