package siteconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// readRow reads the site of a row, or says what is wrong with it.
func readRow(file string, r row) (*site.Site, source.Problems) {
	problem := func(path, hint, format string, args ...any) source.Problems {
		return source.Problems{{File: file, Path: path, Message: fmt.Sprintf(format, args...), Hint: hint}}
	}
	switch {
	case max(r.size, len(r.config)) > maxConfig:
		return nil, problem("", "keep long texts in prompts and in the knowledge base",
			"the configuration is larger than %d MB", maxConfig>>20)
	case r.config == nil:
		return nil, problem("", "write the site's file as JSON into the column config", "the row has no configuration")
	}
	s, err := parse(file, r)
	if err != nil {
		if faults, ok := errors.AsType[source.Problems](err); ok {
			return nil, withoutPositions(faults)
		}
		return nil, problem("", "", "%v", err)
	}
	if s.Name != normal(r.site) {
		return nil, problem("site", "write the same name into both", "the configuration is of %q, but the row of %q",
			s.Name, clip(r.site, 60))
	}
	s.Warnings = withoutPositions(s.Warnings)
	return s, nil
}

func parse(file string, r row) (*site.Site, error) {
	root, err := source.ParseJSON(file, r.config, 1)
	if err != nil {
		return nil, err
	}
	return site.Load(file, encode(named(root, r.site)))
}

// named gives a configuration without a name that of its row.
func named(root source.Value, name string) source.Value {
	if had, _ := root.Get("site"); root.Kind != source.Map || had.Kind != source.Null {
		return root
	}
	others := slices.DeleteFunc(slices.Clone(root.Fields), func(f source.Field) bool { return f.Name == "site" })
	root.Fields = append([]source.Field{{Name: "site", Value: source.Text(name)}}, others...)
	return root
}

// normal writes a name as the library compares names.
func normal(name string) string {
	return strings.TrimSuffix(strings.ToLower(strings.TrimSpace(name)), ".")
}

// encode writes a value as JSON that is YAML too, which is what site.Load reads: a blank stands behind every colon, and
// characters outside of the basic plane are written as they are, because YAML knows no pairs of \u escapes.
func encode(v source.Value) []byte {
	var b bytes.Buffer
	write(&b, v)
	return b.Bytes()
}

func write(b *bytes.Buffer, v source.Value) {
	switch v.Kind {
	case source.Bool:
		b.WriteString(v.Scalar)
	case source.Number:
		writeNumber(b, v)
	case source.String:
		writeText(b, v.Scalar)
	case source.List:
		b.WriteByte('[')
		for i, item := range v.Items {
			separate(b, i)
			write(b, item)
		}
		b.WriteByte(']')
	case source.Map:
		b.WriteByte('{')
		for i, f := range v.Fields {
			separate(b, i)
			writeText(b, f.Name)
			b.WriteString(": ")
			write(b, f.Value)
		}
		b.WriteByte('}')
	default:
		b.WriteString("null")
	}
}

func separate(b *bytes.Buffer, i int) {
	if i > 0 {
		b.WriteString(", ")
	}
}

// writeNumber writes numbers as YAML and JSON both know them: 0x1F and 1_000 are none in JSON, and 1e3 is a text to the
// parser of YAML.
func writeNumber(b *bytes.Buffer, v source.Value) {
	if json.Valid([]byte(v.Scalar)) && !strings.ContainsAny(v.Scalar, "eE") {
		b.WriteString(v.Scalar)
		return
	}
	if f, ok := v.Float(); ok {
		b.WriteString(strconv.FormatFloat(f, 'f', -1, 64))
		return
	}
	writeText(b, v.Scalar)
}

func writeText(b *bytes.Buffer, text string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // texts always encode
	b.Truncate(b.Len() - 1)
}
