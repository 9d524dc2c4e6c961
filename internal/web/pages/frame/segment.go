package frame

import (
	"net/http"
	"net/url"
	"strings"
)

// Segment returns a name as one part of an address. Browsers take the parts "." and ".." for steps, escaped or not:
// before such a name stands a sign.
func Segment(name string) string {
	if isStep(name) {
		name = "~" + name
	}
	return url.PathEscape(name)
}

// Part returns the name that a part of a request's address stands for: what Segment was given.
func Part(r *http.Request, wildcard string) string {
	part := r.PathValue(wildcard)
	if name, signed := strings.CutPrefix(part, "~"); signed && isStep(name) {
		return name
	}
	return part
}

// isStep reports whether a name is a step of an address, or looks like one with signs before it.
func isStep(name string) bool {
	rest := strings.TrimLeft(name, "~")
	return rest == "." || rest == ".."
}
