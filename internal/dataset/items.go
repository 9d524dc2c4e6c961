package dataset

import (
	"rehearse/internal/chat"
	"rehearse/internal/source"
)

// Load reads labelled items from a .jsonl, .json or .csv file, each also packed as .gz:
//
//	{"id", "input": "text" | {"message", "history": [{"role", "content"}]}, "expected_output", "metadata"}
//
// The expected output is a label, an object such as {"intent": "label"}, or a list of labels.
func Load(file string) (Set, error) {
	set := Set{File: file}
	c := collector{file: file}
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
	found, name, ok := labelled(n)
	if !ok {
		return nil, false
	}
	for _, f := range n.Fields {
		if f.Name != name {
			n.Field(f.Name).Report("move it to metadata", "unknown key %q", f.Name)
		}
	}
	return readLabels(found)
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
