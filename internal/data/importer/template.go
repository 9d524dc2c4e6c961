package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Templates are those of Nunjucks as far as they only name values: {{ name.path }}, with the filters of filters, and
// comments.

var (
	templateTag = text.Regexp(`(?s)\{\{-?\s*(.*?)\s*-?\}\}|\{%.*?%\}|\{#.*?#\}`)
	valuePath   = text.Regexp(`^[A-Za-z_$][\w$]*(?:\.[\w$-]+|\[\d+\]|\[(?:"[^"\]]*"|'[^'\]]*')\])*$`)
	// talkLoop is a loop over what was said before.
	talkLoop = text.Regexp(
		`(?s)\{%-?\s*for\s+\w+(?:\s*,\s*\w+)*\s+in\s+_conversation\b[^%]*%\}.*?\{%-?\s*endfor\s*-?%\}`)
)

// render fills values into a template. The result is as it is written in a suite: {{ env.NAME }} is an environment
// variable there. missing names the variables that are not there, which are filled with nothing, as the tool does.
// asJSON writes texts without quotes, as they stand inside of a JSON text.
func render(template string, vars source.Value, asJSON bool) (filled written, missing []string, err error) {
	var b strings.Builder
	done := 0
	for _, m := range templateTag().FindAllStringSubmatchIndex(template, -1) {
		b.WriteString(string(escape(template[done:m[0]])))
		done = m[1]
		switch {
		case template[m[0]:m[0]+2] == "{#":
			continue
		case m[2] < 0:
			return "", nil, fmt.Errorf("the template has %s", template[m[0]:m[1]])
		}
		expression := template[m[2]:m[3]]
		if name, ok := environment(expression); ok {
			b.WriteString("${{ " + name + ":-}}")
			continue
		}
		text, found, err := evaluate(expression, vars)
		if err != nil {
			return "", nil, err
		}
		if !found {
			missing = append(missing, expression)
		}
		if asJSON {
			text = withinJSON(text)
		}
		b.WriteString(string(escape(text)))
	}
	b.WriteString(string(escape(template[done:])))
	return written(b.String()), missing, nil
}

var environmentName = text.Regexp(`^(?:process\.)?env\.([A-Za-z_]\w*)$`)

func environment(expression string) (name string, ok bool) {
	m := environmentName().FindStringSubmatch(expression)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// evaluate returns the text of an expression: a path, and filters behind it.
func evaluate(expression string, vars source.Value) (text string, found bool, err error) {
	path, filters, _ := strings.Cut(expression, "|")
	path = strings.TrimSpace(path)
	if !valuePath().MatchString(path) {
		return "", false, fmt.Errorf("the template has {{ %s }}", expression)
	}
	v, found := at(vars, path)
	text = v.Scalar
	if v.Kind == source.List || v.Kind == source.Map {
		text = toJSON(v)
	}
	for filter := range strings.SplitSeq(filters, "|") {
		switch strings.TrimSpace(filter) {
		case "", "safe":
		case "dump", "tojson":
			text = toJSON(v)
		case "trim":
			text = strings.TrimSpace(text)
		case "upper":
			text = strings.ToUpper(text)
		case "lower":
			text = strings.ToLower(text)
		default:
			return "", false, fmt.Errorf("the template has the filter %s", strings.TrimSpace(filter))
		}
	}
	return text, found, nil
}

var pathStep = text.Regexp(`[\w$-]+|\[(\d+)\]|\[["']([^\]]*)["']\]`)

// at returns the value at a path such as a.b[0].
func at(v source.Value, path string) (source.Value, bool) {
	for _, step := range pathStep().FindAllStringSubmatch(path, -1) {
		name := step[0]
		if strings.HasPrefix(name, "[") {
			name = step[1] + step[2]
		}
		if i, err := strconv.Atoi(name); err == nil && v.Kind == source.List {
			if i >= len(v.Items) {
				return source.Value{}, false
			}
			v = v.Items[i]
			continue
		}
		next, ok := v.Get(name)
		if !ok {
			return source.Value{}, false
		}
		v = next
	}
	return v, true
}

func toJSON(v source.Value) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v.Any()); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// withinJSON returns a text as it stands between the quotes of a JSON text.
func withinJSON(s string) string {
	quoted := toJSON(source.Text(s))
	return strings.TrimSuffix(strings.TrimPrefix(quoted, `"`), `"`)
}

// names returns the variables that a template names.
func names(template string) (all []string) {
	for _, m := range templateTag().FindAllStringSubmatch(template, -1) {
		path, _, _ := strings.Cut(m[1], "|")
		if step := pathStep().FindString(path); step != "" {
			all = append(all, step)
		}
	}
	return all
}

var errNoChat = errors.New("it is no list of messages")

// chatOf reads a text as a list of messages in JSON, or in YAML that begins with a role.
func chatOf(text string) ([]source.Value, error) {
	text = strings.TrimSpace(text)
	var v source.Value
	var err error
	switch {
	case strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{"):
		v, err = source.ParseJSON("", []byte(text), 1)
	case strings.HasPrefix(text, "- role:"):
		v, err = source.ParseYAML("", []byte(text))
	}
	if list, ok := v.Get("messages"); ok {
		v = list
	}
	if err != nil || !isChat(v) {
		return nil, errNoChat
	}
	return v.Items, nil
}

// isChat reports whether a value is a list of messages.
func isChat(v source.Value) bool {
	for _, item := range v.Items {
		if !has(item, "role") || !has(item, "content") {
			return false
		}
	}
	return v.Kind == source.List && len(v.Items) > 0
}
