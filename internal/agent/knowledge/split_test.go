package knowledge

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
)

func TestSplitMarkdown(t *testing.T) {
	long := strings.Repeat("word ", 300)
	for _, tc := range []struct {
		name, text string
		want       []string // id, a bar, text
	}{
		{"nothing", "", nil},
		{"no heading", "one\n\ntwo", []string{"f#1|one\n\ntwo"}},
		{"before the first heading", "intro\n# A\nx", []string{"f#1|intro", "f#a|A\n\nx"}},
		{"headings above", "# A\n## B\nx\n### C\ny\n## D\nz\n# E\ne", []string{
			"f#b|A > B\n\nx", "f#c|A > B > C\n\ny", "f#d|A > D\n\nz", "f#e|E\n\ne",
		}},
		{"the same heading again", "# A\nx\n# A\ny\n# A.1\nz", []string{"f#a|A\n\nx", "f#a.2|A\n\ny", "f#a1|A.1\n\nz"}},
		{"a long section", "# A\n" + strings.TrimSpace(long), []string{
			"f#a|A\n\n" + strings.TrimSpace(strings.Repeat("word ", 240)),
			"f#a.2|A\n\n" + strings.TrimSpace(strings.Repeat("word ", 60)),
		}},
		{"how headings are written", "   ## A b! ##\nx\n#no\n####### no\n    # no\n#\ny\n# C#\nz", []string{
			"f#a-b|A b!\n\nx\n#no\n####### no\n    # no", "f#section|y", "f#c|C#\n\nz",
		}},
		{"code has no headings", "# A\n```sh\n# no\n~~~\n```\n# B\n~~~~\n# no\n~~~\n# no\n", []string{
			"f#a|A\n\n```sh\n# no\n~~~\n```", "f#b|B\n\n~~~~\n# no\n~~~\n# no",
		}},
		{"front matter", "---\ntitle: x\n---\n# A\nx", []string{"f#a|A\n\nx"}},
		{"a rule is no front matter", "---\nx", []string{"f#1|---\nx"}},
		{"other scripts", "# Größe & Maß\nx\n# 退货\ny\n# 🎉\nz", []string{
			"f#größe--maß|Größe & Maß\n\nx", "f#退货|退货\n\ny", "f#section|🎉\n\nz",
		}},
	} {
		var got []string
		for _, p := range splitMarkdown("f", tc.text) {
			got = append(got, p.id+"|"+p.text)
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

func TestSplitKeepsEveryWord(t *testing.T) {
	line := rapid.SampledFrom([]string{
		"", "# A", "## B", "```", "short words here.", "   indented", strings.Repeat("a sentence of words. ", 90),
		strings.Repeat("x", 2_500), strings.Repeat("字", 1_500), strings.Repeat(" ", 1_300) + "far",
	})
	rapid.Check(t, func(r *rapid.T) {
		lines := rapid.SliceOfN(line, 1, 12).Draw(r, "lines")
		text := strings.Join(lines, "\n")
		for name, passages := range map[string][]passage{
			"text": splitText("f", text), "markdown": splitMarkdown("f", text),
		} {
			kept, seen := "", map[string]bool{}
			for _, p := range passages {
				if n := utf8.RuneCountInString(p.text); n > maxPassage+maxTitle+3 {
					r.Fatalf("%s: %d characters in %s", name, n, p.id)
				}
				if seen[p.id] {
					r.Fatalf("%s: %s is there twice", name, p.id)
				}
				seen[p.id] = true
				kept += p.text
			}
			for _, what := range []string{"sentence", "x", "字", "far", "short"} {
				if got, want := strings.Count(kept, what), strings.Count(text, what); got != want {
					r.Fatalf("%s: %q is there %d times, want %d", name, what, got, want)
				}
			}
		}
	})
}

func TestManyHeadingsAlike(t *testing.T) {
	passages := splitMarkdown("f", strings.Repeat("# a\nx\n", 100_000))
	if n := len(passages); n != 100_000 || passages[n-1].id != "f#a.100000" {
		t.Errorf("%d passages, the last %s", n, passages[n-1].id)
	}
}

func TestLimits(t *testing.T) {
	k, err := newInMemory(t.Context(), "kb")
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	k.limits = limits{file: 1 << 20, passages: 3, text: 1 << 20}
	lines := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"id":"%d","text":"alpha"}`+"\n", i)
		}
		return b.String()
	}
	for _, tc := range []struct{ text, want string }{
		{lines(3), ""},
		{lines(4), "f.jsonl: the knowledge base would have more than 3 passages (split it into several bases)"},
		{strings.Repeat(" ", 1<<20), ""},
		{strings.Repeat(" ", 1<<20+1), "f.jsonl: the file is larger than 1 MB (split it into several files)"},
	} {
		file := textFile{"f.jsonl", func() (fs.File, error) { return openText{strings.NewReader(tc.text)}, nil }}
		_, err := k.takeIn(t.Context(), []baseFiles{{"b", []textFile{file}}})
		if got := fmt.Sprint(err); tc.want == "" && err != nil || tc.want != "" && got != tc.want {
			t.Errorf("%d bytes: %v, want %q", len(tc.text), err, tc.want)
		}
	}
	k.limits = limits{file: 1 << 20, passages: 1 << 20, text: 1_000}
	file := textFile{
		"f.txt", func() (fs.File, error) { return openText{strings.NewReader(strings.Repeat("x", 1_100))}, nil },
	}
	_, err = k.takeIn(t.Context(), []baseFiles{{"b", []textFile{file}}})
	if err == nil || !strings.Contains(err.Error(), "too much to hold in memory (put them into a store") {
		t.Errorf("too much text: %v", err)
	}
}

type openText struct{ *strings.Reader }

func (openText) Close() error               { return nil }
func (openText) Stat() (fs.FileInfo, error) { return nil, fs.ErrInvalid }

// TestCommonWordsAreLeftOut asks a base in which "the" is everywhere.
func TestCommonWordsAreLeftOut(t *testing.T) {
	k, err := newInMemory(t.Context(), "kb")
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	var text strings.Builder
	for i := range 1_500 {
		fmt.Fprintf(&text, `{"id":"%04d","text":"Thé number %d"}`+"\n", i, i)
	}
	file := textFile{"f.jsonl", func() (fs.File, error) { return openText{strings.NewReader(text.String())}, nil }}
	if _, err := k.takeIn(t.Context(), []baseFiles{{"b", []textFile{file}}}); err != nil {
		t.Fatal(err)
	}
	telling, err := k.withoutCommon(t.Context(), []string{"THE", "number", "7", "unheard"})
	if err != nil || strings.Join(telling, " ") != "7 unheard" {
		t.Errorf("telling words %v, %v", telling, err)
	}
	for query, want := range map[string]string{
		"the 7":       "0007 0000 0001", // one passage has the rare word, the others fill up
		"the number":  "0000 0001 0002",
		"the unheard": "0000 0001 0002",
		"the 7 8 9":   "0007 0008 0009",
	} {
		found, err := k.Search(t.Context(), flow.Query{Text: query, Bases: []string{"b"}, TopK: 3})
		var got []string
		for _, p := range found {
			got = append(got, p.ID)
		}
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("%s found %v, %v; want %s", query, got, err, want)
		}
	}
}

func TestFirstRunes(t *testing.T) {
	for _, tc := range []struct {
		s    string
		n    int
		want string
	}{{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"äöü", 3, "äöü"}, {"äöüß", 2, "äö…"}} {
		if got := firstRunes(tc.s, tc.n); got != tc.want {
			t.Errorf("firstRunes(%q, %d) = %q, want %q", tc.s, tc.n, got, tc.want)
		}
	}
}
