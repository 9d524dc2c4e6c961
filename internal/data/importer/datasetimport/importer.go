// Package datasetimport reads conversations from the files of other tools and makes dataset items of them. What it has
// no place for is counted, by its name in the file: nothing is dropped in silence.
package datasetimport

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	plain "github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/data/importer"
)

// Imported is what was found in a file.
type Imported struct {
	// File is the path of the file.
	File string
	// Format is the name of the tool's format.
	Format string
	Items  []dataset.Record
	// Lost counts what was not carried over, by its name.
	Lost map[string]int
}

// conversation is one recorded or wanted conversation.
type conversation struct {
	name  string
	turns []turn
}

// turn is what a user says, and what is known of the answer.
type turn struct {
	query string
	// expected is the expected output as it stands in the item; nil when nothing is expected.
	expected map[string]any
	// answer is what was answered, or would have been; empty when it is not known.
	answer string
	extra  map[string]any // goes into the metadata
}

// format is a kind of file.
type format struct {
	name string
	// is reports whether a file's content is of the format.
	is   func(root any) bool
	read func(f *file, root any) []conversation
}

// formats are all that can be read; the first one that fits is taken.
func formats() []format {
	return []format{
		{"adk", isADK, readADK},
		{"rasa", isRasa, readRasa},
		{"agent-evaluation", isAgentEvaluation, readAgentEvaluation},
		{"tau-bench", isTauBench, readTauBench},
		{"agentv", isAgentV, readAgentV}, // before promptfoo, whose files have the same parts
		{"promptfoo", isPromptfoo, readPromptfoo},
		{"otel", isOTel, readOTel},
	}
}

// Formats returns the names of the formats.
func Formats() (names []string) {
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// Read reads a file of a form that importer.Load knows. A named format is taken as it is; an empty name finds it out.
func Read(path, name string) (*Imported, error) {
	document, err := importer.Load(path)
	if err != nil {
		return nil, err
	}
	root := document.Any()
	for _, kind := range formats() {
		if name != "" && kind.name != name || !kind.is(root) {
			continue
		}
		f := &file{format: kind.name, lost: map[string]int{}}
		found := kind.read(f, root)
		items, err := f.items(filepath.Base(path), kind.name, found)
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return nil, fmt.Errorf("%s: no message of a user was found in this file of the format %s", path, kind.name)
		}
		return &Imported{path, kind.name, items, f.lost}, nil
	}
	if name != "" {
		return nil, fmt.Errorf("%s is no file of the format %s: leave out --format to have it found out", path, name)
	}
	return nil, fmt.Errorf("%s is of no known format: wanted one of %s", path, strings.Join(Formats(), ", "))
}

// ReadAll reads several files as Read does. It returns their items together, each with an id of its own, and what was
// found in each file. Every error is an input error.
func ReadAll(paths []string, name string) (items []dataset.Record, found []*Imported, err error) {
	if name != "" && !slices.Contains(Formats(), name) {
		return nil, nil, source.Invalid("unknown format %q: %s", name, source.Suggest(name, Formats()))
	}
	taken := map[string]bool{}
	for _, path := range paths {
		one, err := Read(path, name)
		if err != nil {
			return nil, nil, source.AsInvalid(err)
		}
		for i := range one.Items {
			one.Items[i].ID = unique(one.Items[i].ID, taken)
		}
		items, found = append(items, one.Items...), append(found, one)
	}
	return items, found, nil
}

// unique returns an id, with a number behind it if it is taken, and takes it.
func unique(id string, taken map[string]bool) string {
	free := id
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s-%d", id, n)
	}
	taken[free] = true
	return free
}

// String says in a line what became of the file.
func (i *Imported) String() string {
	line := fmt.Sprintf("%s (%s): %s", i.File, i.Format, plain.Plural(len(i.Items), "item"))
	var lost []string
	for _, name := range slices.Sorted(maps.Keys(i.Lost)) {
		lost = append(lost, fmt.Sprintf("%s %d", name, i.Lost[name]))
	}
	if len(lost) == 0 {
		return line
	}
	return line + "; not carried over: " + strings.Join(lost, ", ")
}

