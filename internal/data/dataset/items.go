package dataset

import (
	"encoding/json"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/label"
)

// Load reads labelled items from a .jsonl, .json or .csv file, each also packed as .gz:
//
//	{"id", "input": "text" | {"message", "history": [{"role", "content"}]}, "expected_output", "metadata"}
//
// The expected output is a label, an object such as {"intent": "label"}, or a list of labels.
func Load(file string) (Set, error) { return LoadFrom(source.Files{}, file) }

// LoadFrom is Load for files that are read from elsewhere than the disk.
func LoadFrom(files source.Files, file string) (Set, error) {
	set := Set{File: file}
	c := collector{files: files, file: file}
	c.each(func(n source.Node) {
		item, several := c.item(n)
		set.Items = append(set.Items, item)
		set.Several = set.Several || several
	})
	if len(set.Items) == 0 && len(c.problems) == 0 {
		c.problems = source.Problems{{
			File: file, Message: "there are no items in the file",
			Hint: `write a line {"id", "input", "expected_output"} for each`,
		}}
	}
	if err := c.err(); err != nil {
		return Set{}, err
	}
	return set, nil
}

// item reads a labelled item. several is true when the labels are a list.
func (c *collector) item(n source.Node) (item Item, several bool) {
	keys := struct {
		ID       source.Node    `key:"id"`
		Input    itemInput      `key:"input" required:"the item has no input" doc:"a text or an object"`
		Expected itemLabels     `key:"expected_output" required:"the item has no expected_output" doc:"its labels"`
		Metadata map[string]any `key:"metadata"`
	}{}
	source.Decode(n, &keys)
	if n.Kind != source.Map {
		return Item{Line: n.Line}, false
	}
	item = Item{
		ID: c.id(n), Message: keys.Input.Message, Labels: keys.Expected.labels, Metadata: keys.Metadata, Line: n.Line,
	}
	for _, m := range keys.Input.History {
		item.History = append(item.History, chat.NewMessage(m.Role, m.Content))
	}
	return item, keys.Expected.several
}

// itemInput is a message with the messages before it.
type itemInput struct {
	Message string `key:"message" required:"the input has no message" doc:"a text"`
	History []struct {
		Role    chat.Role   `key:"role" enum:"user,assistant,system" required:"the message has no role"`
		Content string      `key:"content" required:"the message has no content" doc:"a text"`
		Index   source.Node `key:"message_index"`
	} `key:"history"`
}

// DecodeNode reads a text, or {message, history}.
func (i *itemInput) DecodeNode(n source.Node) {
	switch n.Kind {
	case source.String:
		i.Message = n.Scalar
	case source.Map:
		type keys itemInput
		source.Decode(n, (*keys)(i))
	default:
		n.Report(`write "text" or {"message": "text", "history": []}`, "expected an input, got %s", n.Kind)
	}
}

// itemLabels are the labels of an item; several is true of a list.
type itemLabels struct {
	labels  []string
	several bool
}

// DecodeNode reads a label, labels, or an object with nothing else, where other keys would have no effect.
func (l *itemLabels) DecodeNode(n source.Node) {
	found, name, ok := label.Find(n)
	if !ok {
		return
	}
	for _, f := range n.Fields {
		if f.Name != name {
			n.Field(f.Name).Report("move it to metadata", "unknown key %q", f.Name)
		}
	}
	l.labels, l.several = label.Read(found)
}

// FromRecords reads labelled items of records, which were found where it says, with the checks of Load. A fault names
// its record by the line, or else by the id.
func FromRecords(where string, records []Record) (Set, error) {
	set := Set{File: where, Items: make([]Item, 0, len(records))}
	c := collector{file: where, lines: map[string]int{}}
	for i := range records {
		r := &records[i]
		if i == MaxItems {
			c.report(where, r.Line, "split the dataset", "more than %d records", MaxItems)
		}
		if len(c.problems) >= maxProblems || i == MaxItems {
			break
		}
		item, several := c.fromRecord(r)
		set.Items = append(set.Items, item)
		set.Several = set.Several || several
	}
	if len(records) == 0 {
		c.problems = source.Problems{{
			File: where, Message: "there are no items in the dataset",
			Hint: "add items with input and expected_output, or name another dataset",
		}}
	}
	if err := c.err(); err != nil {
		return Set{}, err
	}
	return set, nil
}

func (c *collector) fromRecord(r *Record) (item Item, several bool) {
	at := "" // the line is enough
	if r.Line == 0 {
		at = r.ID
	}
	data, err := json.Marshal(r)
	if err != nil {
		c.problems = append(c.problems, source.Problem{
			File: c.file, Line: r.Line, Column: 1, Path: at, Hint: "write it anew",
			Message: "the record is not JSON: " + err.Error(),
		})
		return Item{}, false
	}
	v, err := source.ParseJSON(c.file, data, r.Line)
	if err != nil {
		c.problems = append(c.problems, asProblems(c.file, err)...)
		return Item{}, false
	}
	reader := &source.Reader{File: c.file}
	item, several = c.item(reader.Node(v, at))
	for i := range reader.Problems {
		if r.Line == 0 { // the position in the JSON that was just encoded is of no use
			reader.Problems[i].Line, reader.Problems[i].Column = 0, 0
		}
	}
	c.problems = append(c.problems, reader.Problems...)
	item.Line = r.Line
	return item, several
}

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
			File: file, Message: "there are no items in the file",
			Hint: `write a line {"id", "input", "expected_output", "metadata"} for each`,
		}}
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return all, nil
}

// record reads an item. Its parts may be any JSON.
func (c *collector) record(n source.Node) Record {
	keys := struct {
		ID       source.Node `key:"id"`
		Input    source.Node `key:"input" required:"the item has no input" doc:"a text or an object"`
		Expected source.Node `key:"expected_output"`
		Metadata source.Node `key:"metadata"`
	}{}
	source.Decode(n, &keys)
	if n.Kind != source.Map {
		return Record{Line: n.Line}
	}
	return Record{
		ID: c.id(n), Line: n.Line,
		Input: asJSON(keys.Input), Expected: asJSON(keys.Expected), Metadata: asJSON(keys.Metadata),
	}
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
