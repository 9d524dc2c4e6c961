package grader

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// schemaURL is the address of the author's schema while it is compiled. Relative references resolve against it and find
// nothing.
const schemaURL = "rehearse:///schema.json"

// schema reads and compiles the parameter schema, nil when there is none.
func (a *Args) schema() *jsonschema.Schema {
	n, ok := a.Node("schema", "mapping or path",
		"a JSON Schema that the reply must follow, inline or in a JSON or YAML file; formats are checked", false)
	if !ok {
		return nil
	}
	value, err := a.schemaValue(n)
	if err != nil {
		n.Report("give the schema as a mapping, or the path of a file relative to the suite", "%s", err)
		return nil
	}
	doc, err := exactDocument(value)
	if err != nil {
		n.Report(fmt.Sprintf("write exponents from -%d to %[1]d", maxDecimals), "schema: %s", err)
		return nil
	}
	schema, err := compileSchema(doc)
	if err == nil {
		return schema
	}
	var broken *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &broken) || !errors.As(broken.Err, &invalid) {
		n.Report("keep the schema in one piece: references to other files and addresses are not followed",
			"schema: %s", err)
		return nil
	}
	leaf := slices.MinFunc(leaves(invalid), byPosition)
	at := n
	if n.Kind == source.Map {
		at = descend(n, leaf.InstanceLocation)
	}
	at.Report("see https://json-schema.org/understanding-json-schema/reference", "not a valid JSON Schema: %s",
		violation(leaf))
	return nil
}

func (a *Args) schemaValue(n source.Node) (source.Value, error) {
	switch n.Kind {
	case source.Map:
		return n.Value, nil
	case source.String:
		path := n.Scalar
		if !filepath.IsAbs(path) {
			path = filepath.Join(a.Assertion.Dir, path)
		}
		info, err := a.set.Files.Stat(path)
		if err != nil {
			return source.Value{}, fmt.Errorf("schema file: %w", err)
		}
		if !info.Mode().IsRegular() || info.Size() > source.MaxBytes {
			return source.Value{}, fmt.Errorf("schema file %s: not a file of reasonable size", n.Scalar)
		}
		data, err := a.set.Files.ReadFile(path)
		if err != nil {
			return source.Value{}, fmt.Errorf("schema file: %w", err)
		}
		return parseFile(a.set.Files, n.Scalar, data)
	}
	return source.Value{}, fmt.Errorf("expected a mapping or a path, got %s", n.Kind)
}

// exactDocument returns a document as encoding/json decodes it, with each number as it is written: rounded to float64,
// a limit could allow what it forbids. A number with an exponent beyond maxDecimals is an error, because the library
// ignores such a limit.
func exactDocument(v source.Value) (any, error) {
	var err error
	switch v.Kind {
	case source.Number:
		text := []byte(v.Scalar)
		if !json.Valid(text) { // a form of YAML, such as 0x1F, +5 or .5
			if text, err = json.Marshal(v.Any()); err != nil {
				return nil, err
			}
			if text[0] == '"' {
				return v.Scalar, nil
			}
		}
		number := json.Number(text)
		if exp := readFigure(number.String()).exp; exp < -maxDecimals || exp > maxDecimals {
			return nil, fmt.Errorf("the number %.20s… is out of range", number)
		}
		return number, nil
	case source.List:
		items := make([]any, len(v.Items))
		for i, item := range v.Items {
			if items[i], err = exactDocument(item); err != nil {
				return nil, err
			}
		}
		return items, nil
	case source.Map:
		fields := make(map[string]any, len(v.Fields))
		for _, f := range v.Fields {
			if fields[f.Name], err = exactDocument(f.Value); err != nil {
				return nil, err
			}
		}
		return fields, nil
	}
	return v.Any(), nil
}

func parseFile(files source.Files, name string, data []byte) (source.Value, error) {
	parse := files.ParseYAML
	if strings.EqualFold(filepath.Ext(name), ".json") {
		parse = func(name string, data []byte) (source.Value, error) { return files.ParseJSON(name, data, 1) }
	}
	v, err := parse(name, data)
	var problems source.Problems
	if errors.As(err, &problems) && len(problems) > 0 {
		p := problems[0]
		return v, fmt.Errorf("schema file %s, line %d, column %d: %s", name, p.Line, p.Column, p.Message)
	}
	return v, err
}

func compileSchema(doc any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // has no scheme: a schema must not read files or the network
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// violations returns what the schema forbids in a value: the first few faults in the order of their places.
func violations(err error) []string {
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []string{err.Error()}
	}
	faults := leaves(invalid)
	slices.SortStableFunc(faults, byPosition)
	var shown []string
	for _, leaf := range faults[:min(len(faults), maxListed)] {
		shown = append(shown, violation(leaf))
	}
	if rest := len(faults) - maxListed; rest > 0 {
		shown = append(shown, fmt.Sprintf("%d more", rest))
	}
	return shown
}

// leaves returns the innermost causes of a failed validation; these name the faults.
func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var all []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		all = append(all, leaves(cause)...)
	}
	return all
}

// byPosition orders faults by where they are; the library walks through objects in random order.
func byPosition(x, y *jsonschema.ValidationError) int {
	return slices.Compare(x.InstanceLocation, y.InstanceLocation)
}

func violation(leaf *jsonschema.ValidationError) string {
	text := faultText(leaf.ErrorKind)
	if len(text) > maxQuoted {
		text = text[:runeStart(text, maxQuoted)] + "…"
	}
	return "at /" + strings.Join(leaf.InstanceLocation, "/") + ": " + text
}

// faultText returns the library's text for a fault, except that numbers are exact: rounded, both could read the same.
func faultText(fault jsonschema.ErrorKind) string {
	numbers := func(keyword string, got, want *big.Rat) string {
		return fmt.Sprintf("%s: got %s, want %s", keyword, exactDecimal(got), exactDecimal(want))
	}
	switch k := fault.(type) {
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
	case *kind.Minimum:
		return numbers("minimum", k.Got, k.Want)
	case *kind.Maximum:
		return numbers("maximum", k.Got, k.Want)
	case *kind.ExclusiveMinimum:
		return numbers("exclusiveMinimum", k.Got, k.Want)
	case *kind.ExclusiveMaximum:
		return numbers("exclusiveMaximum", k.Got, k.Want)
	case *kind.MultipleOf:
		return numbers("multipleOf", k.Got, k.Want)
	}
	return fault.LocalizedString(message.NewPrinter(language.English))
}

// exactDecimal writes a decimal fraction in full.
func exactDecimal(r *big.Rat) string {
	places, _ := r.FloatPrec()
	return r.FloatString(places)
}

// descend returns the node that a JSON pointer leads to.
func descend(n source.Node, pointer []string) source.Node {
	for _, token := range pointer {
		index, err := strconv.Atoi(token)
		if n.Kind == source.List && err == nil {
			n = item(n, index)
			continue
		}
		n = n.Field(token)
	}
	return n
}
