package target

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
)

// key is a key of a file as a JSON Schema describes it.
type key struct {
	About      string          `json:"description"`
	Ref        string          `json:"$ref"`
	Type       any             `json:"type"`
	Enum       []any           `json:"enum"`
	Const      any             `json:"const"`
	Items      *key            `json:"items"`
	Any        []key           `json:"anyOf"`
	One        []key           `json:"oneOf"`
	Properties map[string]key  `json:"properties"`
	Required   []string        `json:"required"`
	More       json.RawMessage `json:"additionalProperties"`
	Defs       map[string]key  `json:"$defs"`
}

// plain are the words for definitions that need no section of their own.
var plain = map[string]string{
	"text": "text", "name": "text", "texts": "text or list of text", "flag": "true or false", "span": "time span",
	"object": "map",
}

// definitions are those of the schema.
var definitions map[string]key

// TestReference compares docs/reference/configuration.md with the schema: UPDATE_GOLDEN=1 writes it.
func TestReference(t *testing.T) {
	var root key
	written, err := json.Marshal(strictSchema())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(written, &root); err != nil {
		t.Fatal(err)
	}
	file := root.Defs["file"]
	definitions = root.Defs
	var b strings.Builder
	fmt.Fprintf(&b, "# Configuration\n\nWritten from the schema of rehearse.yaml (`rehearse schema config`); "+
		"do not edit. %s\n\n## rehearse.yaml\n\n", root.About)
	file.table(&b)
	for _, name := range slices.Sorted(maps.Keys(root.Defs)) {
		def := root.Defs[name]
		if name == "file" || len(def.Properties) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", name)
		if def.About != "" {
			fmt.Fprintf(&b, "%s.\n\n", strings.TrimSuffix(def.About, "."))
		}
		def.table(&b)
	}
	golden.Compare(t, "../../../../docs/reference/configuration.md", b.String())
}

func (k *key) table(b *strings.Builder) {
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	b.WriteString("| key | value | meaning |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(k.Properties)) {
		of := k.Properties[name]
		value := of.value()
		if slices.Contains(k.Required, name) {
			value += " (required)"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, cell.Replace(value), cell.Replace(of.About))
	}
}

// value says in a few words what a key may hold.
func (k *key) value() string {
	switch {
	case k.Ref != "":
		name := k.Ref[strings.LastIndexByte(k.Ref, '/')+1:]
		if words := plain[name]; words != "" {
			return words
		}
		if def := definitions[name]; len(def.Properties) == 0 {
			return def.value()
		}
		return "[" + name + "](#" + name + ")"
	case k.Const != nil:
		return fmt.Sprintf("`%v`", k.Const)
	case len(k.Enum) > 0:
		words := make([]string, len(k.Enum))
		for i, word := range k.Enum {
			words[i] = fmt.Sprintf("`%v`", word)
		}
		return strings.Join(words, ", ")
	case k.Items != nil:
		return "list of " + k.Items.value()
	case len(k.Any)+len(k.One) > 0:
		var ways []string
		for _, way := range append(k.Any, k.One...) {
			if said := way.value(); !slices.Contains(ways, said) {
				ways = append(ways, said)
			}
		}
		return strings.Join(ways, " or ")
	}
	var of key
	if json.Unmarshal(k.More, &of) == nil && (of.Ref != "" || of.Type != nil || len(of.Any) > 0) {
		return "map of names to " + of.value()
	}
	switch kind := k.Type.(type) {
	case string:
		return map[string]string{
			"string": "text", "object": "map", "boolean": "true or false", "integer": "whole number",
			"number": "number", "null": "null", "array": "list",
		}[kind]
	case []any:
		words := make([]string, len(kind))
		for i, one := range kind {
			alone := key{Type: one}
			words[i] = alone.value()
		}
		return strings.Join(words, " or ")
	}
	return "any"
}
