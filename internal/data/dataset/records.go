package dataset

import (
	"encoding/json"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Record is an item as it is kept, whatever its parts are: those that there are not are nil.
type Record struct {
	ID       string          `json:"id"`
	Input    json.RawMessage `json:"input,omitempty"`
	Expected json.RawMessage `json:"expected_output,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Line is where the item stands in its file; 0 for an item that comes from no file.
	Line int `json:"-"`
	// Archived is set for an item that Langfuse keeps but leaves out of runs.
	Archived bool `json:"-"`
}

// LoadRecords reads the items of a .jsonl, .json or .csv file, each also packed as .gz, without asking what their parts
// are.
func LoadRecords(file string) ([]Record, error) { return LoadRecordsFrom(source.Files{}, file) }

// LoadRecordsFrom is LoadRecords for files that are read from elsewhere than the disk.
func LoadRecordsFrom(files source.Files, file string) ([]Record, error) {
	return load(files, file, (*collector).record)
}

func load(files source.Files, file string, read func(*collector, source.Node) Record) ([]Record, error) {
	var all []Record
	c := collector{files: files, file: file}
	c.each(func(n source.Node) { all = append(all, read(&c, n)) })
	if len(all) == 0 && len(c.problems) == 0 {
		c.problems = source.Problems{{
			File: file, Message: "there are no items in the file", Hint: `write a line {"id", "input", "expected_output", "metadata"} for each`,
		}}
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return all, nil
}

func (c *collector) record(n source.Node) Record {
	r := Record{Line: n.Line}
	n.Read(map[string]func(source.Node){
		"id":              func(source.Node) {},
		"input":           func(n source.Node) { r.Input = asJSON(n) },
		"expected_output": func(n source.Node) { r.Expected = asJSON(n) },
		"metadata":        func(n source.Node) { r.Metadata = asJSON(n) },
	})
	if n.Kind != source.Map {
		return r
	}
	r.ID = c.id(n)
	if r.Input == nil {
		n.Report(`add "input": a text or an object`, "the item has no input")
	}
	return r
}

// asJSON returns a value as JSON, nil for null.
func asJSON(n source.Node) json.RawMessage {
	if n.Kind == source.Null {
		return nil
	}
	data, err := json.Marshal(n.Any())
	if err != nil {
		n.Report("write finite numbers and texts", "it cannot be written as JSON: %v", err)
	}
	return data
}
