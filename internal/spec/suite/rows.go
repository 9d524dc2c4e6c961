package suite

import (
	"encoding/csv"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ohler55/ojg/jp"

	"github.com/rehearse-dev/rehearse/internal/base/jsonpath"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Row is one record of a data file. Its Line is where it stands.
type Row struct {
	source.Value
	// File is the data file, Number the row's place in it, from 1.
	File   string
	Number int
	doc    any
	// placed is true of a row of which a test is made: {{ in its texts is plain, and names are the variables that
	// templates leave to the test.
	placed bool
	names  func(string) bool
}

// Has lists in words the keys of a row, those with a null left out.
func (r *Row) Has() string {
	if r.Kind != source.Map {
		return "the row is " + r.Kind.String()
	}
	var keys []string
	for _, f := range r.Fields {
		if f.Value.Kind != source.Null {
			keys = append(keys, text.OneLine(f.Name, 40))
		}
	}
	if len(keys) == 0 {
		return "the row has no values"
	}
	const most = 12
	if len(keys) > most {
		keys = append(keys[:most], "…")
	}
	return "the row has " + strings.Join(keys, ", ")
}

// Rows yields the rows of a data file: lines of .jsonl, rows of .csv, and elements of the list that a .json or .yaml
// file is, each also as .gz. A file that is a mapping is one row if whole returns true for it; else the rows are its
// only list of mappings. Errors are source.Problems; reading continues after a bad row where it can.
func Rows(files source.Files, file string, whole func(*Row) bool) iter.Seq2[*Row, error] {
	return (&testFile{files: files, name: file}).rows(whole)
}

// HasRows reports whether a file is called as data files are.
func HasRows(name string) bool { return readable(format(name)) }

// rows is Rows for a file whose list is parsed once.
func (f *testFile) rows(whole func(*Row) bool) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		number := 0
		give := func(v source.Value, err error) bool {
			number++
			return yield(&Row{Value: v, File: f.name, Number: number, doc: v.Any()}, err)
		}
		var values iter.Seq2[source.Value, error]
		switch format(f.name) {
		case ".jsonl":
			values = readLines(f.files, f.name)
		case ".csv":
			values = eachRow(f.files, f.name, checkColumns, readRow)
		case ".json", ".yaml", ".yml":
			if !f.parsed {
				if err := f.parseRows(whole); err != nil {
					give(source.Value{}, err)
					return
				}
			}
			for v := range f.list.All() {
				if !give(v, nil) {
					return
				}
			}
			return
		default:
			give(source.Value{}, source.Problems{{
				File: f.name, Message: "the name does not show the file's format",
				Hint: "use the extension .jsonl, .json, .csv or .yaml, each also with .gz",
			}})
			return
		}
		for v, err := range values {
			if !give(v, err) {
				return
			}
		}
	}
}

// parseRows parses a JSON or YAML file and finds its rows.
func (f *testFile) parseRows(whole func(*Row) bool) error {
	data, err := readBounded(f.files, f.name, source.MaxBytes)
	if err != nil {
		return fileProblem(f.name, err)
	}
	root, list, err := parse(f.files, f.name, data)
	if err != nil {
		return err
	}
	if root.Kind == source.Map && list.Len() == 0 {
		list = source.Pack([]source.Value{root})
		if !whole(&Row{Value: root, File: f.name, Number: 1, doc: root.Any()}) {
			lists := slices.DeleteFunc(slices.Clone(root.Fields), func(field source.Field) bool {
				items := field.Value.Items
				return len(items) == 0 ||
					slices.ContainsFunc(items, func(item source.Value) bool { return item.Kind != source.Map })
			})
			if len(lists) == 1 {
				list = source.Pack(lists[0].Value.Items)
			}
		}
	} else if root.Kind != source.List && root.Kind != source.Map {
		return source.Problems{{
			File: f.name, Line: root.Line, Column: root.Column, Hint: "write a list of objects",
			Message: fmt.Sprintf("expected a list of rows, got %s", root.Kind),
		}}
	}
	f.list, f.parsed = list, true
	return nil
}

