package config

import (
	"path/filepath"
	"strings"
)

// ShortTarget reads "flow:FILE" or "flow:FILE#ID", whose model is the lexical one; ok is false for anything else.
// A relative file starts at dir.
func ShortTarget(short, dir string) (t Target, ok bool) {
	file, ok := strings.CutPrefix(short, "flow:")
	if !ok || file == "" {
		return Target{}, false
	}
	file, id, _ := strings.Cut(file, "#")
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	return Target{Kind: FlowTarget, Model: Model{Provider: Lexical, Name: "default"}, Flow: Flow{Path: file, ID: id}}, true
}
