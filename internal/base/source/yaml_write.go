package source

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// YAML writes a value as people write it: mappings and lists in lines of their own, texts without quotes where they
// need none, and texts of several lines as blocks. ParseYAML reads the same value from it.
func (v Value) YAML() []byte {
	var w yamlWriter
	switch {
	case v.Kind == Map && len(v.Fields) > 0:
		w.fields(v, 0)
	case v.Kind == List && len(v.Items) > 0:
		w.items(v, 0)
	default:
		w.scalar(v, 0)
		w.WriteByte('\n')
	}
	return w.Bytes()
}

type yamlWriter struct{ bytes.Buffer }

// fields writes the entries of a mapping. The first one stands where the writer is, the others are indented.
func (w *yamlWriter) fields(v Value, indent int) {
	for i, f := range v.Fields {
		if i > 0 {
			w.WriteString(strings.Repeat(" ", indent))
		}
		w.WriteString(yamlText(f.Name) + ":")
		w.nested(f.Value, indent)
	}
}

func (w *yamlWriter) items(v Value, indent int) {
	for i, item := range v.Items {
		if i > 0 {
			w.WriteString(strings.Repeat(" ", indent))
		}
		w.WriteByte('-')
		switch {
		case item.Kind == Map && len(item.Fields) > 0:
			w.WriteByte(' ')
			w.fields(item, indent+2)
		case item.Kind == List && len(item.Items) > 0:
			w.WriteByte(' ')
			w.items(item, indent+2)
		default:
			w.nested(item, indent)
		}
	}
}

// nested writes what stands behind a key or a dash, and ends the line.
func (w *yamlWriter) nested(v Value, indent int) {
	inner := indent + 2
	switch {
	case v.Kind == Map && len(v.Fields) > 0:
		w.WriteString("\n" + strings.Repeat(" ", inner))
		w.fields(v, inner)
	case v.Kind == List && len(v.Items) > 0:
		w.WriteString("\n" + strings.Repeat(" ", inner))
		w.items(v, inner)
	default:
		w.WriteByte(' ')
		w.scalar(v, inner)
		w.WriteByte('\n')
	}
}

// scalar writes a value of one line, or a block that is indented.
func (w *yamlWriter) scalar(v Value, indent int) {
	switch v.Kind {
	case Null:
		w.WriteString("null")
	case Map:
		w.WriteString("{}")
	case List:
		w.WriteString("[]")
	case String:
		if indent > 0 && isBlock(v.Scalar) {
			w.block(v.Scalar, indent)
			return
		}
		w.WriteString(yamlText(v.Scalar))
	default:
		w.WriteString(v.Scalar)
	}
}

// block writes a literal block without the end of its last line, which the caller writes.
func (w *yamlWriter) block(text string, indent int) {
	head := "|-"
	if body, ends := strings.CutSuffix(text, "\n"); ends {
		head, text = "|", body
	}
	w.WriteString(head)
	for line := range strings.SplitSeq(text, "\n") {
		w.WriteByte('\n')
		if line != "" {
			w.WriteString(strings.Repeat(" ", indent) + line)
		}
	}
}

// isBlock reports whether a text may be written as a literal block: of several lines, none of which begins or ends with
// white space, and with at most one line end behind the last.
func isBlock(text string) bool {
	body := strings.TrimSuffix(text, "\n")
	if !strings.Contains(body, "\n") || strings.HasSuffix(body, "\n") || strings.HasPrefix(body, "\n") {
		return false
	}
	for line := range strings.SplitSeq(body, "\n") {
		if strings.TrimSpace(line) != line || strings.ContainsFunc(line, func(r rune) bool {
			return !unicode.IsPrint(r) || r == unicode.ReplacementChar
		}) {
			return false
		}
	}
	return true
}

var (
	// plainText matches texts that need no quotes, apart from notText.
	plainText = text.Regexp(`^[\p{L}][\p{L}\p{N}\p{M} _.,!?'()/+-]*$`)
	// notText are the words that readers of YAML 1.1 or 1.2 take for something else.
	notText = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan"}
)

// yamlText writes a text on one line: as it is, else in double quotes with the escapes of JSON, which YAML has, too.
func yamlText(text string) string {
	if plainText().MatchString(text) && !strings.HasSuffix(text, " ") &&
		!slices.Contains(notText, strings.ToLower(text)) {
		return text
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil { // a text is always JSON
		return `""`
	}
	quoted := strings.TrimSuffix(b.String(), "\n")
	return strings.NewReplacer("\u007f", `\u007f`, "\u0085", `\u0085`, "\u00a0", `\u00a0`, "\ufeff", `\ufeff`).
		Replace(quoted)
}
