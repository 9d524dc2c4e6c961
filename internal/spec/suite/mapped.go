package suite

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// mappedKeys are the keys of tests that are made of the rows of a data file.
type mappedKeys struct {
	File string  `key:"file" notblank:"true" required:"tests with a map need a file" doc:"a data file, or a glob"`
	Map  mapKeys `key:"map" schema:"test_map" required:"the rows of a data file need a map" doc:"the parts of a test"`
}

// mapKeys locate the parts of a test in a row.
type mapKeys struct {
	ID         RowField `key:"id" schema:"row_field" doc:"unique id (the row's number)"`
	Input      RowField `key:"input" schema:"row_field" doc:"a text, or messages that end with the user's"`
	Turns      RowField `key:"turns" schema:"row_field" doc:"texts of the user, messages, or turns"`
	User       RowField `key:"user" schema:"row_field" doc:"a simulated user"`
	Expected   RowField `key:"expected_output" schema:"row_field" doc:"a reference for the judge"`
	Criteria   RowField `key:"criteria" schema:"row_field"`
	Assertions RowField `key:"assertions" schema:"row_field" doc:"a criterion, an assertion, or a list of these"`
	History    RowField `key:"history" schema:"row_field"`
	Vars       RowField `key:"vars" schema:"row_field"`
	Tags       RowField `key:"tags" schema:"row_field"`
	Metadata   RowField `key:"metadata" schema:"row_field"`
}

// rowMap makes a test of each row of a file.
type rowMap struct {
	keys mapKeys
	// names reports whether a template leaves a name to the test: a variable, or a part of the judge's prompts.
	names func(string) bool
	// faulty counts the faulty rows of a file by the part of the test.
	faulty map[rowFault]int
	// notes count, while the suite is validated, rows in which something is not used; rows counts all.
	notes map[rowNote]*noted
	rows  int
}

type rowFault struct{ file, part string }

// rowNote is what is not used, and whether it is a fault if it is so in every row.
type rowNote struct {
	message string
	fault   bool
}

// noted counts the rows in which it is so, with the first and the last one.
type noted struct {
	rows  int
	first source.Problem
	last  *Row
}

// maxRowFaults bounds the rows of which one fault is reported; the others are counted.
const maxRowFaults = 20

// mapped reads {file, map}.
func (l *loader) mapped(n source.Node) {
	var keys mappedKeys
	source.Decode(n, &keys)
	own := slices.Clone(promptVariables)
	for _, f := range keys.Map.Vars.fields {
		own = append(own, f.name)
	}
	l.rows = &rowMap{keys: keys.Map, notes: map[rowNote]*noted{}, faulty: map[rowFault]int{}}
	l.rows.names = func(name string) bool {
		first, _, _ := strings.Cut(strings.TrimPrefix(name, "vars."), ".")
		return slices.Contains(own, first) || has(l.vars, first)
	}
	if at := n.Field("map"); at.Kind == source.Map && !at.Has("input") && !at.Has("turns") && !at.Has("user") {
		at.Report("add `input: PATH`, such as $.question", "the map has no input, turns or user")
	}
	if keys.File == "" {
		return
	}
	at := n.Field("file")
	files, err := l.testFiles(scope{getenv: l.options.Getenv}.expand(at).Scalar)
	if err != nil {
		at.Report("name a .jsonl, .json, .csv or .yaml file, also with .gz, from the suite's folder",
			"cannot read the rows: %v", err)
	}
	for _, f := range files {
		f.mapped = l.rows
	}
	l.external = append(l.external, files...)
}

