package result

import (
	"reflect"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Words returns a function that reports whether a text is a word that records themselves are made of: the name of a
// field, a turn's score item (IsTurn), a verdict, a status, a code or a role. A reader of records needs them unmasked.
func Words() func(text string) bool {
	words := map[string]bool{"valid": true, "assertions": true, "type": true, "value": true, "text": true}
	for _, v := range Verdicts {
		words[string(v)] = true
	}
	for _, s := range []Status{OK, QualityFailure, ExecutionError} {
		words[string(s)] = true
	}
	for _, c := range Codes {
		words[string(c)], words[c.Source()] = true, true
	}
	for _, r := range []chat.Role{chat.System, chat.User, chat.Assistant, chat.Tool} {
		words[string(r)] = true
	}
	for _, reason := range []string{"running", "passed", "failed", "errors", "budget", "interrupted", "aborted"} {
		words[reason] = true
	}
	for _, t := range []reflect.Type{
		reflect.TypeFor[Test](), reflect.TypeFor[Run](), reflect.TypeFor[source.Problem](),
	} {
		for _, name := range source.FieldNames(t) {
			words[name] = true
		}
	}
	return func(text string) bool { return words[text] || IsTurn(text) }
}

// IsTurn reports whether a text is the name of a turn's score item, "turn-1" and so on.
func IsTurn(name string) bool {
	digits, ok := strings.CutPrefix(name, "turn-")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
