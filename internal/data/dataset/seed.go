package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Seeding is a file from which a dataset is made.
type Seeding struct {
	// Dataset is the name of the dataset, Site the website whose chatbot it is about; it may be empty.
	Dataset, Description, Site string
	Records                    []Record
}

// SeedSource stands as the source in the metadata of items that a seeding has made, by which the next one knows them.
const SeedSource = "seed"

// LoadSeeding reads a seeding file: .yaml, .yml or .json with
//
//	{dataset, description?, site?, items: [{id?, query, response?, assertions?, history?, site?, metadata?}]}
//
// or .jsonl with all but the items on the first line and an item on each line behind it; each also packed as .gz. An
// item without an id gets one of its dataset, site, history and query, so that it is the same every time. The error
// names every fault.
func LoadSeeding(file string) (Seeding, error) {
	r := seedReader{collector: collector{file: file, lines: map[string]int{}}}
	r.read()
	if len(r.items) == 0 && len(r.problems) == 0 {
		r.problems = source.Problems{{File: file, Message: "there are no items in the file", Hint: "write {query, response, history} for each"}}
	}
	for _, item := range r.items {
		r.report(item.value, item.path, r.item)
	}
	if err := r.err(); err != nil {
		return Seeding{}, err
	}
	return r.seeding, nil
}

type seedReader struct {
	collector
	seeding Seeding
	items   []seedItem
	titled  bool
}

// seedItem is an item as it stands in the file; path says where, beside its line.
type seedItem struct {
	value source.Value
	path  string
}

// read takes the file apart and reads what stands beside the items.
func (r *seedReader) read() {
	switch strings.ToLower(filepath.Ext(strings.TrimSuffix(r.file, ".gz"))) {
	case ".jsonl", ".ndjson":
		for v, err := range records(source.Files{}, r.file) {
			switch {
			case err != nil:
				r.problems = append(r.problems, asProblems(r.file, err)...)
			case !r.titled:
				r.report(v, "", r.title)
			default:
				r.items = append(r.items, seedItem{value: v})
			}
			if len(r.items) > MaxItems {
				r.report(v, "", func(n source.Node) { n.Report("split the file", "more than %d items", MaxItems) })
			}
			if len(r.problems) >= maxProblems || len(r.items) > MaxItems {
				return
			}
		}
	case ".yaml", ".yml", ".json":
		v, err := readWhole(r.file)
		if err != nil {
			r.problems = append(r.problems, asProblems(r.file, err)...)
			return
		}
		r.report(v, "", r.title)
	default:
		r.problems = source.Problems{{File: r.file, Message: "the name does not say how to read the file", Hint: "call it .yaml or .jsonl"}}
	}
}

// readWhole reads a file of YAML or JSON.
func readWhole(file string) (source.Value, error) {
	f, err := source.OpenBounded(file, maxFileBytes)
	if err != nil {
		return source.Value{}, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, source.MaxBytes+1))
	if err != nil {
		return source.Value{}, err
	}
	return source.ParseYAML(file, data)
}

// report reads a value and takes in what is wrong with it.
func (r *seedReader) report(v source.Value, path string, read func(source.Node)) {
	if len(r.problems) >= maxProblems {
		return
	}
	reader := &source.Reader{File: r.file}
	read(reader.Node(v, path))
	r.problems = append(r.problems, reader.Problems...)
}

// title reads what belongs to the dataset as a whole, and gathers the items that stand there.
func (r *seedReader) title(n source.Node) {
	r.titled = true
	s := &r.seeding
	n.Read(map[string]func(source.Node){
		"dataset":     func(n source.Node) { s.Dataset = strings.TrimSpace(n.Text()) },
		"description": func(n source.Node) { s.Description = strings.TrimSpace(n.Text()) },
		"site":        func(n source.Node) { s.Site = n.Text() },
		"items": func(n source.Node) {
			for _, item := range n.List() {
				r.items = append(r.items, seedItem{item.Value, item.Path()})
			}
		},
	})
	if n.Kind == source.Map && (s.Dataset == "" || len(s.Dataset) > maxIDBytes) {
		n.Report("write `dataset: NAME` at the beginning", "the file does not name its dataset")
	}
}

