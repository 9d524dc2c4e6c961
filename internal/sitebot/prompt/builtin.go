package prompt

import (
	"context"
	"embed"
	"io/fs"
	"strings"
	"sync"
)

//go:embed texts
var texts embed.FS

var _ Source = Builtin{}

// Builtin are the prompts inside the program: one for every name that a site may leave open. The zero value is ready.
type Builtin struct{}

// Prompt returns a built-in text.
func (Builtin) Prompt(_ context.Context, name string) (text, version string, err error) {
	p, ok := builtins()[name]
	if !ok {
		return "", "", unknown(name, "the built-in prompts")
	}
	return p.text, p.version, nil
}

// builtins returns all built-in prompts by their names. The files are inside the program, so that reading them cannot fail.
var builtins = sync.OnceValue(func() map[string]builtin {
	all := map[string]builtin{}
	_ = fs.WalkDir(texts, "texts", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := texts.ReadFile(file)
		text := strings.TrimSpace(string(data))
		name := strings.TrimSuffix(strings.TrimPrefix(file, "texts/"), ".md")
		all[name] = builtin{text: text, version: "builtin-" + versionOf(text)}
		return err
	})
	return all
})

type builtin struct{ text, version string }
