package source

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// checkCut reports where reading a document in parts of a size differs from reading it whole, and whether it was read
// in parts at all.
func checkCut(t interface {
	Helper()
	Fatalf(string, ...any)
}, data string, size int,
) (inParts bool) {
	t.Helper()
	whole, wholeErr := ParseYAML("f", []byte(data))
	root, list, err := Files{}.parseYAMLList("f", []byte(data), "tests", size)
	if diff := cmp.Diff(fmt.Sprint(wholeErr), fmt.Sprint(err)); diff != "" {
		t.Fatalf("the problems differ (-whole +parts):\n%s\n%q", diff, data)
	}
	if wholeErr != nil {
		return false
	}
	wantRoot, wantItems := extractList(whole, "tests")
	var items []Value
	for v := range list.All() {
		items = append(items, v)
	}
	if !reflect.DeepEqual(wantRoot, root) { // cmp takes seconds for a large document
		t.Fatalf("the documents differ (-whole +parts):\n%s\n%q", cmp.Diff(wantRoot, root), data)
	}
	if !slices.EqualFunc(wantItems, items, func(a, b Value) bool { return reflect.DeepEqual(a, b) }) {
		t.Fatalf("the elements differ (-whole +parts):\n%s\n%q", cmp.Diff(wantItems, items), data)
	}
	if list.Len() != len(items) {
		t.Fatalf("Len = %d, but %d elements came", list.Len(), len(items))
	}
	return len(list.parts) > 1
}

