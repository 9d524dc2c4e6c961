package text

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles an expression when it is first called: the program starts without. An
// expression that is invalid panics then.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
