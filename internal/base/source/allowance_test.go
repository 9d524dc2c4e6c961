package source_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// repeated returns a text of about size bytes: lines whose %d is their number.
func repeated(size int, line string) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString(strings.ReplaceAll(line, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

// doubled returns a chain of anchors, each of which uses the one before it several times.
func doubled(first, line string, levels int) string {
	var b strings.Builder
	b.WriteString(first)
	for i := range levels {
		b.WriteString(strings.NewReplacer("OLD", fmt.Sprint(i), "NEW", fmt.Sprint(i+1)).Replace(line))
	}
	return b.String()
}

const (
	tooManyNodes = "the submission has more than 250000 nodes, merges and aliases included"
	tooMuchAdded = "merges and aliases add more than 10 nodes for each"
)

// TestHostileDocuments checks what a document of a submission may cost: it is refused before its merges and aliases are
// made.
func TestHostileDocuments(t *testing.T) {
	const size = 65_000
	many := func(n int) string { return strings.Repeat("1,", n-1) + "1" }
	for name, c := range map[string]struct {
		text string
		// wanted is part of the problem of a submission, local that of the same text on the disk; empty for none.
		wanted, local string
	}{
		"one mapping merged often": {
			"a: &a {" + repeated(size/2, "k%d: 1, ") + "}\nl:\n" + repeated(size/2, "- <<: *a\n"), tooManyNodes,
			tooMuchAdded,
		},
		"a list of merges": {
			"a: &a {" + repeated(2000, "k%d: 1, ") + "}\nb: {<<: [" + strings.Repeat("*a, ", size/4) + "*a]}\n",
			tooManyNodes, tooMuchAdded,
		},
		"merges of merges": {
			doubled("x0: &x0 {k: 1}\n", "xNEW: &xNEW {<<: [*xOLD, *xOLD], kNEW: 1}\n", 30), tooManyNodes, tooMuchAdded,
		},
		"nested merges": {
			doubled("x0: &x0 {k: 1}\n", "xNEW: &xNEW {<<: *xOLD, a: *xOLD, b: {<<: *xOLD}}\n", 30), tooManyNodes,
			tooMuchAdded,
		},
		"lists of aliases": {
			doubled("- &x0 [1, 2]\n", "- &xNEW [*xOLD, *xOLD, *xOLD]\n", 60), tooManyNodes, tooMuchAdded,
		},
		"more than an int": {
			doubled("- &x0 [1, 2]\n", "- &xNEW [*xOLD, *xOLD, *xOLD, *xOLD]\n", 90), tooManyNodes, tooMuchAdded,
		},
		"an anchor redefined": {
			"- &x [1, 2]\n" + strings.Repeat("- &x [*x, *x]\n", 40), "unknown alias *x", "unknown alias *x",
		},
		"aliases as keys": {
			"- &x0 a\n- &x1 {*x0 : *x0}\n" + doubled("", "- &yNEW {a: *x1, b: *x0}\n", 3), "", "",
		},
		"a list as a key":   {"- {[1]: 2}\n", "the key is a list", "the key is a list"},
		"a cycle":           {"a: &a [*a]\n", "unknown alias *a", "unknown alias *a"},
		"a cycle of merges": {"a: &a {<<: *a}\n", "unknown alias *a", "unknown alias *a"},
		"a chain of merges": {doubled("x0: &x0 {k: 1}\n", "xNEW: &xNEW {<<: *xOLD}\n", 300), "", ""},
		"depth by aliases": {
			doubled("- &x0 [1]\n", "- &xNEW [*xOLD]\n", 300), "nested deeper than 200 levels",
			"nested deeper than 200 levels",
		},
		"deep brackets": {
			strings.Repeat("[", 300) + strings.Repeat("]", 300), "nested deeper than 200 levels",
			"nested deeper than 200 levels",
		},
		"as many as it may":    {"[" + many(source.MaxSubmitted-1) + "]", "", ""},
		"one more":             {"[" + many(source.MaxSubmitted) + "]", tooManyNodes, ""},
		"as many in lines":     {strings.Repeat("- 1\n", source.MaxSubmitted-1), "", ""},
		"one more in lines":    {strings.Repeat("- 1\n", source.MaxSubmitted), tooManyNodes, ""},
		"one more by an alias": {"- &a [1, 2]\n- *a\n- [" + many(source.MaxSubmitted-7) + "]\n", tooManyNodes, ""},
		"keys":                 {repeated(8_000, "k%d: 1\n"), "", ""},
		"too many keys":        {repeated(2*size, "k%d: 1\n"), "", ""},
		"a key twice":          {strings.Repeat("k: 1\n", 1000), "written twice", "written twice"},
		"a long key":           {strings.Repeat("k", size/2) + ": [" + many(size/4) + "]", "", ""},
		"a long text":          {"k: " + strings.Repeat("word ", size), "", ""},
		"prose": {
			"k: |\n" + strings.Repeat("  It's a \"text\", isn't it: [yes] {no} - 1, 2.\n", size/8), "", "",
		},
		"empty lines behind text": {"k: |\n  text\n" + strings.Repeat("\n", size), "", ""},
		"a row of signs":          {strings.Repeat("<", size), "", ""},
		"values left out":         {"{" + repeated(3*size, "k%d,") + "}", "", ""},
		"many documents":          {strings.Repeat("---\n- 1\n", 8000), "a second document", "a second document"},
		"comments":                {strings.Repeat("#\n", 1_100_000), tooManyNodes, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := source.Files{}.Limited(source.NewAllowance()).ParseYAML("f", []byte(c.text))
			runtime.ReadMemStats(&after)
			if fmt.Sprint(err) != "<nil>" != (c.wanted != "") || !strings.Contains(fmt.Sprint(err), c.wanted) {
				t.Errorf("%.300v, want %q", err, c.wanted)
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; c.wanted != "" && len(c.text) <= size+2100 &&
				took > 50 {
				t.Errorf("%d bytes took %d MB", len(c.text), took)
			}
			_, err = source.ParseYAML("f", []byte(c.text))
			if fmt.Sprint(err) != "<nil>" != (c.local != "") || !strings.Contains(fmt.Sprint(err), c.local) {
				t.Errorf("on the disk: %.300v, want %q", err, c.local)
			}
		})
	}
}

// TestSubmissionsShareAnAllowance checks that the documents, rows and packed files of one submission count together,
// and each once.
func TestSubmissionsShareAnAllowance(t *testing.T) {
	list := func(n int) []byte { return []byte("[" + strings.Repeat("1,", n-2) + "1]") } // n nodes
	// n nodes, of which few are written
	aliases := func(n int) []byte {
		return []byte("- &a [" + strings.Repeat("1, ", 998) + "1]\n" + strings.Repeat("- *a\n", n/1000-2) + "- [" +
			strings.Repeat("1, ", 997) + "1]\n")
	}
	exceeded := func(err error) bool {
		problems, ok := errors.AsType[source.Problems](err)
		return ok && strings.Contains(problems[0].Message, "the submission has more than")
	}
	yaml := func(f source.Files, name string, n int) error { _, err := f.ParseYAML(name, aliases(n)); return err }
	json := func(f source.Files, name string, line, n int) error {
		_, err := f.ParseJSON(name, list(n), line)
		return err
	}
	for name, c := range map[string]struct {
		read func(source.Files, int) error // is called until it fails, at most 200 times
		fits int
	}{
		"documents":    {func(f source.Files, i int) error { return yaml(f, fmt.Sprint(i), 100_000) }, 2},
		"one document": {func(f source.Files, _ int) error { return yaml(f, "a", 100_000) }, 1 + 50},
		"JSON":         {func(f source.Files, i int) error { return json(f, fmt.Sprint(i), 1, 100_000) }, 2},
		"rows of JSON": {func(f source.Files, i int) error { return json(f, "a", i+1, 50_000) }, 5},
		"rows again":   {func(f source.Files, i int) error { return json(f, "a", i%5+1, 50_000) }, 5 + 100},
		"a list in parts": {func(f source.Files, i int) error {
			_, _, err := f.ParseYAMLList(fmt.Sprint(i), bytes.Repeat([]byte("- 1\n"), 49_999), "x")
			return err
		}, 5},
		"JSON that is YAML": {
			func(f source.Files, i int) error { _ = json(f, "a", 1, 2); return yaml(f, "a", 200_000) }, 1 + 24,
		},
		"broken JSON": {func(f source.Files, i int) error {
			_, err := f.ParseJSON("a", append(list(200_000), ']'), 1)
			return ignore(err, "something follows")
		}, 25},
	} {
		allowance := source.NewAllowance()
		files := source.Files{}.Limited(allowance)
		fits := 0
		var err error
		for ; err == nil && fits <= 200; fits++ {
			err = c.read(files, fits)
		}
		if fits--; fits != c.fits || !exceeded(err) || !exceeded(allowance.Exceeded()) {
			t.Errorf("%s: %d fit, want %d: %v, %v", name, fits, c.fits, err, allowance.Exceeded())
		}
	}
	for i := range 3 {
		if _, err := (source.Files{}).ParseJSON("a", list(200_000), 1); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func ignore(err error, text string) error {
	if strings.Contains(fmt.Sprint(err), text) {
		return nil
	}
	return err
}

// TestPackedFilesAreBounded checks that a small packed file cannot cost more than a submission may unpack.
func TestPackedFilesAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl.gz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	packed := gzip.NewWriter(file)
	empty := make([]byte, 1<<20)
	for range 200 {
		if _, err := packed.Write(empty); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(packed.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	files := source.Files{}.Limited(source.NewAllowance())
	read := func() error {
		content, err := files.OpenBounded(path, 1<<30)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, content)
		return errors.Join(err, content.Close())
	}
	fits := 0
	for err = nil; err == nil; fits++ {
		err = read()
	}
	if fits != 6 || !strings.Contains(err.Error(), "the packed files of the submission have more than 1024 MB") {
		t.Errorf("%d times: %v", fits, err)
	}
}

func TestJSONNodes(t *testing.T) {
	for text, want := range map[string]int{
		``: 0, `1`: 1, `"a,b"`: 1, `[]`: 1, `[1, 2,3]`: 4, `{"a": 1}`: 3, `{"a":[true,null,"x\"],["],"b":{}}`: 8,
		"1\n2\n{}": 3, `[-1.5e3,[[]]]`: 4,
	} {
		if got := source.JSONNodes([]byte(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