// hostileDocuments are lists that are easily cut in the wrong place; parts says which of them can be read in parts.
var hostileDocuments = []struct {
	name, text string
	parts      bool
}{
	{"plain", "name: x\ntests:\n  - id: a\n    input: b\n  - id: c\n    turns:\n      - input: d\n", true},
	{"behind the list", "tests:\n  - id: a\n  - id: b\nname: x\nvars: {a: 1}\n", true},
	{"dashes below the key", "tests:\n- id: a\n- id: b\nname: x\n", true},
	{"the document is the list", "- id: a\n- id: b\n", true},
	{"the document is a list that is set in", "  - id: a\n  - id: b\n", true},
	{"document marker", "---\ntests:\n- id: a\n- id: b\n", true},
	{"document marker before a list", "--- \n- id: a\n- id: b\n", true},
	{"document end", "tests:\n- id: a\n- id: b\n...\n", true},
	{"two documents", "tests:\n- id: a\n- id: b\n---\nname: x\n", false},
	{"second document amid the list", "tests:\n- id: a\n---\n- id: b\n- id: c\n", false},
	{"literal texts", "tests:\n- id: |\n    - x\n\n    - y\n- id: |+\n    z\n\n\n- |-\n  - a\n- b\n", true},
	{
		"folded texts",
		"tests:\n  - id: >\n      - x\n      - y\n\n       - z\n\n  - >+\n    - x\n\n  - >-\n\n    y\n  - end\n", true,
	},
	{"indentation indicators", "tests:\n- a: |2\n     - x\n    - y\n- b: |1-\n    - x\n- c: >2\n     - z\n- d\n", true},
	{"dash at the list's column in a text", "tests:\n  - id: |\n  - x\n  - y\n", true},
	{"dash left of the text's column", "tests:\n  - id: |\n      a\n  - x\n - y\n", false},
	{"quoted over lines", "tests:\n- id: \"a\n  - b\n  c\"\n- id: 'd\n\n  - e'\n- f\n", true},
	{"quoted back to the dash's column", "tests:\n- id: \"a\n- b\"\n- id: c\n", false},
	{"single quoted back to the dash's column", "tests:\n  - 'a\n  - b'\n  - c\n", false},
	{"plain over lines", "tests:\n- id: a\n    - b\n    c\n- d\n  e\n- f\n", true},
	{"flow over lines", "tests:\n- [a,\n   b]\n- {c: d,\n   e: f}\n- g\n", true},
	{"flow back to the dash's column", "tests:\n- [a,\n- b]\n- c\n", false},
	{
		"comments between",
		"tests: # all\n# one\n- id: a\n\n    # two\n- id: b # three\n  # four\n# - id: c\n- id: d\n# five\n", true,
	},
	{"comment behind a text", "tests:\n- id: |\n    a\n# one\n- id: |\n    # two\n  # three\n- b\n", true},
	{"empty elements", "tests:\n-\n- \n- # nothing\n- a\n-\n", true},
	{"elements below their dashes", "tests:\n-\n  id: a\n-\n\n  id: b\n- # c\n  id: c\n", true},
	{"lists in lists", "tests:\n- - a\n  - b\n- - - c\n- d\n", true},
	{
		"lines of Windows within quotes",
		"name: x\r\ntests:\r\n  - id: |\r\n      a\r\n\r\n  - id: \"b\r\n      c\"\r\n  - d\r\nvars: 1\r\n", true,
	},
	{
		"lines of Windows in a calm list",
		"name: x\r\ntests:\r\n  - id: |\r\n      a\r\n\r\n  - id: b\r\n  - d\r\nvars: 1\r\n", true,
	},
	{"lines of an old Mac", "tests:\r- a\r- b\r", false},
	{"one line of an old Mac", "tests:\n- a: x\r- y\n- b\n- c\n", false},
	{"byte order mark", "\ufefftests:\n- a\n- b\n", true},
	{"byte order mark amid the list", "tests:\n- a\n\ufeff- b\n- c\n", false},
	{"tab before a dash", "tests:\n- a\n\t- b\n- c\n", false},
	{"tab behind a dash", "tests:\n- a\n-\tb\n- c\n", false},
	{"tab in an element", "tests:\n- a:\tb\n  c: |\n    \td\n- e\n", true},
	{"blank lines with tabs", "tests:\n- a\n\t\n- b\n", false},
	{"no newline at the end", "tests:\n- a\n- b", true},
	{"text without a newline at the end", "tests:\n- a\n- |\n  b", true},
	{"anchor across elements", "tests:\n- &x {id: a}\n- *x\n- b\n", false},
	{"anchor before the list", "vars: &x 1\ntests:\n- *x\n- *x\n", false},
	{"anchor behind the list", "tests:\n- a\n- b\nvars: &x 1\ninput: *x\n", false},
	{"alias of nothing", "tests:\n- a\n- *x\n- b\n", false},
	{"merge key", "vars: &x {a: 1}\ntests:\n- <<: *x\n- b\n", false},
	{"merged mapping", "tests:\n- <<: {a: 1}\n  b: 2\n- c\n", true},
	{"tags", "tests:\n- !!str 1\n- !!int 2\n- c\n", true},
	{"unknown tag", "tests:\n- a\n- !x b\n- c\n", false},
	{"anchored list", "tests: &all\n- a\n- b\n", false},
	{"flow list", "tests: [a,\n  b]\nname: x\n", false},
	{"list in a flow mapping", "{tests: [\n- a\n]}\n", false},
	{"quoted key", "\"tests\":\n- a\n- b\n", false},
	{"key twice", "tests:\n- a\n- b\ntests:\n- c\n", false},
	{"key twice in an element", "tests:\n- a: 1\n  a: 2\n- b\n", false},
	{"key within a text", "name: \"\ntests:\n- a\n- b\n\"\n", false},
	{"key within another", "vars:\n  tests:\n  - a\n  - b\n", false},
	{"key as a text", "name: |\n  tests:\n  - a\ntests:\n- b\n- c\n", true},
	{"dashes that move", "tests:\n  - a\n - b\n   - c\n", false},
	{"dashes that move left to the key", "tests:\n  - a\n  - b\n- c\n", false},
	{"mapping behind the list", "- a\n- b\nname: x\n", false},
	{"fault in an element", "tests:\n- a\n- b: \"c\n- d\n", false},
	{"fault behind the list", "tests:\n- a\n- b\nname: [\n", false},
	{"wide letters", "tests:\n- é: \"日本\" \n  ü: [x:y, \"🙂\": z]\n- 🙂\n", true},
	{"unsupported key", "tests:\n- ? a\n  : b\n- ? - c\n  : d\n- e\n", false},
	{"one element", "tests:\n- a\n", false},
	{"no element", "tests:\nname: x\n", false},
	{"tests is text", "tests: a.yaml\n", false},
	{"empty", "", false},
}

