package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// maxHistoryLine bounds a line with a history, in bytes.
const maxHistoryLine = 64 << 20

// rebuiltLine is a line with a state, or with the reason why there is none.
type rebuiltLine struct {
	Name string `json:"name"`
	*sitebot.Rebuilt
	Error string `json:"error,omitempty"`
}

// RebuildLines writes a line for each line of in: the state that its history leads to, or the reason why the history
// cannot be read. A line is {"name", "input": {"history", "query", "field_ids"}}, or an item with its history in the
// metadata. The error has all lines without a state; where names in. Memory is bounded by the longest line.
func RebuildLines(where string, in io.Reader, out io.Writer) error {
	buffered := bufio.NewWriter(out)
	return errors.Join(rebuildLines(where, in, buffered), buffered.Flush())
}

func rebuildLines(where string, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxHistoryLine)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	var problems source.Problems
	for n := 1; lines.Scan(); n++ {
		line := lines.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff")) // as some editors begin a file
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		name, history, err := parseHistory(line)
		result := rebuiltLine{Name: name}
		if err == nil {
			rebuilt := sitebot.Rebuild(history)
			result.Rebuilt = &rebuilt
		} else {
			result.Error = err.Error()
			if len(problems) < maxProblems {
				problems = append(problems, source.Problem{
					File: where, Line: n, Column: 1, Path: name, Message: "not a history: " + result.Error,
					Hint: `write {"name", "input": {"history": [{"role", "content"}], "query", "field_ids"}}`,
				})
			}
		}
		if err := encoder.Encode(result); err != nil {
			return fmt.Errorf("write a state: %w", err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return source.Invalid("%s: a line is longer than %d MB", where, maxHistoryLine>>20)
	case err != nil:
		return source.Invalid("%s: %w", where, err)
	}
	return problems.Err()
}

// parseHistory reads a line: a history of its own, or one in the metadata of an item.
func parseHistory(line []byte) (name string, h sitebot.History, err error) {
	var item struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Input    json.RawMessage `json:"input"`
		Metadata historyKeys     `json:"metadata"`
	}
	var in struct {
		historyKeys
		Query    string   `json:"query"`
		Message  string   `json:"message"`
		FieldIDs []string `json:"field_ids"`
	}
	err = json.Unmarshal(line, &item)
	name = cmp.Or(item.Name, item.ID)
	if err == nil && len(item.Input) == 0 {
		return name, h, errors.New("it has no input")
	}
	if err == nil {
		err = textOr(item.Input, &in.Query, &in)
	}
	if err != nil {
		return name, h, errors.New(jsonFault(err))
	}
	keys, err := in.or(item.Metadata)
	if err != nil {
		return name, h, err
	}
	h, err = keys.parse()
	h.Query, h.FieldIDs = cmp.Or(in.Query, in.Message), in.FieldIDs
	return name, h, err
}

// historyKeys are the keys of an item's history, which its input or its metadata has.
type historyKeys struct {
	Rows           json.RawMessage       `json:"history"`
	CutAt          *sitebot.HistoryIndex `json:"query_message_index"`
	QueryInHistory *bool                 `json:"query_in_history"`
}

// or returns the keys of an item from its input and its metadata. Only one of them may have messages.
func (k historyKeys) or(metadata historyKeys) (historyKeys, error) {
	none := func(rows json.RawMessage) bool {
		return len(rows) == 0 || slices.Contains([]string{"null", "[]"}, string(rows))
	}
	switch {
	case none(k.Rows):
		k.Rows = metadata.Rows
	case !none(metadata.Rows):
		return k, errors.New("both the input and the metadata have a history")
	}
	k.CutAt = cmp.Or(k.CutAt, metadata.CutAt)
	k.QueryInHistory = cmp.Or(k.QueryInHistory, metadata.QueryInHistory)
	if k.CutAt != nil && k.QueryInHistory != nil && !*k.QueryInHistory {
		return k, errors.New("it has a query_message_index, but its query_in_history is false")
	}
	return k, nil
}

// parse reads the messages.
func (k *historyKeys) parse() (sitebot.History, error) {
	h := sitebot.History{CutAt: k.CutAt, QueryInHistory: k.QueryInHistory}
	if len(k.Rows) == 0 {
		return h, nil
	}
	if err := json.Unmarshal(k.Rows, &h.Rows); err != nil {
		return h, fmt.Errorf("the history cannot be read: %s", jsonFault(err))
	}
	return h, nil
}
