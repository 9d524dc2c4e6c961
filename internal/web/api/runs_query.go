package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// query reads the parameters of a list.
type query struct {
	values url.Values
	err    error
}

func (q *query) text(name string) string { return q.values.Get(name) }

// oneOf reads a parameter that has one of some values; empty stands for all of them.
func oneOf[T ~string](q *query, name string, known ...T) T {
	value := T(q.text(name))
	if value != "" && !slices.Contains(known, value) {
		names := make([]string, len(known))
		for i, one := range known {
			names[i] = string(one)
		}
		q.refuse(name, "use "+strings.Join(names, ", "))
	}
	return value
}

func (q *query) refuse(name, hint string) {
	if q.err == nil {
		q.err = newProblem(http.StatusBadRequest, codeQuery, fmt.Sprintf("the parameter %s cannot be read", name), hint)
	}
}

func (q *query) time(name string) (at time.Time) {
	if written := q.text(name); written != "" {
		var err error
		if at, err = time.Parse(time.RFC3339Nano, written); err != nil {
			q.refuse(name, "write a time as in 2026-01-31T12:00:00Z")
		}
	}
	return at
}

func (q *query) number(name string) *int {
	written := q.text(name)
	if written == "" {
		return nil
	}
	n, err := strconv.Atoi(written)
	if err != nil || n < 0 {
		q.refuse(name, "write a whole number")
	}
	return &n
}

// maxPage is the most that a page has.
const maxPage = 1000

// page reads which page is asked for. It refuses parameters that are not among the known ones.
func (q *query) page(known ...string) (store.PageOf, error) {
	page := store.PageOf{Cursor: q.text("cursor")}
	if n := q.number("limit"); n != nil {
		if page.Limit = *n; page.Limit < 1 || page.Limit > maxPage {
			q.refuse("limit", fmt.Sprintf("use 1 to %d", maxPage))
		}
	}
	for name, values := range q.values {
		if len(values) > 1 && name != "label" {
			q.refuse(clip(name, 100), "give it once")
		}
		if name != "limit" && name != "cursor" && !strings.Contains(" "+strings.Join(known, " ")+" ", " "+name+" ") {
			q.refuse(clip(name, 100), "known are "+strings.Join(known, ", "))
		}
	}
	return page, q.err
}