func TestListInParts(t *testing.T) {
	for _, tc := range hostileDocuments {
		t.Run(tc.name, func(t *testing.T) {
			if got := checkCut(t, tc.text, 1); got != tc.parts {
				t.Errorf("read in parts: %v, want %v", got, tc.parts)
			}
		})
	}
}

// fragments are the lines that generated documents are made of; each is set in by some blanks.
var fragments = []string{
	"- id: a", "- id: b", "- input: |", "- |", "- >-", "- text", "-", "- - x", "- [a, b]", "- {a: b}", "- \"q\"",
	"- 'q", "- \"q", "- [a,", "- a:", "- |2", "- >1+", "- # c", "- &x a", "- *x", "- <<: {m: n}", "- !!str 1", "-\ta",
	"- ? k", "- a: |+", "- '", "- \"", "key: value", "list:", "text: |", "text: >+", "text: |2-", "other: \"q",
	"more: 'q'", "q\"", "q'", "b]", "c}", "# comment", "", "", "words and words", "\ttab", "? x", ": y",
	"tests:", "name: n", "---", "...", "%YAML 1.2", "vars: &x {a: 1}", "in: *x", "\ufeff", "é: 日本", "a: b\r", "a\rb",
	"@", "`", "- a: 1, 2", "- x:y", "null", "~: 1", "-1", "--", "- -1",
}

// documents generates lists with hostile lines around and within their elements. Most are valid.
func documents(t *rapid.T) string {
	newline := rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n"}).Draw(t, "newline")
	indent := rapid.SampledFrom([]int{0, 0, 2, 2, 2, 1, 4}).Draw(t, "indent")
	calm := rapid.SampledFrom([]int{100, 98, 95, 80}).Draw(t, "calm")
	var lines []string
	add := func(blanks int, line string) { lines = append(lines, strings.Repeat(" ", max(0, blanks))+line) }
	wild := func() {
		for rapid.IntRange(0, 99).Draw(t, "wild") >= calm {
			add(rapid.IntRange(0, 8).Draw(t, "blanks"), rapid.SampledFrom(fragments).Draw(t, "fragment"))
		}
	}
	wild()
	if rapid.IntRange(0, 4).Draw(t, "keyed") > 0 {
		add(0, rapid.SampledFrom([]string{
			"name: x", "# c", "---", "vars: {a: 1}", "text: |", "a: \"b",
		}).Draw(t, "head"))
		if lines[len(lines)-1] == "text: |" {
			add(1, "tests:")
		}
		add(0, rapid.SampledFrom([]string{"tests:", "tests: ", "tests: # all"}).Draw(t, "key"))
	}
	for range rapid.IntRange(1, 5).Draw(t, "elements") {
		wild()
		element(t, indent, add)
	}
	wild()
	if rapid.Bool().Draw(t, "tail") {
		add(0, rapid.SampledFrom([]string{"name2: x", "# c", "...", "input: |", "vars:"}).Draw(t, "tail"))
		add(2, rapid.SampledFrom([]string{"x", "- a", "# c", ""}).Draw(t, "tail"))
	}
	text := strings.Join(lines, newline)
	if rapid.IntRange(0, 3).Draw(t, "last newline") > 0 {
		text += newline
	}
	return text
}

