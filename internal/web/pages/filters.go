package pages

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// filter is a parameter with its values, one of which an entry must fit.
type filter[T any] struct {
	name string
	fits func(T) bool
}

// filters must all fit.
type filters[T any] []filter[T]

// add adds the filter of a parameter, if the query has it.
func (fs *filters[T]) add(q frame.Query, name string, fits func(x T, value string) bool) {
	values := q.Values[name]
	if len(values) == 0 {
		return
	}
	*fs = append(*fs, filter[T]{name, func(x T) bool {
		return slices.ContainsFunc(values, func(value string) bool { return fits(x, value) })
	}})
}

// all reports whether an entry fits all filters but the one that is named.
func (fs filters[T]) all(x T, without string) bool {
	for _, f := range fs {
		if f.name != without && !f.fits(x) {
			return false
		}
	}
	return true
}
