// Package schematest compares JSON Schemas of documents with the readers of these documents.
package schematest

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Compile returns a schema that is ready to validate documents.
func Compile(t testing.TB, schema []byte) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("document.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("document.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Compare checks that the schema accepts every YAML document that its reader accepts, and every mutation of one: a
// value less, a value of another kind, or an unknown key. The schema must refuse at least the given share of the
// mutations that the reader refuses.
func Compare(t *testing.T, schema []byte, read func(data []byte) error, share float64, documents ...string) {
	t.Helper()
	s := Compile(t, schema)
	var both, reader int
	for _, document := range documents {
		v, err := source.ParseYAML("document.yaml", []byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if err := read([]byte(document)); err != nil {
			t.Errorf("the reader refuses %s: %v", document, err)
		}
		if err := s.Validate(v.Any()); err != nil {
			t.Errorf("the schema refuses %s: %v", document, err)
		}
		for _, changed := range mutations(v.Any()) {
			data, err := json.Marshal(changed)
			if err != nil {
				t.Fatal(err)
			}
			faults, refused := read(data), s.Validate(changed)
			switch {
			case faults != nil && refused != nil:
				both++
				fallthrough
			case faults != nil:
				reader++
			case refused != nil:
				t.Errorf("the schema refuses, and the reader accepts, %s: %v", data, refused)
			}
		}
	}
	if float64(both) < share*float64(reader) {
		t.Errorf("the schema refuses %d of the %d mutations that the reader refuses", both, reader)
	}
}

// CompareFiles checks that the schema accepts every YAML and JSON file below some folders that its reader accepts, of
// which there must be some.
func CompareFiles(t *testing.T, schema []byte, read func(data []byte) error, least int, folders ...string) {
	t.Helper()
	s, accepted := Compile(t, schema), 0
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil || read(data) != nil {
				return err
			}
			accepted++
			documents, err := source.Files{}.ParseYAMLStream(path, data)
			for _, v := range documents {
				if err := s.Validate(v.Any()); err != nil {
					t.Errorf("the schema refuses %s: %v", path, err)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if accepted < least {
		t.Errorf("the reader accepts %d files, expected at least %d", accepted, least)
	}
}

// mutations returns a document with each of its values replaced in turn or removed, and with an unknown key in each
// mapping.
func mutations(doc any) []any {
	all := []any{
		nil, true, false, -1.0, 0.5, 1e6, "", " ", "A b", "true", "7", "@return", "http://a.example/", []any{},
		[]any{nil}, []any{1.0}, []any{"a", "a"}, map[string]any{}, map[string]any{"q": 1.0},
	}
	switch v := doc.(type) {
	case map[string]any:
		more := maps.Clone(v)
		more["qqqq"] = 1.0
		all = append(all, more)
		for key, value := range v {
			less := maps.Clone(v)
			delete(less, key)
			all = append(all, less)
			for _, changed := range mutations(value) {
				with := maps.Clone(v)
				with[key] = changed
				all = append(all, with)
			}
		}
	case []any:
		for i, value := range v {
			for _, changed := range mutations(value) {
				with := slices.Clone(v)
				with[i] = changed
				all = append(all, with)
			}
		}
	}
	return all
}