// checkColumns reports columns of the same name.
func checkColumns(file string, header []string, rows *csv.Reader) (problems source.Problems) {
	for i, name := range header {
		if slices.Index(header, name) < i {
			line, column := rows.FieldPos(i)
			problems = append(problems, source.Problem{
				File: file, Path: name, Line: line, Column: column,
				Message: fmt.Sprintf("the column %q stands twice", name), Hint: "keep one of the two",
			})
		}
	}
	return problems
}

// readRow reads a row of a table as a mapping of texts. An empty cell is null; one that is a JSON list or object is
// read as one.
func readRow(file string, header, row []string, rows *csv.Reader) (source.Value, error) {
	line, _ := rows.FieldPos(0)
	if err := checkCells(file, header, row, rows); err != nil {
		return source.Value{}, err
	}
	v := source.Value{Kind: source.Map, Line: line, Column: 1}
	for i, cell := range row {
		line, column := rows.FieldPos(i)
		value := source.Value{Kind: source.String, Scalar: cell, Line: line, Column: column}
		if blank(cell) {
			value.Kind, value.Scalar = source.Null, ""
		} else if start := strings.TrimSpace(cell)[0]; start == '[' || start == '{' {
			if parsed, err := source.ParseJSON(file, []byte(cell), line); err == nil {
				value = parsed
			}
		}
		v.Fields = append(v.Fields, source.Field{Name: header[i], Line: line, Column: column, Value: value})
	}
	return v, nil
}

// RowField makes a value of each row of a data file. It is written as a JSONPath, as a text with {{ PATH }} in it, as
// {path, or}, or as a mapping or list of these, whose other texts are plain.
type RowField struct {
	// at is the value as it is written.
	at   source.Value
	expr jp.Expr
	// or is the value for a row in which the path finds nothing; nil makes that row faulty.
	or *source.Value
	// parts are those of a text with paths, items and fields those of a list and a mapping.
	parts  []textPart
	items  []RowField
	fields []namedField
}

type namedField struct {
	name string
	RowField
}

// textPart is a plain text, or what a path finds.
type textPart struct {
	plain, written, name string
	expr                 jp.Expr
}

// rowPath matches {{ PATH }} in a template. A path without $ may name a variable of the test instead.
var rowPath = text.Regexp(`\\\{\{|\$\{\{|\{\{\s*([^{}]+?)\s*\}\}`)

// DecodeNode reads a field of a map.
func (f *RowField) DecodeNode(n source.Node) { f.read(n, true) }

// read reads a field. At the top, every text without {{ is a path; below, one with a $ is.
func (f *RowField) read(n source.Node, top bool) {
	f.at = n.Value
	switch {
	case n.Kind == source.List:
		for _, item := range n.List() {
			one := RowField{}
			one.read(item, false)
			f.items = append(f.items, one)
		}
	case n.Kind == source.Map && len(n.Fields) == 2 && n.Has("path") && has(n.Value, "or"):
		f.read(n.Field("path"), true)
		f.or = new(n.Field("or").Value)
	case n.Kind == source.Map:
		for name, value := range n.Entries() {
			one := namedField{name: name}
			one.read(value, false)
			f.fields = append(f.fields, one)
		}
	case n.Kind != source.String:
		if top {
			n.Report(jsonpath.Hint, "expected a path or a template, got %s", n.Kind)
		}
	case strings.Contains(n.Scalar, "{{"):
		f.readParts(n)
	case top || strings.HasPrefix(n.Scalar, "$.") || strings.HasPrefix(n.Scalar, "$["):
		f.expr = readPath(n, n.Scalar)
	}
}

// plainName matches a path that is a single key without its $.
var plainName = text.Regexp(`^[\pL\pN_][\pL\pN_ -]*$`)

// readPath reads a path; the leading $. is optional. A bad one is reported.
func readPath(n source.Node, path string) jp.Expr {
	if plainName().MatchString(path) {
		return jp.Expr{jp.Root('$'), jp.Child(path)}
	}
	expr, err := jsonpath.Parse(path)
	if err != nil {
		n.Report(jsonpath.Hint, "%q is not a JSONPath: %v", path, err)
	}
	return expr
}

