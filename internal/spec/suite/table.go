package suite

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// tableColumns are the columns of a CSV file that are keys of a test.
// A column metadata.x is metadata. Every other column is a variable, with or without vars. before its name.
var tableColumns = []string{
	"id", "input", "expected_output", "criteria", "assertions", "turns", "mode", "aggregation", "on_turn_failure",
	"window_size", "depends_on", "on_dependency_failure", "tags", "user", "users", "every_turn",
	"cluster",
}

// readTable reads CSV tests with a header line. Lists are cells with JSON, or with plain text for a list of one; empty
// cells are absent.
func readTable(files source.Files, file string) iter.Seq2[source.Value, error] {
	return eachRow(files, file, checkHeader, tableTest)
}

// eachRow reads CSV with a header line, which check checks, and yields what read makes of each row.
func eachRow(files source.Files, file string,
	check func(file string, header []string, rows *csv.Reader) source.Problems,
	read func(file string, header, row []string, rows *csv.Reader) (source.Value, error),
) iter.Seq2[source.Value, error] {
	return func(yield func(source.Value, error) bool) {
		f, err := open(files, file)
		if err != nil {
			yield(source.Value{}, fileProblem(file, err))
			return
		}
		defer func() { _ = f.Close() }() // nothing was written
		bounded := &boundedRows{from: f, left: maxLineBytes}
		rows := csv.NewReader(bounded)
		header, err := rows.Read()
		if err == nil {
			header[0] = strings.TrimPrefix(header[0], "\ufeff")
			err = check(file, header, rows).Err()
		} else {
			err = source.TableProblem(file, err)
		}
		if err != nil {
			yield(source.Value{}, err)
			return
		}
		for last := 1; ; {
			bounded.left = maxLineBytes
			row, err := rows.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			v := source.Value{}
			switch {
			case errors.Is(err, errLongRow):
				row, err = nil, tooLarge(file, last+1, "row")
			case err != nil:
				err = source.TableProblem(file, err)
			default:
				last, _ = rows.FieldPos(len(row) - 1)
				if err = files.CountRow(file, rows, row); err == nil {
					v, err = read(file, header, row, rows)
				}
			}
			// Behind a quote that was not closed, the rest of the table is not what it seems.
			if !yield(v, err) || err != nil && len(row) == 0 {
				return
			}
		}
	}
}

// boundedRows bounds the bytes of a row: a quoted cell may be as long as the file.
type boundedRows struct {
	from io.Reader
	left int
}

var errLongRow = errors.New("the row is too long")

func (b *boundedRows) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errLongRow
	}
	return n, err
}

// checkHeader reports columns that look like a misspelt key, which would silently become variables.
func checkHeader(file string, header []string, rows *csv.Reader) source.Problems {
	var problems source.Problems
	for i, name := range header {
		line, column := rows.FieldPos(i)
		if slices.Index(header, name) < i {
			problems = append(problems, source.Problem{
				File: file, Path: name, Line: line, Column: column,
				Message: fmt.Sprintf("the column %q stands twice", name), Hint: "keep one of the two",
			})
			continue
		}
		if near, ok := source.Nearest(name, tableColumns); ok && misspelt(name, near) {
			problems = append(problems, source.Problem{
				File: file, Path: name, Line: line, Column: column,
				Message: fmt.Sprintf("unknown column %q", name),
				Hint:    fmt.Sprintf("did you mean %q? For a variable write vars.%s", near, name),
			})
		}
	}
	return problems
}

// misspelt reports whether a column is a misspelt key rather than a variable: it has the key's letters in another
// order, or differs in one letter from a key of five or more, or in two from a key of eight or more. So age and code
// are variables, tgas is not.
func misspelt(name, key string) bool {
	if name == key || strings.Contains(name, ".") {
		return false
	}
	letters := func(s string) string {
		sorted := []byte(s)
		slices.Sort(sorted)
		return string(sorted)
	}
	d := source.EditDistance(name, key)
	return letters(name) == letters(key) || len(key) >= 5 && d <= 1 || len(key) >= 8 && d <= 2
}

