package importer

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

var environmentTag = text.Regexp(`\{\{-?\s*(?:process\.)?env\.([A-Za-z_]\w*)\s*(?:\|[^}]*)?-?\}\}`)

// environmentIn writes variables of the environment as a configuration does.
func environmentIn(s string) string { return environmentTag().ReplaceAllString(s, "$${{ $1 }}") }

// configValue returns a value of a configuration with its variables of the environment.
func configValue(v source.Value) any {
	switch v.Kind {
	case source.String:
		return environmentIn(v.Scalar)
	case source.List:
		list := []any{}
		for _, item := range v.Items {
			list = append(list, configValue(item))
		}
		return list
	case source.Map:
		m := pairs{}
		for _, f := range v.Fields {
			m = append(m, pair{f.Name, configValue(f.Value)})
		}
		return m
	}
	return v.Any()
}

// requestValue is configValue of what is sent: the prompt is the user's message, and other names are variables of the
// test. A template that does more is lost.
func requestValue(e *entry, v source.Value) any { return mapText(v, e.requestText) }

func (e *entry) requestText(text string) string {
	var b strings.Builder
	done := 0
	for _, m := range templateTag().FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[done:m[0]])
		done = m[1]
		expression := ""
		if m[2] >= 0 {
			expression, _, _ = strings.Cut(text[m[2]:m[3]], "|")
			expression = strings.TrimSpace(expression)
		}
		name, isEnvironment := environment(expression)
		switch {
		case isEnvironment:
			b.WriteString("${{ " + name + " }}")
		case expression == "prompt":
			b.WriteString("{{message}}")
		case plainName().MatchString(expression):
			b.WriteString("{{vars." + expression + "}}")
			e.r.sent[expression] = true
		default:
			e.r.lose(e.Line, e.what, "%s is not filled in: see the placeholders of a target", text[m[0]:m[1]])
		}
	}
	return b.String() + text[done:]
}

var plainName = text.Regexp(`^[A-Za-z_]\w*$`)

// mapText returns a value with a function applied to each of its texts.
func mapText(v source.Value, f func(string) string) source.Value {
	switch v.Kind {
	case source.String:
		v.Scalar = f(v.Scalar)
	case source.List:
		v.Items = slices.Clone(v.Items)
		for i := range v.Items {
			v.Items[i] = mapText(v.Items[i], f)
		}
	case source.Map:
		v.Fields = slices.Clone(v.Fields)
		for i := range v.Fields {
			v.Fields[i].Value = mapText(v.Fields[i].Value, f)
		}
	}
	return v
}
