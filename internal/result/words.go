package result

import (
	"reflect"
	"strings"

	"rehearse/internal/chat"
)

// Words returns the words that records themselves are made of: names of fields, verdicts, statuses, codes and roles. A reader of records
// needs them as they are.
func Words() map[string]bool {
	words := map[string]bool{"assertions": true, "type": true, "value": true, "text": true}
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
	seen := map[reflect.Type]bool{}
	fieldNames(reflect.TypeFor[Test](), words, seen)
	fieldNames(reflect.TypeFor[Run](), words, seen)
	delete(words, "")
	return words
}

// fieldNames adds the names in JSON of a type's fields, and of those inside of them.
func fieldNames(t reflect.Type, words map[string]bool, seen map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		fieldNames(t.Elem(), words, seen)
	case reflect.Struct:
		if seen[t] {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			words[name] = true
			fieldNames(t.Field(i).Type, words, seen)
		}
	}
}
