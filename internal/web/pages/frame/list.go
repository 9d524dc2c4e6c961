package frame

import (
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// perPage and maxPer are how many entries a page of a list has.
const (
	perPage = 100
	maxPer  = 500
)

// List is a page of a list.
type List struct {
	Name            string
	Total, From, To int
	Prev, Next      string
	// Empty says why there is nothing; Drop are the filters without which there would be more.
	Empty string
	Drop  []Link
}

// Query is the state of a page as its address has it: the parameters that the page knows.
type Query struct {
	Path   string
	Values url.Values
}

// QueryOf returns the parameters of a request that a page knows; others are ignored.
func QueryOf(r *http.Request, path string, known ...string) Query {
	return Query{path, Only(r.URL.Query(), known...)}
}

// Only returns the parameters that are known and not empty.
func Only(values url.Values, known ...string) url.Values {
	kept := url.Values{}
	for _, name := range known {
		for _, value := range values[name] {
			if value != "" && !slices.Contains(kept[name], value) {
				kept[name] = append(kept[name], value)
			}
		}
	}
	return kept
}

// Get returns the first value of a parameter.
func (q Query) Get(name string) string { return q.Values.Get(name) }

// With returns the address with a parameter set, or left out for an empty value; one of several values must fit. A list
// begins at its first page again.
func (q Query) With(name string, value ...string) string {
	values := url.Values{}
	for n, v := range q.Values {
		if n != name && (n != "page" || name == "per") {
			values[n] = v
		}
	}
	if set := slices.DeleteFunc(slices.Clone(value), func(v string) bool { return v == "" }); len(set) > 0 {
		values[name] = set
	}
	return Address(q.Path, values)
}

// Address returns an address with its parameters in a fixed order.
func Address(path string, values url.Values) string {
	if encoded := values.Encode(); encoded != "" {
		return path + "?" + encoded
	}
	return path
}

// Page cuts the page that a query asks for out of a list of so many entries: those from first to last, without last.
func (q Query) Page(name string, total int) (list List, first, last int) {
	page, per := q.number("page", 1, 1<<40), q.number("per", perPage, maxPer)
	list = List{Name: name, Total: total}
	first = min((page-1)*per, total)
	last = min(first+per, total)
	if first < last {
		list.From, list.To = first+1, last
	} else if total > 0 {
		list.Empty = "This page is beyond the end of the list, which has " + text.Count(total) + "."
	}
	if page > 1 {
		list.Prev = q.paged(min(page-1, max(1, (total+per-1)/per)))
	}
	if last < total {
		list.Next = q.paged(page + 1)
	}
	return list, first, last
}

// paged returns the address of another page of the list.
func (q Query) paged(page int) string {
	values := url.Values{}
	maps.Copy(values, q.Values)
	values.Del("page")
	if page > 1 {
		values.Set("page", strconv.Itoa(page))
	}
	return Address(q.Path, values)
}

// number reads a parameter from 1 to most; what is no such number is the default.
func (q Query) number(name string, otherwise, most int) int {
	n, err := strconv.Atoi(q.Values.Get(name))
	if err != nil || n < 1 {
		return otherwise
	}
	return min(n, most)
}

// Figure is a number of a page. Data is its plain value, empty when it is not known; Low and High are the bounds of its
// interval.
type Figure struct {
	Name, Label           string
	Value                 string
	Data, Low, High, Note string
	Target                string
}

// Plain writes a number as attributes have it.
func Plain(x float64) string {
	if math.IsInf(x, 0) || math.IsNaN(x) { // sums of numbers that no run has
		return ""
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
