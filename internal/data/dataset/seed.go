package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

// Seeding is a file from which a dataset is made.
type Seeding struct {
	// Dataset is the name of the dataset, Site the website whose chatbot it is about; it may be empty.
	Dataset     string `key:"dataset"`
	Description string `key:"description"`
	Site        string `key:"site"`
	Records     []Record
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
		r.problems = source.Problems{{
			File: file, Message: "there are no items in the file", Hint: "write {query, response, history} for each",
		}}
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
		v, err := readFile(r.file)
		if err != nil {
			r.problems = append(r.problems, asProblems(r.file, err)...)
			return
		}
		r.report(v, "", r.title)
	default:
		r.problems = source.Problems{{
			File: r.file, Message: "the name does not say how to read the file", Hint: "call it .yaml or .jsonl",
		}}
	}
}

// readFile reads a file of YAML or JSON.
func readFile(file string) (source.Value, error) {
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

// title reads the keys of the dataset, and collects the items that stand there.
func (r *seedReader) title(n source.Node) {
	r.titled = true
	s := &r.seeding
	keys := struct {
		*Seeding
		Items []source.Node `key:"items"`
	}{Seeding: s}
	source.Decode(n, &keys)
	s.Dataset, s.Description = strings.TrimSpace(s.Dataset), strings.TrimSpace(s.Description)
	for _, item := range keys.Items {
		r.items = append(r.items, seedItem{item.Value, item.Path()})
	}
	if n.Kind == source.Map && (s.Dataset == "" || len(s.Dataset) > maxIDBytes) {
		n.Report("write `dataset: NAME` at the beginning", "the file does not name its dataset")
	}
}

// seedRow is a message of a history.
type seedRow struct {
	Role    string   `json:"role" enum:"user,assistant" required:"the message has no role"`
	Content string   `json:"content" required:"the message has no content" doc:"a text"`
	Index   *float64 `json:"message_index,omitempty" minimum:"0" maximum:"1e15"`
}

// item reads an item.
func (r *seedReader) item(n source.Node) {
	keys := struct {
		ID         source.Node   `key:"id"`
		Query      string        `key:"query" required:"the item has no query" notblank:"true" doc:"what the user says"`
		Response   string        `key:"response"`
		Assertions []source.Node `key:"assertions"`
		Site       string        `key:"site"`
		History    []seedRow     `key:"history"`
		Metadata   source.Node   `key:"metadata"`
	}{Site: r.seeding.Site}
	source.Decode(n, &keys)
	if n.Kind != source.Map {
		return
	}
	metadata := seedMetadata(keys.Metadata)
	if keys.Site != "" {
		metadata["site_name"] = keys.Site
	}
	if len(keys.History) > 0 {
		metadata["history"] = keys.History
	}
	expected := map[string]any{"response": keys.Response}
	if n.Has("assertions") {
		expected["assertions"] = n.Field("assertions").Any()
	}
	part := func(v any) json.RawMessage {
		data, err := JSON(v)
		if err != nil {
			n.Report("write finite numbers and texts", "it cannot be written as JSON: %v", err)
		}
		return data
	}
	r.seeding.Records = append(r.seeding.Records, Record{
		ID: r.seedID(n, keys.Site, keys.Query, keys.History), Line: n.Line,
		Input: part(map[string]any{"query": keys.Query}), Expected: part(expected), Metadata: part(metadata),
	})
}

// seedID returns the id of an item: its own, or one of its content.
func (r *seedReader) seedID(n source.Node, site, query string, history []seedRow) string {
	if n.Has("id") {
		id := n.Field("id")
		if len(id.Scalar) > maxRemoteID {
			id.Report("write a short one", "the id has %d bytes; Langfuse takes %d", len(id.Scalar), maxRemoteID)
		}
		return r.id(n)
	}
	if history == nil {
		history = []seedRow{} // null would give other ids than earlier versions gave
	}
	content, _ := json.Marshal([]any{r.seeding.Dataset, site, history, query}) // texts and finite numbers always encode
	sum := sha256.Sum256(content)
	id := "seed-" + hex.EncodeToString(sum[:8])
	if line, taken := r.lines[id]; taken {
		n.Report("leave one out, or give it an `id:` of its own", "the item asks the same as that in line %d", line)
	}
	r.lines[id] = n.Line
	return id
}

// seedMetadata returns the metadata of an item, with its own source.
func seedMetadata(n source.Node) map[string]any {
	metadata := map[string]any{"source": SeedSource}
	written := map[string]string{
		"source":    "leave it out: it tells the next seeding that the item is one of its own",
		"site_name": "write `site:`",
		"history":   "write `history:` beside it",
	}
	for name, value := range n.Entries() {
		if hint, ok := written[name]; ok {
			value.Report(hint, "%q is written by the seeding", name)
			continue
		}
		metadata[name] = value.Any()
	}
	return metadata
}

// Seeded reports whether an item with such metadata was made by a seeding.
func Seeded(metadata json.RawMessage) bool {
	var m struct {
		Source any `json:"source"`
	}
	return json.Unmarshal(metadata, &m) == nil && m.Source == SeedSource
}

// SeedOptions say how a seeding is carried out.
type SeedOptions struct {
	// PurgeOnly deletes the items of the dataset and creates none.
	PurgeOnly bool
	// DeleteOthers deletes items, too, that no seeding has made. Without it they are an input error, and nothing is
	// deleted.
	DeleteOthers bool
}

// Seed makes the dataset in Langfuse what a seeding says: its items are deleted, then those of the seeding created.
// Where not all could be deleted, none is created, and the outcome has no new ones.
func (p *Stores) Seed(ctx context.Context, s Seeding, options SeedOptions) (o Outcome, err error) {
	client, err := p.Langfuse()
	if err != nil {
		return o, source.AsInvalid(err)
	}
	place := &remote{places: p, client: client, name: s.Dataset}
	there, err := place.items(ctx, true)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return o, err
	}
	if foreign := unseeded(there); len(foreign) > 0 && !options.DeleteOthers {
		return o, source.Invalid("%s has %s that no seeding has made, which would be deleted: %s; "+
			"add --yes to do that, or seed another dataset", place, text.Plural(len(foreign), "item"), Few(foreign))
	}
	if !options.PurgeOnly {
		if err := createSeeded(ctx, client, s); err != nil {
			return o, err
		}
	}
	place.remove(ctx, &o, there)
	if o.Complete() && !options.PurgeOnly {
		place.put(ctx, &o, s.Records, nil)
	}
	return o, nil
}

// unseeded returns the ids of items that no seeding has made.
func unseeded(items []Record) (ids []string) {
	for i := range items {
		if !Seeded(items[i].Metadata) {
			ids = append(ids, items[i].ID)
		}
	}
	return ids
}

// createSeeded creates the dataset of a seeding, or brings its description up to date.
func createSeeded(ctx context.Context, client *langfuse.Client, s Seeding) error {
	d := langfuse.Dataset{Name: s.Dataset, Description: s.Description}
	if s.Site != "" {
		metadata, err := json.Marshal(map[string]string{"site_name": s.Site})
		if err != nil {
			return err
		}
		d.Metadata = metadata
	}
	_, err := client.CreateDataset(ctx, d)
	return err
}