func tableTest(file string, header, row []string, rows *csv.Reader) (source.Value, error) {
	line, _ := rows.FieldPos(0)
	if err := checkCells(file, header, row, rows); err != nil {
		return source.Value{}, err
	}
	test := source.Value{Kind: source.Map, Line: line, Column: 1}
	groups := map[string]*source.Value{}
	for i, cell := range row {
		if blank(cell) {
			continue
		}
		line, column := rows.FieldPos(i)
		field := source.Field{Name: header[i], Line: line, Column: column}
		field.Value = source.Value{Kind: source.String, Scalar: cell, Line: line, Column: column}
		group, name, dotted := strings.Cut(header[i], ".")
		if dotted && (group == "vars" || group == "metadata") {
			field.Name = name
			addTo(groups, group, field)
			continue
		}
		if !isTableColumn(header[i]) {
			addTo(groups, "vars", field)
			continue
		}
		v, err := tableCell(file, header[i], field.Value)
		if err != nil {
			return source.Value{}, err
		}
		field.Value = v
		test.Fields = append(test.Fields, field)
	}
	for _, name := range []string{"vars", "metadata"} {
		if g := groups[name]; g != nil {
			test.Fields = append(test.Fields, source.Field{Name: name, Line: line, Column: 1, Value: *g})
		}
	}
	return test, nil
}

// checkCells returns a problem at the first cell that is not UTF-8 text.
func checkCells(file string, header, row []string, rows *csv.Reader) error {
	for i, cell := range row {
		if !utf8.ValidString(cell) {
			line, column := rows.FieldPos(i)
			return source.Problems{{
				File: file, Path: header[i], Line: line, Column: column, Message: "the cell is not UTF-8 text",
				Hint: "save the file as UTF-8",
			}}
		}
	}
	return nil
}

func addTo(groups map[string]*source.Value, name string, f source.Field) {
	if groups[name] == nil {
		groups[name] = &source.Value{Kind: source.Map, Line: f.Line, Column: 1}
	}
	groups[name].Fields = append(groups[name].Fields, f)
}

func isTableColumn(name string) bool {
	return slices.Contains(tableColumns, name)
}

// tableCell reads the cell of a column that holds a list.
func tableCell(file, column string, v source.Value) (source.Value, error) {
	switch column {
	case "assertions", "turns", "input", "tags", "depends_on", "user", "users", "every_turn":
	default:
		return v, nil
	}
	if text := strings.TrimSpace(v.Scalar); strings.HasPrefix(text, "[") ||
		strings.HasPrefix(column, "user") && strings.HasPrefix(text, "{") {
		parsed, err := source.ParseJSON(file, []byte(text), v.Line)
		if err == nil {
			return parsed, nil
		}
		if column != "input" && column != "tags" && column != "depends_on" {
			return source.Value{}, err
		}
	}
	list := source.Value{Kind: source.List, Line: v.Line, Column: v.Column}
	switch column {
	case "tags", "depends_on":
		for part := range strings.SplitSeq(v.Scalar, ",") {
			list.Items = append(list.Items, source.Text(strings.TrimSpace(part)))
		}
		return list, nil
	case "assertions", "every_turn":
		list.Items = []source.Value{v}
		return list, nil
	case "turns":
		for part := range strings.SplitSeq(v.Scalar, "\n") {
			if !blank(part) {
				turn := source.Value{Kind: source.Map, Line: v.Line, Column: v.Column}
				turn.Fields = []source.Field{{
					Name: "input", Line: v.Line, Column: v.Column, Value: source.Text(strings.TrimSpace(part)),
				}}
				list.Items = append(list.Items, turn)
			}
		}
		return list, nil
	}
	return v, nil
}