// seedRow is a message of a history, as it is written.
type seedRow struct {
	Role    string   `json:"role"`
	Content string   `json:"content"`
	Index   *float64 `json:"message_index,omitempty"`
}

// item reads an item.
func (r *seedReader) item(n source.Node) {
	var query, response string
	var assertions any
	history := []seedRow{}
	metadata := map[string]any{"source": SeedSource}
	site := r.seeding.Site
	n.Read(map[string]func(source.Node){
		"id":         func(source.Node) {},
		"query":      func(n source.Node) { query = n.Text(); notBlank(n) },
		"response":   func(n source.Node) { response = n.Text() },
		"assertions": func(n source.Node) { assertions = listOf(n) },
		"site":       func(n source.Node) { site = n.Text() },
		"history": func(n source.Node) {
			for _, row := range n.List() {
				history = append(history, readRow(row))
			}
		},
		"metadata": func(n source.Node) { readSeedMetadata(n, metadata) },
	})
	if n.Kind != source.Map {
		return
	}
	if !n.Has("query") {
		n.Report("write `query:`, what the user says", "the item has no query")
	}
	if site != "" {
		metadata["site_name"] = site
	}
	if len(history) > 0 {
		metadata["history"] = history
	}
	expected := map[string]any{"response": response}
	if assertions != nil {
		expected["assertions"] = assertions
	}
	record := Record{ID: r.seedID(n, site, query, history), Line: n.Line}
	for part, v := range map[*json.RawMessage]any{&record.Input: map[string]any{"query": query}, &record.Expected: expected, &record.Metadata: metadata} {
		data, err := JSON(v)
		if err != nil {
			n.Report("write finite numbers and texts", "it cannot be written as JSON: %v", err)
		}
		*part = data
	}
	r.seeding.Records = append(r.seeding.Records, record)
}

// seedID returns the id of an item: its own, or one of what it asks.
func (r *seedReader) seedID(n source.Node, site, query string, history []seedRow) string {
	if n.Has("id") {
		id := n.Field("id")
		if len(id.Scalar) > maxRemoteID {
			id.Report("write a short one", "the id has %d bytes; Langfuse takes %d", len(id.Scalar), maxRemoteID)
		}
		return r.id(n)
	}
	what, _ := json.Marshal([]any{r.seeding.Dataset, site, history, query}) // texts and finite numbers always encode
	sum := sha256.Sum256(what)
	id := "seed-" + hex.EncodeToString(sum[:8])
	if line, taken := r.lines[id]; taken {
		n.Report("leave one out, or give it an `id:` of its own", "the item asks the same as that in line %d", line)
	}
	r.lines[id] = n.Line
	return id
}

func listOf(n source.Node) any {
	for range n.List() { // reports what is no list
		break
	}
	return n.Any()
}

func readRow(n source.Node) (row seedRow) {
	n.Read(map[string]func(source.Node){
		"role":          func(n source.Node) { row.Role = n.OneOf("user", "assistant") },
		"content":       func(n source.Node) { row.Content = n.Text() },
		"message_index": func(n source.Node) { row.Index = new(n.Number(0, 1e15)) },
	})
	if n.Kind == source.Map && (!n.Has("role") || !n.Has("content")) {
		n.Report("write {role: user, content: …}", "a message needs a role and a content")
	}
	return row
}

// readSeedMetadata takes over what else is to stand with an item.
func readSeedMetadata(n source.Node, to map[string]any) {
	written := map[string]string{
		"source": "leave it out: it tells the next seeding that the item is one of its own", "site_name": "write `site:`", "history": "write `history:` beside it",
	}
	for name, value := range n.Entries() {
		if hint, ok := written[name]; ok {
			value.Report(hint, "%q is written by the seeding", name)
			continue
		}
		to[name] = value.Any()
	}
}

// Seeded reports whether an item with such metadata was made by a seeding.
func Seeded(metadata json.RawMessage) bool {
	var m struct {
		Source any `json:"source"`
	}
	return json.Unmarshal(metadata, &m) == nil && m.Source == SeedSource
}