// items makes an item of each turn that has an expected answer, or of the last turn of a conversation without expected
// answers.
func (f *file) items(name, format string, all []conversation) (items []dataset.Record, err error) {
	taken := map[string]bool{}
	for _, c := range all {
		spoken := len(c.turns)
		c.turns = slices.DeleteFunc(c.turns, func(t turn) bool { return strings.TrimSpace(t.query) == "" })
		f.lose("turns without a text", spoken-len(c.turns))
		expects := slices.ContainsFunc(c.turns, func(t turn) bool { return t.expected != nil })
		history := []any{}
		behind := 0 // turns behind the last item, which are in no history
		for i, t := range c.turns {
			if t.expected != nil || !expects && i == len(c.turns)-1 {
				r, err := itemOf(c, i, history, map[string]any{
					"file": name, "format": format, "conversation": c.name, "turn": i + 1,
				})
				if err != nil {
					return nil, err
				}
				r.ID = unique(r.ID, taken) // two conversations may have one name
				items, behind = append(items, r), -1
			}
			behind++
			history = append(history, map[string]string{"role": "user", "content": t.query})
			if t.answer != "" {
				history = append(history, map[string]string{"role": "assistant", "content": t.answer})
			}
		}
		f.lose("last turns without an expected answer", behind)
	}
	return items, nil
}

func itemOf(c conversation, i int, history []any, from map[string]any) (dataset.Record, error) {
	t := c.turns[i]
	metadata := map[string]any{"source": from, "history": history}
	maps.Copy(metadata, t.extra)
	var input any = map[string]any{"query": t.query}
	if _, labelled := t.expected["intent"]; labelled { // an item to classify has its history with its message
		input = map[string]any{"message": t.query, "history": history}
		delete(metadata, "history")
	}
	expected := t.expected
	if expected == nil {
		expected = map[string]any{"response": ""}
		if t.answer != "" {
			from["answer"] = t.answer
		}
	}
	const longest = 200 // bytes of a name in an id
	r := dataset.Record{ID: fmt.Sprintf("%s-%d", strings.ToValidUTF8(c.name[:min(len(c.name), longest)], ""), i+1)}
	for _, part := range []struct {
		value any
		to    *json.RawMessage
	}{{input, &r.Input}, {expected, &r.Expected}, {metadata, &r.Metadata}} {
		data, err := json.Marshal(part.value)
		if err != nil {
			return r, err
		}
		*part.to = data
	}
	return r, nil
}

// file is a file being read.
type file struct {
	format string
	lost   map[string]int
}

// unsupported leaves a check that an item cannot carry in what is expected of a turn, as an assertion that cannot pass.
func (f *file) unsupported(t *turn, original map[string]any) {
	f.lose(importer.CheckName(original), 1)
	expected := map[string]any{}
	maps.Copy(expected, t.expected)
	expected["assertions"] = append(slices.Clip(list(expected["assertions"])), map[string]any{
		"type": string(importer.Unsupported), "from": f.format, "original": original,
		"why": "items have no such check (nearest: " + importer.Substitute(original) + ")",
	})
	t.expected = expected
}

// checks leaves everything of a test that the reader does not know as unsupported checks of a turn.
func (f *file) checks(t *turn, m map[string]any, known ...string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, name) && !isEmpty(m[name]) {
			f.unsupported(t, map[string]any{name: m[name]})
		}
	}
}

// lose counts what is not carried over.
func (f *file) lose(what string, n int) {
	if n > 0 {
		f.lost[what] += n
	}
}

// rest counts everything of a mapping that the reader does not know; what is empty is no loss.
func (f *file) rest(m map[string]any, known ...string) {
	for name, value := range m {
		if !slices.Contains(known, name) && !isEmpty(value) {
			f.lose(name, 1)
		}
	}
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, part := range v {
			if !isEmpty(part) {
				return false
			}
		}
		return true
	}
	return false
}

func mapping(v any) map[string]any { m, _ := v.(map[string]any); return m }
func list(v any) []any             { l, _ := v.([]any); return l }

// text returns a text, or a number as it is written.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64, int, int64, json.Number:
		return fmt.Sprint(v)
	}
	return ""
}

// first returns the first element of a list as a mapping.
func first(v any) map[string]any {
	if all := list(v); len(all) > 0 {
		return mapping(all[0])
	}
	return nil
}
