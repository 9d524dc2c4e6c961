package importer_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/importer"
)

// FuzzImport holds, for every format, that whatever a file holds either is refused as an input error or gives a suite
// that is valid, with every text in it as it was meant: Import loads what it has made before it writes it.
func FuzzImport(f *testing.F) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		f.Fatal(err)
	}
	for i, file := range files {
		if data, err := os.ReadFile(file); err == nil && filepath.Ext(file) != ".golden" {
			f.Add(string(data), uint8(i))
		}
	}
	for i, odd := range []string{
		`[{"query": "a {{ b }} ${{ C }} \\{{ d", "reference": "- x\n\n  y: |\r\n\t# z \u0000\u2028\ufeff"}]`,
		"stories: [{story: '{{ x', steps: [{user: '- a'}, {user: '...'}]}]",
		`{"tests": {"a": {"steps": [{}], "expected_results": ["\\{{"]}}}`,
		`[{"input": "---\nx: &a", "expected_output": "*a"}, {"scenario": "yes", "turns": []}]`,
		`{"prompts": ["{{ a[0].b | dump }}"], "providers": ["x"], "tests": [{"vars": {"a": [[{"b": "~"}], "\u0085"]}, "assert": ["null", {"type": "contains", "value": null}]}]}`, `{"tests": [{"id": 5, "turns": [{"input": {"a": 1}}, 7], "vars": {"input": [{"role": "x", "content": []}]}}]}`, `[{"traj": [{"role": "user", "content": "\ud800"}]}]`, `{"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [{"key": "gen_ai.input.messages", "value": {"stringValue": "[1]"}}]}]}]}]}`,
	} {
		f.Add(odd, uint8(i))
	}
	names := importer.Names()
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content string, format uint8) {
		folder, err := os.MkdirTemp(dir, "") //nolint:usetesting // t.TempDir names it after the input
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(folder) }() // of this round
		path := filepath.Join(folder, "f.json")
		if format >= 128 || content == "" || content[0] != '[' && content[0] != '{' {
			path = filepath.Join(folder, "f.yaml")
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		o := importer.Options{
			Format: names[int(format)%len(names)], Files: []string{path}, Suite: filepath.Join(folder, "suite.yaml"),
		}
		if _, err := importer.Import(o); err != nil && !source.IsInvalid(err) {
			t.Errorf("%s: %v", o.Format, err)
		}
	})
}
