package dataset

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// readTable reads CSV with a header line. An empty cell is null, columns called metadata.x become metadata, and cells
// of the columns that may hold more than text are read as JSON when they begin with a bracket.
func readTable(files source.Files, file string, f io.Reader, yield func(source.Value, error) bool) {
	rows := csv.NewReader(f)
	rows.ReuseRecord = true
	first, err := rows.Read()
	if err != nil {
		yield(source.Value{}, source.TableProblem(file, err))
		return
	}
	header := slices.Clone(first)
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	for i, name := range header {
		if slices.Index(header, name) < i {
			yield(source.Value{}, source.Problems{{
				File: file, Line: 1, Path: name, Message: fmt.Sprintf("the column %q stands twice", name),
				Hint: "keep one of the two",
			}})
			return
		}
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		v := source.Value{}
		if err != nil {
			err = source.TableProblem(file, err)
		} else if err = files.CountRow(file, rows, row); err == nil {
			v, err = tableRecord(file, header, row, rows.FieldPos)
		}
		// Behind a quote that was not closed the rest of the table is not what it seems.
		if !yield(v, err) || err != nil && len(row) == 0 {
			return
		}
	}
}

func tableRecord(file string, header, row []string, place func(int) (line, column int)) (source.Value, error) {
	line, _ := place(0)
	record := source.Value{Kind: source.Map, Line: line, Column: 1}
	metadata := source.Field{
		Name: "metadata", Line: line, Column: 1, Value: source.Value{Kind: source.Map, Line: line, Column: 1},
	}
	for i, text := range row {
		line, column := place(i)
		v, err := cell(file, header[i], text, line, column)
		if err != nil {
			return source.Value{}, err
		}
		field := source.Field{Name: header[i], Line: line, Column: column, Value: v}
		if name, ok := strings.CutPrefix(header[i], "metadata."); ok {
			field.Name = name
			metadata.Value.Fields = append(metadata.Value.Fields, field)
			continue
		}
		record.Fields = append(record.Fields, field)
	}
	if len(metadata.Value.Fields) > 0 && !slices.Contains(header, "metadata") {
		record.Fields = append(record.Fields, metadata)
	}
	return record, nil
}

// cell reads one cell. Messages may well begin with a bracket, so an input that is not JSON is text; a label that is
// not is a fault.
func cell(file, column, text string, line, at int) (source.Value, error) {
	v := source.Value{Kind: source.String, Scalar: text, Line: line, Column: at}
	switch {
	case !utf8.ValidString(text):
		return v, source.Problems{{
			File: file, Line: line, Column: at, Path: column, Message: "the cell is not UTF-8 text",
			Hint: "save the file as UTF-8",
		}}
	case strings.TrimSpace(text) == "":
		v.Kind, v.Scalar = source.Null, ""
		return v, nil
	case !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "["):
		return v, nil
	}
	switch column {
	case "expected_output", "output", "metadata", "input":
	default:
		return v, nil
	}
	parsed, err := source.ParseJSON(file, []byte(text), line)
	switch {
	case err == nil && (column != "input" || parsed.Kind == source.Map):
		return parsed, nil
	case column == "input":
		return v, nil
	}
	return v, source.Problems{{
		File: file, Line: line, Column: at, Path: column,
		Message: "the cell begins like JSON and is none", Hint: `write a label, or JSON such as ["a","b"]`,
	}}
}
