package transcript

import (
	"bytes"
	"encoding/json"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Pretty returns a value as indented JSON, or the text itself where it is none; nothing for nothing.
func Pretty(value any) string {
	raw, ok := value.(json.RawMessage)
	if m, isMap := value.(map[string]any); isMap && len(m) > 0 {
		if b, err := json.Marshal(m); err == nil {
			raw, ok = b, true
		}
	}
	if !ok || len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	said := string(raw)
	var plain string
	var b bytes.Buffer
	switch {
	case raw[0] == '"' && json.Unmarshal(raw, &plain) == nil:
		said = plain
	case len(raw) < 1<<20 && json.Indent(&b, raw, "", "  ") == nil:
		said = b.String()
	}
	said, left := text.Cut(text.Visible(said), maxJSON)
	if left > 0 {
		said += "\n… " + text.Plural(left, "more character")
	}
	return said
}
