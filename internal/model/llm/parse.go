package llm

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// ParseModel reads the short form of a model, PROVIDER:MODEL. The model's name may have colons of its own; lexical
// needs none. The error is an *Error that says how to write it.
func ParseModel(text string) (config.Model, error) {
	names := providerNames()
	fail := func(hint, format string, args ...any) (config.Model, error) {
		return config.Model{}, &Error{
			Fault: Refused, Model: fmt.Sprintf("model %q", text), Message: fmt.Sprintf(format, args...), Hint: hint,
		}
	}
	name, rest, colon := strings.Cut(strings.TrimSpace(text), ":")
	m := config.Model{Provider: name, Name: strings.TrimSpace(rest)}
	_, unknown := findProvider(name)
	switch {
	case name == "" && m.Name == "":
		return fail("write PROVIDER:MODEL, such as openai:gpt-5", "no model is named")
	case name == "":
		return fail("write it before the colon: "+strings.Join(names, ", "), "there is no provider")
	case unknown != nil && !colon:
		return fail("write PROVIDER:MODEL, such as openai:"+name, "there is no provider")
	case unknown != nil:
		return fail(source.Suggest(name, names), "unknown provider %q", name)
	case m.Name == "" && name == "lexical":
		m.Name = "default"
	case m.Name == "":
		return fail("write "+name+":MODEL", "the provider %s is named without a model", name)
	}
	return m, nil
}
