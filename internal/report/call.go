package report

import (
	"bytes"
	"encoding/json"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/text"
)

// maxJSON is how many characters of a tool's arguments, a result or a state the page shows.
const maxJSON = 6_000

// call is one use of a tool. Short ones stand on one line.
type call struct {
	Name, Args, Result, Took string
	Short                    bool
}

func callOf(c chat.ToolCall) call {
	v := call{Name: text.OneLine(c.Name, 100), Result: pretty(c.Result)}
	v.Args = text.OneLine(textOf(c.Args), 200)
	v.Short = len(v.Args) <= 120
	if !v.Short {
		v.Args = pretty(c.Args)
	}
	if c.LatencyMS > 0 {
		v.Took = text.Milliseconds(c.LatencyMS)
	}
	return v
}

// pretty returns a value as indented JSON, or the text itself where it is none; nothing for nothing.
func pretty(value any) string {
	raw, ok := value.(json.RawMessage)
	if m, isMap := value.(map[string]any); isMap && len(m) > 0 {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if e.Encode(m) == nil {
			raw, ok = b.Bytes(), true
		}
	}
	if !ok || len(raw) == 0 {
		return ""
	}
	said := textOf(raw)
	var b bytes.Buffer
	if raw[0] != '"' && len(raw) < 1<<20 && json.Indent(&b, raw, "", "  ") == nil {
		said = b.String()
	}
	said, left := text.Cut(text.Visible(strings.TrimSpace(said)), maxJSON)
	if left > 0 {
		said += "\n… " + text.Plural(left, "more character")
	}
	return said
}

// textOf returns raw JSON as it is, and of a JSON string the said.
func textOf(raw json.RawMessage) string {
	var said string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &said) == nil {
		return said
	}
	return string(raw)
}
