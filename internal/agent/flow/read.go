package flow

import (
	"bytes"
	_ "embed" // the published schema
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

//go:embed schema/execution_context.schema.json
var contextSchema []byte

//go:embed schema/execution_result.schema.json
var resultSchema []byte

// ContextSchema returns the published JSON Schema of a Context. It must not be changed.
func ContextSchema() []byte { return contextSchema }

// ResultSchema returns the published JSON Schema of a Result. It must not be changed.
func ResultSchema() []byte { return resultSchema }

var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(contextSchema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("ExecutionContext.v1", doc); err != nil {
		return nil, err
	}
	return compiler.Compile("ExecutionContext.v1")
})

// ReadContext checks JSON against the published schema and reads it. The error is an *Error with a JSON pointer.
func ReadContext(data []byte) (*Context, error) {
	schema, err := compiled()
	if err != nil {
		return nil, fmt.Errorf("execution context schema: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, &Error{Fault: Invalid, Message: "the body is not JSON", Hint: "send one JSON object", Err: err}
	}
	if at, found := outOfRange(doc, nil); found {
		return nil, &Error{Fault: Invalid, Pointer: pointerTo(at), Message: "the number does not fit"}
	}
	if err := schema.Validate(doc); err != nil {
		return nil, violation(err)
	}
	if err := oneOfEachKey(data); err != nil {
		return nil, err
	}
	var c Context
	if err := json.Unmarshal(data, &c); err != nil {
		if typed, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, &Error{
				Fault: Invalid, Pointer: "/" + strings.ReplaceAll(typed.Field, ".", "/"),
				Message: "the number does not fit",
			}
		}
		return nil, &Error{Fault: Invalid, Message: "the body cannot be read", Err: err}
	}
	c.storeMemory(data)
	return &c, nil
}

// maxExponent bounds the exponents of numbers, which the validator writes out as fractions; it panics beyond a million.
const maxExponent = 1_000

// outOfRange returns the location of a number with an exponent beyond maxExponent.
func outOfRange(v any, at []string) (location []string, found bool) {
	switch v := v.(type) {
	case json.Number:
		if i := strings.IndexAny(v.String(), "eE"); i >= 0 {
			exponent, err := strconv.Atoi(v.String()[i+1:])
			return at, err != nil || exponent < -maxExponent || exponent > maxExponent
		}
	case []any:
		for i, item := range v {
			if location, found = outOfRange(item, append(at, strconv.Itoa(i))); found {
				return location, true
			}
		}
	case map[string]any:
		for name, item := range v {
			if location, found = outOfRange(item, append(at, name)); found {
				return location, true
			}
		}
	}
	return nil, false
}

// oneOfEachKey refuses a body that has a key twice: readers differ in which of the two values they take.
func oneOfEachKey(data []byte) error {
	_, err := source.ParseJSON("body", data, 1)
	problems, ok := errors.AsType[source.Problems](err)
	if !ok || len(problems) == 0 {
		return nil
	}
	return &Error{
		Fault: Invalid, Message: strings.TrimPrefix(problems[0].Message, "not valid JSON: "),
		Hint: "write each key once",
	}
}

// storeMemory keeps the memory's JSON, so that a dry run can return it unchanged.
func (c *Context) storeMemory(data []byte) {
	var raw struct {
		Memory json.RawMessage `json:"memory"`
	}
	if json.Unmarshal(data, &raw) == nil {
		c.Memory.raw = raw.Memory
	}
}

// violation returns the most deeply nested fault that the schema finds.
func violation(err error) error {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return &Error{Fault: Invalid, Message: "the body does not follow the schema", Err: err}
	}
	leaf := deepest(invalid)
	return &Error{
		Fault: Invalid, Pointer: pointerTo(leaf.InstanceLocation),
		Message: reason(leaf),
		Hint:    "see execution_context.schema.json",
	}
}

// reason says what is wrong with a value.
func reason(leaf *jsonschema.ValidationError) string {
	switch broken := leaf.ErrorKind.(type) {
	case *kind.Not:
		return "this value is reserved"
	case *kind.MinLength:
		if broken.Want == 1 {
			return "the text is empty"
		}
		return fmt.Sprintf("the text has %d characters, and needs %d", broken.Got, broken.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("the text has %d characters, and may have %d", broken.Got, broken.Want)
	}
	return leaf.ErrorKind.LocalizedString(message.NewPrinter(language.English))
}

// deepest returns the innermost cause in the alternative that matched furthest.
func deepest(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return e
	}
	best := deepest(e.Causes[0])
	for _, cause := range e.Causes[1:] {
		if leaf := deepest(cause); len(leaf.InstanceLocation) > len(best.InstanceLocation) {
			best = leaf
		}
	}
	return best
}

// pointerTo writes a JSON pointer (RFC 6901); that of the whole document is empty.
func pointerTo(parts []string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(part, "~", "~0"), "/", "~1"))
	}
	return b.String()
}
