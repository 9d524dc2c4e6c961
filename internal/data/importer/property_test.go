package importer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/data/importer"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// odd draws texts of the pieces that YAML, placeholders and terminals take for something else.
func odd() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"{{", "}}", "${{", "{{ a }}", "${{ HOME }}", `\{{`, `\`, "- ", "-", "\n", "\r\n", "\n\n", "  ", "\t", ":", ": ",
		"#", " #", "&a", "*a", "!x", "|", ">", "'", `"`, "%", "@", "`", "null", "true", "~", "1e3", "0x1", "2026-01-02",
		"...", "---", "é", "😀", "\u2028", "\u0085", "\u00a0", "\ufeff", "\x00", "\x1b", "[", "]", "{", "}", ",", "?",
		"=", "<<", "word",
	})
	return rapid.Custom(func(t *rapid.T) string {
		text := ""
		for _, p := range rapid.SliceOfN(piece, 1, 8).Draw(t, "pieces") {
			text += p
		}
		return text + "x" // never blank
	})
}

// TestTextsComeBack holds that every text is read from the suite as it stood in the file.
func TestTextsComeBack(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		said, wanted := odd().Draw(t, "said"), odd().Draw(t, "wanted")
		system, criterion := odd().Draw(t, "system"), odd().Draw(t, "criterion")
		file := map[string]any{
			"prompts": []any{"{{ messages }}"}, "providers": []any{"llm"},
			"tests": []any{map[string]any{
				"id": "a", "vars": map[string]any{
					"expected_output": wanted,
					"messages": []any{
						map[string]any{"role": "system", "content": system},
						map[string]any{"role": "user", "content": said},
					},
				},
				"assert": []any{
					map[string]any{"type": "llm-rubric", "value": "{{ expected_output }}"},
					map[string]any{"type": "contains", "value": "{{ expected_output }}"},
				},
				"metadata": map[string]any{"note": criterion},
			}},
		}
		data, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		path, out := filepath.Join(dir, "f.json"), filepath.Join(dir, "s.yaml")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := importer.Import(importer.Options{
			Format: "agentv", Files: []string{path}, Suite: out, Force: true,
		}); err != nil {
			t.Fatal(err)
		}
		s, err := suite.Load(out, suite.Options{Getenv: func(string) (string, bool) { return "SECRET", true }})
		if err != nil {
			t.Fatal(err)
		}
		for one, err := range s.Tests() {
			if err != nil {
				t.Fatal(err)
			}
			last := one.Turns[0].Assertions[len(one.Turns[0].Assertions)-1]
			got := []any{
				one.Input[0].Content.Text, one.Turns[0].Input.Text, one.Turns[0].Expected,
				last.Params.Field("value").Scalar, one.Metadata["note"],
			}
			if last.Type != "contains" {
				got[3] = one.Turns[0].Assertions[1].Params.Field("value").Scalar
			}
			if d := cmp.Diff([]any{system, said, wanted, wanted, criterion}, got); d != "" {
				t.Fatalf("texts (-want +got):\n%s", d)
			}
		}
	})
}
