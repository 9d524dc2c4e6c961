package dataset_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

const seeding = `
dataset: tea.example-v1
description: |
  What the bot says next
site: tea.example
items:
  - {query: Which tea?, response: Asks which one.}
  - id: second
    query: 12
    site: other.example
    assertions: [{type: contains, value: tea}]
    history:
      - {role: user, content: a <b> & c, message_index: 1}
      - {role: assistant, content: 👉 How many cups?, message_index: 2}
    metadata: {notes: {by: ann}, query_message_index: 3}
`

// TestLoadSeeding reads the same from YAML, JSON and lines.
func TestLoadSeeding(t *testing.T) {
	raw := func(s string) []byte { return []byte(s) }
	want := dataset.Seeding{
		Dataset: "tea.example-v1", Description: "What the bot says next", Site: "tea.example",
		Records: []dataset.Record{
			{
				ID: "seed-b0a2a6a3c9c8b43e", Input: raw(`{"query":"Which tea?"}`),
				Expected: raw(`{"response":"Asks which one."}`),
				Metadata: raw(`{"site_name":"tea.example","source":"seed"}`),
			},
			{
				ID: "second", Input: raw(`{"query":"12"}`),
				Expected: raw(`{"assertions":[{"type":"contains","value":"tea"}],"response":""}`),
				Metadata: raw(`{"history":[{"role":"user","content":"a <b> & c","message_index":1},` +
					`{"role":"assistant","content":"👉 How many cups?","message_index":2}],"notes":{"by":"ann"},"query_message_index":3,` +
					`"site_name":"other.example","source":"seed"}`),
			},
		},
	}
	first := `{"query": "Which tea?", "response": "Asks which one."}`
	second := `{"id": "second", "query": "12", "site": "other.example", "assertions": [{"type": "contains", "value": "tea"}],
		"history": [{"role": "user", "content": "a <b> & c", "message_index": 1}, {"role": "assistant", "content": "👉 How many cups?", "message_index": 2}],
		"metadata": {"notes": {"by": "ann"}, "query_message_index": 3}}`
	title := `"dataset": "tea.example-v1", "description": "What the bot says next", "site": "tea.example"`
	for name, content := range map[string]string{
		"a.yaml": seeding, "a.yml.gz": seeding, "a.json": `{` + title + `, "items": [` + first + `,` + second + `]}`,
		"a.jsonl": `{` + title + "}\n" + first + "\n\n" + strings.ReplaceAll(second, "\n", " "),
	} {
		got, err := dataset.LoadSeeding(write(t, name, content))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range got.Records {
			got.Records[i].Line = 0
		}
		if i := strings.Index(got.Records[0].ID, "seed-"); i == 0 { // whatever the digits are, they stay
			want.Records[0].ID = got.Records[0].ID
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		for _, r := range got.Records {
			if !dataset.Seeded(r.Metadata) {
				t.Errorf("%s is not known again", r.ID)
			}
		}
	}
	for _, metadata := range []string{``, `null`, `[]`, `{"source": {"run": "r"}}`, `{"source": "trace"}`, `"seed"`} {
		if dataset.Seeded([]byte(metadata)) {
			t.Errorf("%s is taken for a seeding's", metadata)
		}
	}
}

func TestFaultySeeding(t *testing.T) {
	title := "dataset: d\nitems:\n"
	for _, c := range []struct{ name, content, want string }{
		{"a.yaml", "", "expected a mapping"},
		{"a.yaml", "dataset: [", "not valid YAML|:1"},
		{"a.yaml", title + "  - {query: [a]}", "items[0].query: "},
		{"a.yaml", title + "  - {query: a, history: b}", "items[0].history: expected a list"},
		{"a.yaml", title + "  - {query: a, history: [b]}", "items[0].history[0]: "},
		{"a.yaml", title + "  - {query: a, assertions: b}", "items[0].assertions: expected a list"},
		{"a.yaml", title + "  - {query: a, metadata: b}", "items[0].metadata: expected a mapping"},
		{
			"a.yaml", title + "  - {query: a, metadata: {history: []}}",
			`"history" is written by the seeding (write ` + "`history:` beside it)",
		},
		{"a.yaml", title + "  - {query: a, metadata: {site_name: b}}", "write `site:`"},
		{"a.yaml", title + "  - {query: a, id: [b]}", "items[0].id: expected an id"},
		{"a.yaml", title + "  - {query: a, id: " + strings.Repeat("x", 256) + "}", "Langfuse takes 255"},
		{"a.yaml", "dataset: ''\nitems: [{query: a}]", "does not name its dataset"},
		{"a.jsonl", `{"query": "a"}`, `unknown key "query"`},
		{"a.jsonl", `{"dataset": "d"}` + "\n{\"query\": \"a\"", "a.jsonl:2:"},
		{"a.jsonl", "", "there are no items"},
		{"a.toml", "", "call it .yaml or .jsonl"},
	} {
		_, err := dataset.LoadSeeding(write(t, c.name, c.content))
		problems, ok := errors.AsType[source.Problems](err)
		wanted, or, _ := strings.Cut(c.want, "|")
		if !ok || !strings.Contains(err.Error(), wanted) && (or == "" || !strings.Contains(err.Error(), or)) {
			t.Errorf("%q: got %v, want %s", c.content, err, c.want)
			continue
		}
		for _, p := range problems {
			if p.Hint == "" {
				t.Errorf("%v has no hint", p)
			}
		}
	}
}

// TestSeedIDs holds that an item keeps its id as long as it asks the same.
func TestSeedIDs(t *testing.T) {
	ids := map[string]bool{}
	for _, content := range []string{
		"dataset: d\nitems: [{query: a}]", "dataset: e\nitems: [{query: a}]",
		"dataset: d\nsite: s\nitems: [{query: a}]", "dataset: d\nitems: [{query: b}]",
		"dataset: d\nitems: [{query: a, history: [{role: user, content: b}]}]",
		"dataset: d\nitems: [{query: a, history: [{role: assistant, content: b}]}]",
		"dataset: d\nitems: [{query: a, response: c, metadata: {n: 1}}]", // as the first
	} {
		s, err := dataset.LoadSeeding(write(t, "a.yaml", content))
		if err != nil {
			t.Fatal(err)
		}
		ids[s.Records[0].ID] = true
	}
	if len(ids) != 6 {
		t.Errorf("got %v", ids)
	}
}

func FuzzSeeding(f *testing.F) {
	f.Add(seeding, true)
	f.Add(`{"dataset": "d"}`+"\n"+`{"query": "a", "history": [{"role": "user", "content": "b"}]}`, false)
	f.Fuzz(func(t *testing.T, content string, yaml bool) {
		file := filepath.Join(t.TempDir(), "a.jsonl")
		if yaml {
			file = filepath.Join(t.TempDir(), "a.yaml")
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := dataset.LoadSeeding(file)
		if err != nil {
			return
		}
		again := filepath.Join(t.TempDir(), "b.jsonl")
		if err := dataset.Write(again, s.Records); err != nil {
			t.Fatal(err)
		}
		if _, err := dataset.LoadChecked(again); err != nil {
			t.Fatalf("what a seeding makes is not sound: %v", err)
		}
	})
}
