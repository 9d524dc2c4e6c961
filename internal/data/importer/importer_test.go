package importer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/importer"
	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
)

// TestFormats holds, for each format, the suite and the configuration that are made of a file, and what is lost.
func TestFormats(t *testing.T) {
	for file, format := range map[string]string{
		"promptfoo.yaml": "promptfoo", "promptfoo-talk.yaml": "promptfoo", "promptfoo-user.yaml": "promptfoo",
		"agentv-targets.yaml": "agentv", "agentv5.yaml": "agentv", "promptfoo-own.yaml": "promptfoo",
		"promptfoo-lost.yaml": "promptfoo", "deepeval.json": "deepeval", "otel.json": "otel", "tau.json": "tau-bench",
		"adk.evalset.json": "adk", "rasa.yml": "rasa", "plan.yml": "agent-evaluation", "real/agentv.yaml": "agentv",
		"real/promptfoo.yaml": "promptfoo", "real/rasa.yml": "rasa", "real/agent-evaluation.yml": "agent-evaluation",
		"real/adk.test.json": "adk",
	} {
		t.Run(file, func(t *testing.T) {
			got := imported(t, format, filepath.Join("testdata", file))
			if auto := imported(t, "auto", filepath.Join("testdata", file)); auto != got {
				t.Errorf("auto makes something else:\n%s", auto)
			}
			golden.Compare(t, file+".golden", got)
		})
	}
}

// imported returns what is written for a file, and the losses.
func imported(t *testing.T, format string, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	o := importer.Options{Format: format, Files: files, Suite: filepath.Join(dir, "suite.yaml")}
	found, err := importer.Import(o)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d tests, %d turns; %d checks carried, %d unsupported, %d ignored, %d settings\n",
		found.Tests, found.Turns, found.Carried, found.Unsupported, found.Ignored, found.Settings)
	for _, l := range found.Lost {
		b.WriteString(l.String() + "\n")
	}
	for _, path := range []*string{found.Suite, found.Config} {
		if path != nil {
			data, err := os.ReadFile(*path)
			if err != nil {
				t.Fatal(err)
			}
			here, err := filepath.Abs("testdata")
			if err != nil {
				t.Fatal(err)
			}
			from, err := filepath.Rel(dir, here)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "-- %s --\n%s", filepath.Base(*path),
				strings.ReplaceAll(string(data), filepath.ToSlash(from), "TESTDATA"))
		}
	}
	return b.String()
}

// TestTargetsOfAnotherFile holds that a suite uses the targets that another file of the import defines.
func TestTargetsOfAnotherFile(t *testing.T) {
	got := imported(t, "agentv", "testdata/agentv5.yaml", "testdata/agentv-targets.yaml")
	for _, want := range []string{"targets:\n  - own\n  - llm\n", "target: own\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "import the file that defines it") {
		t.Errorf("the target is there, and is listed as lost:\n%s", got)
	}
}

// TestTooLarge holds that variables which multiply without end are refused before they fill the memory.
func TestTooLarge(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("x", 1<<20)
	list := strings.Repeat("a,", 99) + "a"
	for name, content := range map[string]string{
		"texts": "prompts: ['{{ a }}" + long + "']\nproviders: [x]\ntests: [{vars: {a: [" + list + "]}}]",
		"tests": "prompts: ['{{ a }}']\nproviders: [x]\ntests: [" +
			strings.Repeat("{vars: {a: ["+list+"], b: ["+list+"]}},", 21) + "]",
	} {
		path := filepath.Join(dir, name+".yaml")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := importer.Import(importer.Options{
			Format: "promptfoo", Files: []string{path}, Suite: filepath.Join(dir, "suite.yaml"),
		})
		if !source.IsInvalid(err) || !strings.Contains(err.Error(), "import fewer at once") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// TestRefused holds what is an input error, after which nothing is written.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.json", `[{"query": "hi", "reference": "Hello"}]`)
	taken := write("taken.yaml", "x")
	for _, tc := range []struct {
		format, file, suite, says string
	}{
		{"adkk", good, "s.yaml", `did you mean "adk"?`},
		{"rasa", good, "s.yaml", "is no file of the format rasa"},
		{"auto", write("other.json", `{"a": 1}`), "s.yaml", "of no known format"},
		{"auto", filepath.Join(dir, "gone.json"), "s.yaml", "no such file"},
		{"auto", dir, "s.yaml", "is a directory"},
		{"auto", write("broken.json", `{"a": `), "s.yaml", "ends in the middle"},
		{"auto", write("latin.yaml", "stories: [\xff]"), "s.yaml", "not UTF-8"},
		{"auto", write("bomb.yaml", bomb()), "s.yaml", "bomb.yaml"},
		{"auto", write("deep.json", strings.Repeat("[", 5000)), "s.yaml", "nested deeper"},
		{
			"adk", write("empty.json", `{"eval_cases": []}`), "s.yaml",
			"nothing in this file of the format adk can be imported",
		},
		{"auto", good, "taken.yaml", "is there already"},
	} {
		_, err := importer.Import(importer.Options{
			Format: tc.format, Files: []string{good, tc.file}, Suite: filepath.Join(dir, tc.suite),
		})
		if !source.IsInvalid(err) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s %s: %v, want %q", tc.format, filepath.Base(tc.file), err, tc.says)
		}
		if _, err := os.Stat(filepath.Join(dir, "s.yaml")); err == nil {
			t.Fatalf("%s %s: a suite was written", tc.format, tc.file)
		}
	}
	if data, _ := os.ReadFile(taken); string(data) != "x" {
		t.Error("the file that was there is changed")
	}
	if _, err := importer.Import(importer.Options{
		Format: "auto", Files: []string{good}, Suite: taken, Force: true,
	}); err != nil {
		t.Errorf("with --force: %v", err)
	}
}

// bomb is YAML whose aliases stand for a billion values.
func bomb() string {
	var b strings.Builder
	b.WriteString("a: &a [x,x,x,x,x,x,x,x,x,x]\n")
	for c := 'b'; c < 'k'; c++ {
		fmt.Fprintf(&b, "%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 10), ","))
	}
	return b.String()
}