// tests yields a test for each row of a file.
func (m *rowMap) tests(f *testFile) iter.Seq2[source.Value, error] {
	return func(yield func(source.Value, error) bool) {
		for row, err := range f.rows(m.whole) {
			v := source.Value{}
			if err == nil {
				row.placed, row.names = true, m.names
				v, err = m.test(row)
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// whole reports whether a file that is a mapping is one row: the map finds the user's messages there.
func (m *rowMap) whole(r *Row) bool {
	for _, field := range []*RowField{&m.keys.Input, &m.keys.Turns, &m.keys.User} {
		if _, missing := field.In(r); field.Set() && len(missing) > 0 {
			return false
		}
	}
	return true
}

// note counts a row in which something is not used. Only one goroutine validates a suite.
func (m *rowMap) note(row *Row, fault bool, format string, args ...any) {
	if m.notes == nil {
		return
	}
	key := rowNote{fmt.Sprintf(format, args...), fault}
	n := m.notes[key]
	if n == nil {
		n = &noted{first: source.Problem{File: row.File, Line: row.Line, Column: 1}}
		m.notes[key] = n
	}
	if n.last != row {
		n.last = row
		n.rows++
	}
}

// noted returns what was counted as problems and ends the counting.
func (m *rowMap) noted() (problems source.Problems) {
	for key, n := range m.notes {
		p := n.first
		p.Message, p.Hint = fmt.Sprintf("%s in %d of %d rows", key.message, n.rows, m.rows), "this is the first of them"
		p.Warning = !key.fault || n.rows < m.rows
		problems = append(problems, p)
	}
	for fault, rows := range m.faulty {
		if rows > maxRowFaults {
			problems = append(problems, source.Problem{
				File: fault.file, Path: fault.part, Message: fmt.Sprintf("the same in %d more rows", rows-maxRowFaults),
				Hint: fmt.Sprintf("%d of the %d rows are faulty here", rows, m.rows),
			})
		}
	}
	m.notes = nil
	return problems
}

// test makes a test of a row. A part that the row lacks is a problem, except for tags and metadata, which are counted.
func (m *rowMap) test(row *Row) (source.Value, error) {
	b := rowTest{row: row, m: m, test: source.Value{Kind: source.Map, Line: row.Line, Column: 1}}
	k := &m.keys
	if m.notes != nil {
		m.rows++
	}
	if id, ok := b.part("id", &k.ID); ok {
		if id.Kind == source.List || id.Kind == source.Map {
			b.report("id", "map one value", "expected a text or a number, got %s", id.Kind)
		}
		b.add("id", id)
	} else if !k.ID.Set() {
		b.add("id", source.Text(strconv.Itoa(row.Number)))
	}
	if k.Turns.Set() || k.User.Set() {
		b.add("mode", source.Text("conversation"))
	}
	if v, ok := b.part("input", &k.Input); ok {
		v = b.messages(v)
		if !k.Turns.Set() && !k.User.Set() {
			v = b.upToUser(v)
		}
		b.add("input", v)
	}
	if v, ok := b.part("turns", &k.Turns); ok {
		b.turns(v)
	}
	if v, ok := b.part("assertions", &k.Assertions); ok {
		if v.Kind != source.List {
			v = source.Value{Kind: source.List, Items: []source.Value{v}, Line: row.Line, Column: 1}
		}
		b.add("assertions", v)
	}
	for _, other := range []struct {
		name string
		of   *RowField
	}{
		{"user", &k.User}, {"expected_output", &k.Expected}, {"criteria", &k.Criteria}, {"history", &k.History},
		{"vars", &k.Vars}, {"tags", &k.Tags}, {"metadata", &k.Metadata},
	} {
		if v, ok := b.part(other.name, other.of); ok {
			b.add(other.name, v)
		}
	}
	if b.faulty {
		return b.test, b.problems
	}
	return b.test, nil
}

// rowTest is a test that is being made of a row.
type rowTest struct {
	row      *Row
	m        *rowMap
	test     source.Value
	problems source.Problems
	faulty   bool
}

func (b *rowTest) add(name string, v source.Value) {
	b.test.Fields = append(b.test.Fields, source.Field{Name: name, Line: b.row.Line, Column: 1, Value: v})
}

// report adds a fault of the row. Of very many rows with the same one, the last are only counted.
func (b *rowTest) report(name, hint, format string, args ...any) {
	b.faulty = true
	if b.m.notes != nil {
		fault := rowFault{b.row.File, name}
		if b.m.faulty[fault]++; b.m.faulty[fault] > maxRowFaults {
			return
		}
	}
	b.problems = append(b.problems, source.Problem{
		File: b.row.File, Path: name, Line: b.row.Line, Column: 1, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// part returns a part of the test; ok is false if the map or, where it may, the row has none.
func (b *rowTest) part(name string, field *RowField) (v source.Value, ok bool) {
	if !field.Set() {
		return v, false
	}
	v, missing := field.In(b.row)
	optional := name == "tags" || name == "metadata"
	for _, path := range missing {
		if optional {
			b.m.note(b.row, true, "map.%s: %s finds nothing", name, path)
			continue
		}
		b.report(name, b.hint(), "%s finds nothing in this row", path)
	}
	if v.Kind == source.Null || len(missing) > 0 && !optional {
		return v, false
	}
	if empty := v.Kind == source.String && blank(v.Scalar) || v.Kind == source.List && len(v.Items) == 0; empty {
		switch name {
		case "expected_output", "criteria", "assertions": // or the test would lose a check
			if field.or == nil {
				b.report(name, b.hint(), "it is empty in this row")
			}
			return v, false
		}
	}
	return v, true
}

// hint lists what a row has, and how to write a part that a row may lack.
func (b *rowTest) hint() string {
	return b.row.Has() + "; write {path: PATH, or: VALUE} for a part that rows may lack"
}

// IsMessages reports whether a value is a list of messages.
func IsMessages(v source.Value) bool {
	return v.Kind == source.List && len(v.Items) > 0 &&
		!slices.ContainsFunc(v.Items, func(item source.Value) bool { return !has(item, "role") })
}

func has(v source.Value, name string) bool {
	_, ok := v.Get(name)
	return ok
}

// messages returns messages without keys that no message of a suite has. Tool calls stay: a message is not the same
// without them.
func (b *rowTest) messages(v source.Value) source.Value {
	if !IsMessages(v) {
		return v
	}
	known := source.KeyNames[messageKeys]()
	for i, item := range v.Items {
		v.Items[i].Fields = slices.DeleteFunc(item.Fields, func(f source.Field) bool {
			if known[f.Name] != "" || f.Name == "tool_calls" || f.Name == "function_call" {
				return false
			}
			b.m.note(b.row, false, "the key %q of messages is not used", f.Name)
			return true
		})
	}
	return v
}

// upToUser returns messages up to the last one of the user.
func (b *rowTest) upToUser(v source.Value) source.Value {
	if !IsMessages(v) {
		return v
	}
	for last := len(v.Items) - 1; last >= 0; last-- {
		if role, _ := v.Items[last].Get("role"); role.Scalar == "user" {
			if last < len(v.Items)-1 {
				b.m.note(b.row, false, "the messages after the user's last one are not sent")
				v.Items = v.Items[:last+1]
			}
			break
		}
	}
	return v
}

// turns adds turns: one for a text, one for each text of a list, and one for each user message of a list of messages,
// where the assistant's are expected. Messages before the first of the user become the input.
func (b *rowTest) turns(v source.Value) {
	turns := source.Value{Kind: source.List, Line: b.row.Line, Column: 1}
	turn := func(input source.Value) {
		t := source.Value{Kind: source.Map, Line: b.row.Line, Column: 1}
		t.Fields = []source.Field{{Name: "input", Line: b.row.Line, Column: 1, Value: input}}
		turns.Items = append(turns.Items, t)
	}
	switch {
	case v.Kind != source.List:
		turn(v)
	case !IsMessages(v):
		for _, item := range v.Items {
			if item.Kind == source.Map {
				turns.Items = append(turns.Items, item)
			} else {
				turn(item)
			}
		}
	default:
		before := source.Value{Kind: source.List, Line: b.row.Line, Column: 1}
		for _, message := range b.messages(v).Items {
			role, _ := message.Get("role")
			content, _ := message.Get("content")
			switch {
			case role.Scalar == "user":
				turn(content)
			case len(turns.Items) == 0:
				before.Items = append(before.Items, message)
			case role.Scalar == "assistant":
				b.expect(&turns.Items[len(turns.Items)-1], content)
				if has(message, "tool_calls") || has(message, "function_call") {
					b.m.note(b.row, false, "tool calls of the assistant are not checked")
				}
			case role.Scalar == "tool" || role.Scalar == "function":
				b.m.note(b.row, false, "results of tools are not sent")
			default:
				b.report("turns", "put it before the user's first message",
					"a message with the role %q follows the user's first one", role.Scalar)
			}
		}
		switch {
		case len(before.Items) > 0 && b.m.keys.Input.Set():
			b.report("turns", "remove input from the map, or these messages from the row",
				"input is mapped, and the turns begin with messages that are not the user's")
		case len(before.Items) > 0:
			b.add("input", before)
		}
	}
	b.add("turns", turns)
}

// expect adds a recorded reply to what is expected of a turn.
func (b *rowTest) expect(turn *source.Value, content source.Value) {
	text := content.Scalar
	for _, part := range content.Items {
		for _, name := range []string{"text", "value"} {
			if v, ok := part.Get(name); ok {
				text = strings.TrimPrefix(text+"\n"+v.Scalar, "\n")
			}
		}
	}
	if blank(text) {
		return
	}
	if before, ok := turn.Get("expected_output"); ok {
		turn.Fields[len(turn.Fields)-1].Value.Scalar = before.Scalar + "\n\n" + text
		return
	}
	turn.Fields = append(turn.Fields, source.Field{
		Name: "expected_output", Line: b.row.Line, Column: 1,
		Value: source.Value{Kind: source.String, Scalar: text, Line: b.row.Line, Column: 1},
	})
}