// element adds one element of a list whose dashes stand behind so many blanks.
func element(t *rapid.T, indent int, add func(blanks int, line string)) {
	inner := indent + rapid.IntRange(1, 4).Draw(t, "inner")
	body := func() {
		for range rapid.IntRange(1, 4).Draw(t, "body") {
			add(inner+rapid.IntRange(0, 3).Draw(t, "deeper"), rapid.SampledFrom([]string{
				"- x", "a", "", "# c", "\tb", "k: v", "'", "- - y", "*z", "&z",
			}).Draw(t, "line"))
		}
	}
	switch kind := rapid.IntRange(0, 7).Draw(t, "kind"); kind {
	case 0, 1:
		add(indent, "- "+rapid.SampledFrom([]string{
			"|", ">", "|-", ">-", "|+", ">+", "|1", ">2", "|2-", "k: |", "k: >-", "k: |+",
		}).Draw(t, "block"))
		body()
	case 2:
		quote := rapid.SampledFrom([]string{"\"", "'"}).Draw(t, "quote")
		add(indent, "- "+quote+"a")
		add(inner, "- b # c")
		add(rapid.SampledFrom([]int{inner, inner, inner, indent, 0}).Draw(t, "back"), "d"+quote)
	case 3:
		add(indent, "- ["+"a, {b: c,")
		add(inner, "d: e}, # c")
		add(rapid.SampledFrom([]int{inner, inner, inner, indent, 0}).Draw(t, "back"), "- f]")
	case 4:
		add(indent, rapid.SampledFrom([]string{"-", "- # c", "- plain", "- 1", "- ~"}).Draw(t, "lone"))
	default:
		step := indent + 2
		add(indent, "- id: a")
		add(step, "list:")
		for range rapid.IntRange(0, 3).Draw(t, "list") {
			add(rapid.SampledFrom([]int{step, step + 2}).Draw(t, "list indent"),
				rapid.SampledFrom([]string{"- a", "- b: c", "- {d: e}", "- \"f\"", "- |"}).Draw(t, "item"))
		}
		add(step, rapid.SampledFrom([]string{
			"k: v", "k: [a, b]", "k: \"q\" # c", "k: x:y", "k: 'it''s'", "? k", "k:", "k: |",
		}).Draw(t, "last"))
	}
}

// TestListInPartsIsTheSame holds that a document reads the same in parts as whole: values, places and problems.
func TestListInPartsIsTheSame(t *testing.T) {
	inParts := 0
	rapid.Check(t, func(t *rapid.T) {
		if checkCut(t, documents(t), rapid.SampledFrom([]int{1, 1, 20, 50}).Draw(t, "size")) {
			inParts++
		}
	})
	if inParts == 0 {
		t.Error("no document was read in parts")
	}
}

// TestFilesInParts reads every YAML file of the repository both ways, and those of the folder that REHEARSE_YAML names.
func TestFilesInParts(t *testing.T) {
	for _, dir := range []string{"../../..", os.Getenv("REHEARSE_YAML")} {
		if dir == "" {
			continue
		}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".yml" &&
				filepath.Ext(path) != ".json" {
				return err
			}
			data, err := os.ReadFile(path)
			if err == nil {
				checkCut(t, string(data), 1)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func FuzzListInParts(f *testing.F) {
	for _, d := range hostileDocuments {
		f.Add(d.text)
	}
	f.Fuzz(func(t *testing.T, data string) {
		if len(data) < 4<<10 { // the parser takes long for longer nonsense
			checkCut(t, data, 1)
		}
	})
}

// TestPackedListIsSmall holds that a list takes no more than twice the memory of its text.
func TestPackedListIsSmall(t *testing.T) {
	text := "tests:\n" + strings.Repeat(
		"  - id: conversation\n    turns:\n      - {input: When does it come, expected_output: Tomorrow}\n", 1000)
	_, list, err := Files{}.ParseYAMLList("f", []byte(text), "tests")
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, part := range list.parts {
		size += len(part.text)
	}
	if len(list.parts) < 2 || list.Len() != 1000 || size > 2*len(text) {
		t.Errorf("%d values in %d parts take %d bytes, their text %d", list.Len(), len(list.parts), size, len(text))
	}
}
