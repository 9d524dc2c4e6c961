package target

import (
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/template"
)

// Addresses returns the addresses that a target names itself, as they are written and as they are once the texts are
// filled in that are known. Those of its models and of its chatbot are not among them.
func Addresses(t config.Target) []string {
	if o, ok := t.Options.(interface{ addresses() []string }); ok {
		return o.addresses()
	}
	return nil
}

// StartsProgram reports whether a target starts a program that its configuration names.
func StartsProgram(t config.Target) bool {
	_, ok := t.Options.(CommandConfig)
	return ok
}

func (c HTTPConfig) addresses() []string {
	all := withFilled(c.turn.written, c.turn.url)
	if c.opening != nil {
		all = append(all, withFilled(c.opening.written, c.opening.url)...)
	}
	if c.closing != nil {
		all = append(all, withFilled(c.closing.written, c.closing.url)...)
	}
	return all
}

func (c A2AConfig) addresses() []string { return withFilled(c.URL, c.request.url) }

func (c WebsocketConfig) addresses() []string { return withFilled(c.URL, c.url) }

func (c ExecuteConfig) addresses() []string { return []string{c.URL} }

// withFilled returns an address as it is written and, where that is known before any conversation, as it is filled in.
func withFilled(written string, address *template.Template) []string {
	if address == nil {
		return []string{written}
	}
	filled, _, err := address.Text(&template.Values{}, template.Address)
	if err != nil || filled == written {
		return []string{written}
	}
	return []string{written, filled}
}