func (f *RowField) readParts(n source.Node) {
	done := 0
	for _, m := range rowPath().FindAllStringSubmatchIndex(n.Scalar, -1) {
		if m[2] < 0 { // \{{ and ${{ are the suite's
			continue
		}
		f.parts = append(f.parts, textPart{plain: n.Scalar[done:m[0]]})
		done = m[1]
		path := n.Scalar[m[2]:m[3]]
		part := textPart{written: path, plain: n.Scalar[m[0]:m[1]], expr: readPath(n, path)}
		if !strings.HasPrefix(path, "$") {
			part.name = path
		}
		f.parts = append(f.parts, part)
	}
	f.parts = append(f.parts, textPart{plain: n.Scalar[done:]})
}

// Set reports whether the field was written.
func (f *RowField) Set() bool { return f != nil && f.at.Kind != source.Null }

// IsNull reports whether the field is a path that finds a null in a row.
func (f *RowField) IsNull(r *Row) bool {
	return f.expr != nil && len(jsonpath.Values(f.expr, r.doc)) > 0 && r.find(f.expr).Kind == source.Null
}

// In returns the field's value in a row, and the paths that find nothing there. A null, too, is nothing.
func (f *RowField) In(r *Row) (v source.Value, missing []string) {
	v, missing = f.in(r)
	if len(missing) > 0 && f.or != nil {
		return *f.or, nil
	}
	return onLine(v, r.Line), missing
}

func (f *RowField) in(r *Row) (v source.Value, missing []string) {
	switch {
	case f.expr != nil:
		if v = r.find(f.expr); v.Kind == source.Null {
			missing = []string{f.at.Scalar}
		}
		return v, missing
	case f.parts != nil:
		return f.fill(r)
	case f.items != nil:
		v = source.Value{Kind: source.List}
		for i := range f.items {
			item, lacking := f.items[i].In(r)
			missing = append(missing, lacking...)
			if item.Kind != source.Null {
				v.Items = append(v.Items, item)
			}
		}
		return v, missing
	case f.fields != nil:
		v = source.Value{Kind: source.Map}
		for i := range f.fields {
			field, lacking := f.fields[i].In(r)
			missing = append(missing, lacking...)
			v.Fields = append(v.Fields, source.Field{Name: f.fields[i].name, Value: field})
		}
		return v, missing
	}
	return f.at, nil
}

// fill fills the paths of a text. A text that is only a path takes the type of what it finds.
func (f *RowField) fill(r *Row) (v source.Value, missing []string) {
	var b strings.Builder
	for _, part := range f.parts {
		if part.expr == nil || part.name != "" && r.names != nil && r.names(part.name) {
			b.WriteString(part.plain)
			continue
		}
		found := r.find(part.expr)
		switch {
		case found.Kind == source.Null:
			missing = append(missing, part.written)
		case len(f.parts) == 3 && strings.TrimSpace(f.parts[0].plain+f.parts[2].plain) == "":
			return found, nil
		case found.Kind == source.List || found.Kind == source.Map:
			b.WriteString(asJSON(found))
		default:
			b.WriteString(found.Scalar)
		}
	}
	return source.Text(b.String()), missing
}

// find returns what a path finds: nothing, one value, or a list of several.
func (r *Row) find(expr jp.Expr) source.Value {
	var v source.Value
	switch found := jsonpath.Ordered(expr, r.doc); len(found) {
	case 0:
	case 1:
		v = source.FromAny(found[0])
	default:
		v = source.FromAny(found)
	}
	if r.placed {
		v = escapedTexts(v)
	}
	return v
}

// escapedTexts returns a value whose texts a suite reads as they are.
func escapedTexts(v source.Value) source.Value {
	v.Scalar = strings.ReplaceAll(v.Scalar, "{{", escaped)
	for i := range v.Items {
		v.Items[i] = escapedTexts(v.Items[i])
	}
	for i := range v.Fields {
		v.Fields[i].Value = escapedTexts(v.Fields[i].Value)
	}
	return v
}

// onLine returns a value that was just made, with the line of its row.
func onLine(v source.Value, line int) source.Value {
	v.Line, v.Column = line, 1
	for i := range v.Items {
		v.Items[i] = onLine(v.Items[i], line)
	}
	for i := range v.Fields {
		v.Fields[i].Line, v.Fields[i].Column = line, 1
		v.Fields[i].Value = onLine(v.Fields[i].Value, line)
	}
	return v
}
