package suite_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

func TestPlaceOfTests(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		file  string
		line  int
		turns []int
	}{
		{
			name: "a conversation",
			files: map[string]string{"suite.yaml": `name: s
tests:
  - id: a
    mode: conversation
    turns:
      - input: hello
      # a remark

      -
        input: |
          several
          lines
      - {input: bye}
`},
			file: "suite.yaml", line: 3, turns: []int{6, 10, 13},
		},
		{
			name:  "a single turn",
			files: map[string]string{"suite.yaml": "name: s\ntests:\n  - id: a\n    input: hello\n"},
			file:  "suite.yaml", line: 3, turns: []int{3},
		},
		{
			name: "a row of a table",
			files: map[string]string{
				"suite.yaml": "name: s\ntests: rows.csv\n", "rows.csv": "id,input\nb,\"one\ntwo\"\na,hello\n",
			}, file: "rows.csv", line: 4, turns: []int{4},
		},
		{
			name: "a line of JSON Lines",
			files: map[string]string{
				"suite.yaml": "name: s\ntests: rows.jsonl\n",
				"rows.jsonl": "{\"id\":\"b\",\"input\":\"x\"}\n\n" +
					"{\"id\":\"a\",\"mode\":\"conversation\",\"turns\":[{\"input\":\"x\"},{\"input\":\"y\"}]}\n",
			},
			file: "rows.jsonl", line: 3, turns: []int{3, 3},
		},
		{
			name: "v1",
			files: map[string]string{"suite.yaml": `{
  "version": "v1", "suite_id": "s",
  "tests": [
    {
      "test_id": "a",
      "turns": [
        {"turn_id": "t1", "user_input": "hello"},
        {"turn_id": "t2", "user_input": "bye"}
      ]
    }
  ]
}`},
			file: "suite.yaml", line: 4, turns: []int{7, 8},
		},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := suite.Load(filepath.Join(dir, "suite.yaml"), suite.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for test, err := range s.Tests() {
			if err != nil {
				t.Fatal(err)
			}
			if test.ID != "a" {
				continue
			}
			if at := test.At; filepath.Base(at.File) != c.file || at.Line != c.line ||
				!slices.Equal(at.Turns, c.turns) {
				t.Errorf("%s: %+v, want %s:%d %v", c.name, at, c.file, c.line, c.turns)
			}
		}
	}
}
