package importer

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Bounds of one file.
const (
	maxBytes  = 50 << 20
	maxValues = 4_000_000
)

// Load reads a file as JSON, JSON Lines, YAML or CSV, by its name or else by how it begins; lines and rows become a
// list. One whose name ends in .gz is unpacked.
func Load(path string) (source.Value, error) {
	data, err := readFile(path)
	if err != nil {
		return source.Value{}, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch extension := strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz"))); {
	case extension == ".jsonl" || extension == ".ndjson":
		return parseLines(path, data)
	case extension == ".csv":
		return parseTable(path, data)
	case extension == ".yaml" || extension == ".yml":
		return source.ParseYAML(path, data)
	case extension == ".json" || bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) ||
		bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")):
		return parseJSON(path, data)
	}
	return source.ParseYAML(path, data)
}

func readFile(path string) ([]byte, error) {
	f, err := source.Open(path)
	if err != nil {
		if pathError, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathError.Err
		}
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("%s is larger than %d MB: split it", path, maxBytes>>20)
	}
	return data, nil
}

func parseJSON(path string, data []byte) (source.Value, error) {
	if bytes.Count(data, []byte(",")) > maxValues {
		return source.Value{}, fmt.Errorf("%s has more than %d values: split it", path, maxValues)
	}
	return source.ParseJSON(path, data, 1)
}

// parseLines reads JSON Lines; empty lines are passed over.
func parseLines(path string, data []byte) (source.Value, error) {
	all := source.Value{Kind: source.List, Line: 1, Column: 1}
	if bytes.Count(data, []byte(",")) > maxValues {
		return all, fmt.Errorf("%s has more than %d values: split it", path, maxValues)
	}
	number := 0
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		v, err := source.ParseJSON(path, line, number)
		if err != nil {
			return all, err
		}
		all.Items = append(all.Items, v)
	}
	return all, nil
}

// parseTable reads CSV with a header line into a list of mappings. Empty cells are left out.
func parseTable(path string, data []byte) (source.Value, error) {
	all := source.Value{Kind: source.List, Line: 1, Column: 1}
	rows := csv.NewReader(strings.NewReader(strings.ToValidUTF8(string(data), "\ufffd")))
	rows.FieldsPerRecord = -1
	header, err := rows.Read()
	if err != nil {
		return all, fmt.Errorf("read the header line of %s: %w", path, err)
	}
	for cells := 0; ; {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if cells += len(row); err == nil && cells > maxValues {
			err = fmt.Errorf("more than %d values: split it", maxValues)
		}
		if err != nil {
			return all, fmt.Errorf("read %s: %w", path, err)
		}
		line, _ := rows.FieldPos(0)
		v := source.Value{Kind: source.Map, Line: line, Column: 1}
		for i, cell := range row {
			if name := columnName(header, i); strings.TrimSpace(cell) != "" {
				if _, twice := v.Get(name); twice {
					name = fmt.Sprintf("%s (column %d)", name, i+1)
				}
				line, column := rows.FieldPos(i)
				v.Fields = append(v.Fields, source.Field{Name: name, Line: line, Column: column, Value: source.Value{
					Kind: source.String, Scalar: cell, Line: line, Column: column,
				}})
			}
		}
		all.Items = append(all.Items, v)
	}
}

func columnName(header []string, i int) string {
	if i < len(header) {
		return strings.TrimSpace(header[i])
	}
	return fmt.Sprintf("column %d", i+1)
}
