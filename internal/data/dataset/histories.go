package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// maxHistoryLine bounds a line with a history, in bytes.
const maxHistoryLine = 64 << 20

// rebuiltLine is a line with a state.
type rebuiltLine struct {
	Name string `json:"name"`
	sitebot.Rebuilt
}

// RebuildLines writes, for each line of in, the state that its history leads to, and returns at the first line that is
// no history. A line is {"name", "input": {"history", "query", "field_ids"}}, or an item with its history in the
// metadata. It keeps one history in memory. Where names in in errors.
func RebuildLines(where string, in io.Reader, out io.Writer) error {
	buffered := bufio.NewWriter(out)
	return errors.Join(rebuildLines(where, in, buffered), buffered.Flush())
}

func rebuildLines(where string, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxHistoryLine)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
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
		if err != nil {
			return source.Invalid(
				`%s:%d: not a history: %w (write {"name", "input": {"history": […], "query", "field_ids"}})`,
				where, n, err)
		}
		if err := encoder.Encode(rebuiltLine{name, sitebot.Rebuild(history)}); err != nil {
			return fmt.Errorf("write a state: %w", err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return source.Invalid("%s: a line is longer than %d MB", where, maxHistoryLine>>20)
	case err != nil:
		return source.Invalid("%s: %w", where, err)
	}
	return nil
}

// parseHistory reads a line: a history of its own, or one in the metadata of an item.
func parseHistory(line []byte) (name string, h sitebot.History, err error) {
	var item struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Input    json.RawMessage `json:"input"`
		Metadata struct {
			Rows  []sitebot.HistoryRow `json:"history"`
			CutAt *float64             `json:"query_message_index"`
		} `json:"metadata"`
	}
	var in struct {
		sitebot.History
		Message string `json:"message"`
	}
	if err := json.Unmarshal(line, &item); err != nil {
		return "", h, errors.New(jsonFault(err))
	}
	if len(item.Input) == 0 {
		return "", h, errors.New("it has no input")
	}
	if err := textOr(item.Input, &in.Query, &in); err != nil {
		return "", h, errors.New(jsonFault(err))
	}
	h = in.History
	h.Query = cmp.Or(h.Query, in.Message)
	if h.Rows == nil {
		h.Rows = item.Metadata.Rows
	}
	h.CutAt = cmp.Or(h.CutAt, item.Metadata.CutAt)
	return cmp.Or(item.Name, item.ID), h, nil
}
