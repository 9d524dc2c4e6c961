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
			File: file, Message: "there are no items in the file", Hint: `write a line {"id", "input", "expected_output"} for each`,
		}}
	}
	if err := c.err(); err != nil {
		return Set{}, err
	}
	return set, nil
}

func (c *collector) item(n source.Node) (item Item, several bool) {
	item.Line = n.Line
	ignore := func(source.Node) {}
	n.Read(map[string]func(source.Node){
		"id":       ignore,
		"input":    func(n source.Node) { item.Message, item.History = readInput(n) },
		"metadata": func(n source.Node) { item.Metadata = readMetadata(n) },
		"expected_output": func(n source.Node) {
			item.Labels, several = readExpected(n)
		},
	})
	if n.Kind != source.Map {
		return item, false
	}
	item.ID = c.id(n)
	for _, key := range []string{"input", "expected_output"} {
		if !n.Has(key) {
			n.Report("every item needs one; see `rehearse classify --help`", "the item has no %s", key)
		}
	}
	return item, several
}

// readExpected reads the labels of an item. What stands beside them would have no effect, so it is refused.
func readExpected(n source.Node) (labels []string, several bool) {
	found, name, ok := label.Find(n)
	if !ok {
		return nil, false
	}
	for _, f := range n.Fields {
		if f.Name != name {
			n.Field(f.Name).Report("move it to metadata", "unknown key %q", f.Name)
		}
	}
	return label.Read(found)
}

// readInput reads a text, or an object with the message and what was said before.
func readInput(n source.Node) (message string, history []chat.Message) {
	if n.Kind == source.String {
		return n.Scalar, nil
	}
	if n.Kind != source.Map {
		n.Report(`write "text" or {"message": "text", "history": []}`, "expected an input, got %s", n.Kind)
		return "", nil
	}
	if !n.Has("message") {
		n.Report(`write {"message": "text", "history": []}`, "the input has no message")
	}
	n.Read(map[string]func(source.Node){
		"message": func(n source.Node) { message = n.Text() },
		"history": func(n source.Node) {
			for _, said := range n.List() {
				history = append(history, readMessage(said))
			}
		},
	})
	return message, history
}

func readMessage(n source.Node) (m chat.Message) {
	n.Read(map[string]func(source.Node){
		"role": func(n source.Node) {
			m.Role = chat.Role(n.OneOf(string(chat.User), string(chat.Assistant), string(chat.System)))
		},
		"content":       func(n source.Node) { m.Content.Text = n.Text() },
		"message_index": func(source.Node) {},
	})
	if n.Kind == source.Map && (!n.Has("role") || !n.Has("content")) {
		n.Report(`write {"role": "user", "content": "text"}`, "a message needs a role and a content")
	}
	return m
}

func readMetadata(n source.Node) map[string]any {
	if n.Kind != source.Map {
		n.Report(`write {"name": value}`, "expected a mapping, got %s", n.Kind)
		return nil
	}
	metadata, _ := n.Any().(map[string]any)
	return metadata
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
			File: where, Message: "there are no items in the dataset", Hint: "add items with input and expected_output, or name another dataset",
		}}
	}
	if err := c.err(); err != nil {
		return Set{}, err
	}
	return set, nil
}

func (c *collector) fromRecord(r *Record) (item Item, several bool) {
	at := "" // the line says it
	if r.Line == 0 {
		at = r.ID
	}
	data, err := json.Marshal(r)
	if err != nil {
		c.problems = append(c.problems, source.Problem{
			File: c.file, Line: r.Line, Column: 1, Path: at, Message: "the record is not JSON: " + err.Error(), Hint: "write it anew",
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
		if r.Line == 0 { // the place in what was just written says nothing to anybody
			reader.Problems[i].Line, reader.Problems[i].Column = 0, 0
		}
	}
	c.problems = append(c.problems, reader.Problems...)
	item.Line = r.Line
	return item, several
}
