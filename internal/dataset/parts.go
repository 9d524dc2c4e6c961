package dataset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"rehearse/internal/source"
)

// textOr reads a part that is a text, or an object.
func textOr(data json.RawMessage, text *string, object any) error {
	if json.Unmarshal(data, text) == nil || len(data) == 0 {
		return nil
	}
	return json.Unmarshal(data, object)
}

// jsonFault says what is wrong with the JSON of a part.
func jsonFault(err error) string {
	typed, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err.Error()
	}
	kind, _, _ := strings.Cut(typed.Value, " ") // "number 5"
	is := map[string]string{"array": "a list", "object": "an object", "string": "a text", "number": "a number", "bool": "true or false"}[kind]
	return fmt.Sprintf("%s is %s where %s belongs", cmp.Or(typed.Field, "it"), cmp.Or(is, typed.Value), source.KindOf(typed.Type))
}
