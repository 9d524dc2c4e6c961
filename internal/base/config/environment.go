package config

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Environment looks up variables, as os.LookupEnv does.
type Environment func(name string) (value string, set bool)

// variable matches ${{ NAME }} and ${{ NAME:-fallback }}.
var variable = text.Regexp(`\$\{\{\s*([A-Za-z_]\w*)\s*(:-[^}]*?)?\s*\}\}`)

// unset is a variable that has neither a value nor a fallback, with the path of the text that takes it in.
type unset struct{ path, name string }

// filling fills variables into the texts of a document.
type filling struct {
	env   Environment
	unset []unset
}

// value returns the node's value with the values of variables. In place of a variable that is not set stands its mask:
// so a playback, which needs no secrets, makes the requests that were recorded.
func (f *filling) value(n source.Node) source.Value {
	v := n.Value
	switch v.Kind {
	case source.String:
		if strings.Contains(v.Scalar, "${{") {
			v.Scalar = variable().ReplaceAllStringFunc(v.Scalar, func(found string) string {
				return f.variable(found, n.Path())
			})
		}
	case source.List:
		v.Items = slices.Clone(v.Items)
		for i, item := range n.List() {
			v.Items[i] = f.value(item)
		}
	case source.Map:
		v.Fields = slices.Clone(v.Fields)
		for i, field := range v.Fields {
			v.Fields[i].Value = f.value(n.Field(field.Name))
		}
	}
	return v
}

func (f *filling) variable(found, path string) string {
	match := variable().FindStringSubmatch(found)
	if value, set := f.env(match[1]); set {
		return strings.ReplaceAll(value, "{{", `\{{`) // which is plain text to a template
	}
	if fallback, ok := strings.CutPrefix(match[2], ":-"); ok {
		return fallback
	}
	f.unset = append(f.unset, unset{path, match[1]})
	return "[redacted " + match[1] + "]"
}

// Unset returns the variables that are not set although texts at or below a place take them in, such as "targets",
// NAME. A name comes once.
func (f *File) Unset(place ...string) []string {
	at := strings.Join(place, ".")
	var names []string
	for _, u := range f.unset {
		rest, below := strings.CutPrefix(u.path, at)
		if below && (rest == "" || rest[0] == '.' || rest[0] == '[') && !slices.Contains(names, u.name) {
			names = append(names, u.name)
		}
	}
	return names
}

// decided returns the problems that have nothing to do with a variable that is not set: what such a text will say is
// not known.
func (f *File) decided(problems source.Problems) source.Problems {
	return slices.DeleteFunc(problems, func(p source.Problem) bool {
		return slices.ContainsFunc(f.unset, func(u unset) bool { return u.path == p.Path })
	})
}
