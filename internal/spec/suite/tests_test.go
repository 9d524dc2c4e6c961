package suite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// TestLongListsKeepTheirPlaces holds that a problem deep in a long list names its line and path, in a suite and in a
// file of tests.
func TestLongListsKeepTheirPlaces(t *testing.T) {
	text := conversations(300)
	line := strings.Count(text, "\n") + 1
	text += "  - id: last\n    inputt: x\n    depends_on: [conversation-000007, conversation-000300]\n" +
		"execution: {workers: 0}\n"
	want := []string{
		fmt.Sprintf("%d tests[300] a test needs an input", line),
		fmt.Sprintf("%d tests[300].inputt unknown key \"inputt\"", line+1),
		fmt.Sprintf("%d tests[300].depends_on[1] depends on \"conversation-000300\", which is no test of this suite",
			line+2),
		fmt.Sprintf("%d execution.workers 0 is too small", line+3),
	}
	_, err := load(t, map[string]string{"suite.yaml": text})
	comparePlaces(t, want, err)
	list := text[:strings.Index(text, "execution:")]
	_, err = load(t, map[string]string{"suite.yaml": "tests: list.yaml\n", "list.yaml": list})
	comparePlaces(t, want[:3], err)
}

func comparePlaces(t *testing.T, want []string, err error) {
	t.Helper()
	problems, _ := suite.Problems(err)
	var got []string
	for _, p := range problems {
		// the folder has another name each time
		message := strings.ReplaceAll(p.Message, filepath.Dir(problems[0].File)+"/", "")
		got = append(got, fmt.Sprintf("%d %s %s", p.Line, p.Path, message))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTestsOfYAMLAreParsedOnce holds that a file of tests in YAML or JSON is not needed once the suite is loaded.
func TestTestsOfYAMLAreParsedOnce(t *testing.T) {
	for name, text := range map[string]string{
		"list.yaml":    "- id: a\n  input: &x one\n- id: b\n  input: *x\n",
		"list.json":    `[{"id": "a", "input": "one"}, {"id": "b", "input": "one"}]`,
		"mapping.yaml": "name: x\ntests:\n- id: a\n  input: one\n- id: b\n  input: one\n",
		"single.yaml":  "id: a\ninput: one\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{"suite.yaml": "tests: " + name + "\n", name: text} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := suite.Load(filepath.Join(dir, "suite.yaml"), suite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				count := 0
				for test, err := range s.Tests() {
					if err != nil || test.Turns[0].Input.Text != "one" {
						t.Fatalf("test %+v, error %v", test, err)
					}
					count++
				}
				if count != s.Count {
					t.Errorf("%d tests, want %d", count, s.Count)
				}
			}
		})
	}
}
