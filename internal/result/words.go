package result

import (
	"reflect"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/source"
)

// Words returns the words that records themselves are made of: names of fields, verdicts, statuses, codes and roles. A reader of records
// needs them as they are. The names of turns are words, too (IsTurn).
func Words() map[string]bool {
	words := map[string]bool{"valid": true, "assertions": true, "type": true, "value": true, "text": true}
	for _, v := range []Verdict{Pass, Fail, Error, Skip} {
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
	for _, t := range []reflect.Type{reflect.TypeFor[Test](), reflect.TypeFor[Run](), reflect.TypeFor[source.Problem]()} {
		for _, name := range source.FieldNames(t) {
			words[name] = true
		}
	}
	return words
}

// IsTurn reports whether a text is the name of a turn's score item, "turn-1" and so on.
func IsTurn(name string) bool {
	digits, ok := strings.CutPrefix(name, "turn-")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
