package prompt

import (
	"context"
	"embed"
	"strings"
)

//go:embed texts
var texts embed.FS

var _ Source = Builtin{}

// Builtin are the prompts inside the program: one for every name that a site may leave open. The zero value is ready.
type Builtin struct{}

// Prompt returns a built-in text.
func (Builtin) Prompt(_ context.Context, name string) (text, version string, err error) {
	data, err := texts.ReadFile("texts/" + name + ".md")
	if err != nil {
		return "", "", unknown(name, "the built-in prompts")
	}
	text = strings.TrimSpace(string(data))
	return text, "builtin-" + versionOf(text), nil
}
