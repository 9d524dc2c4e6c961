package shell

import (
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

// Quote returns text as one word for bash.
func Quote(text string) string {
	quoted, err := syntax.Quote(text, syntax.LangBash)
	if err != nil { // no word of a shell has this text
		return strconv.Quote(text)
	}
	return quoted
}
