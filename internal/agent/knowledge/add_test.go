package knowledge_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/agent/knowledge"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func TestAddReplacesAFile(t *testing.T) {
	k, dir := kept(t), t.TempDir()
	t.Chdir(dir)
	write(t, dir, map[string]string{"a.md": "# One\nalpha\n# Two\nbeta\n", "b.txt": "gamma"})
	if d := cmp.Diff(knowledge.Added{Files: 2, Passages: 3}, add(t, k, "docs", "a.md", "b.txt", "./b.txt")); d != "" {
		t.Errorf("first Add (-want +got):\n%s", d)
	}
	write(t, dir, map[string]string{"a.md": "# Two\nbeta delta\n"})
	// The same file, however its path is written.
	if d := cmp.Diff(knowledge.Added{Files: 1, Passages: 1, Replaced: 2},
		add(t, k, "docs", filepath.Join(dir, "a.md"))); d != "" {
		t.Errorf("second Add (-want +got):\n%s", d)
	}
	for text, want := range map[string]string{
		"alpha": "", "beta": "a.md#two", "delta": "a.md#two", "gamma": "b.txt#1",
	} {
		if got := find(t, k, text, "docs"); got != want {
			t.Errorf("%s found %q, want %q", text, got, want)
		}
	}
	bases, err := k.Bases(t.Context())
	if d := cmp.Diff([]knowledge.Base{{Name: "docs", Files: 2, Passages: 2}}, bases); d != "" || err != nil {
		t.Errorf("Bases: %v, (-want +got):\n%s", err, d)
	}
}

func TestAddingAgainLeavesScoresAlone(t *testing.T) {
	k, dir := kept(t), t.TempDir()
	t.Chdir(dir)
	write(t, dir, map[string]string{
		"a.txt": "alpha beta\n", "b.txt": "alpha gamma delta\n", "c.txt": "other words altogether\n",
	})
	passages := func() []flow.Passage {
		found, err := k.Search(t.Context(), flow.Query{Text: "alpha delta", Bases: []string{"b"}, TopK: 5})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	add(t, k, "b", ".")
	want := passages()
	for range 20 {
		add(t, k, "b", "a.txt")
		add(t, k, "b", "c.txt", "b.txt")
	}
	if d := cmp.Diff(want, passages()); d != "" || len(want) != 2 {
		t.Errorf("%d passages, after adding the same again (-want +got):\n%s", len(want), d)
	}
	if gone, err := k.Remove(t.Context(), "b"); gone != 3 || err != nil {
		t.Errorf("Remove = %d, %v; want 3", gone, err)
	}
	add(t, k, "b", ".")
	if d := cmp.Diff(want, passages()); d != "" {
		t.Errorf("after removing and adding (-want +got):\n%s", d)
	}
}

func TestAddIsAllOrNothing(t *testing.T) {
	k, dir := kept(t), t.TempDir()
	t.Chdir(dir)
	write(t, dir, map[string]string{
		"good.txt": "alpha", "bad.txt": "beta\n\xff", "zero.md": "a\nb\x00", "wide.txt": "\xff\xfea\x00",
		"page.pdf": "%PDF", "lines.jsonl": `{"id":1,"text":"x"}` + "\n\n" + `{"id":"1","text":"y"}` + "\n" +
			`{"text":"z"}` + "\n[]\n" + `{"id":"2","text":" "}` + "\n" + `{"id":"3","text":[]}` + "\n{",
	})
	add(t, k, "b", "good.txt")
	write(t, dir, map[string]string{"good.txt": "changed"})
	_, err := k.Add(t.Context(), "b", "good.txt", "bad.txt", "zero.md", "wide.txt", "page.pdf", "lines.jsonl")
	want := []string{
		"bad.txt:2:1: the file is not UTF-8 text (save it as UTF-8)",
		"zero.md:2:2: the file is binary: it has a zero byte (knowledge bases take .md, " +
			".txt and .jsonl files in UTF-8)",
		"wide.txt:1:1: the file is UTF-16 (save it as UTF-8)",
		"page.pdf: this kind of file has no passages (knowledge bases take .md, .txt and .jsonl files in UTF-8)",
		`lines.jsonl:3:7: id: the id "1" is there twice (give each passage an id of its own)`,
		`lines.jsonl:4:1: the line has no "id" (add "id": …)`,
		`lines.jsonl:5:1: expected an object, got a list (write {"id": …, "text": …} on each line)`,
		"lines.jsonl:6:18: text: the text is empty (write what agents shall find, or remove the line)",
		"lines.jsonl:7:11: text: expected text, got a list (write text, in quotes if it has special characters)",
	}
	if err == nil || !strings.HasPrefix(err.Error(), strings.Join(want, "\n")) ||
		!strings.Contains(err.Error(), "lines.jsonl:8:") {
		t.Errorf("Add of faulty files:\n%v\nwant\n%s\nand line 8", err, strings.Join(want, "\n"))
	}
	if got := find(t, k, "alpha changed beta x", "b"); got != "good.txt#1" {
		t.Errorf("after a failed Add found %q", got)
	}
	if got := find(t, k, "changed", "b"); got != "" {
		t.Errorf("a failed Add left %q", got)
	}
}

func TestAddRefuses(t *testing.T) {
	k, dir := kept(t), t.TempDir()
	t.Chdir(dir)
	write(t, dir, map[string]string{
		"a.txt": "alpha", "empty/x.png": "", "one.jsonl": `{"id":"1","text":"x"}`, "two.jsonl": `{"id":"1","text":"y"}`,
	})
	add(t, k, "taken", "one.jsonl")
	for _, tc := range []struct{ base, path, want string }{
		{"b", "none.txt", "none.txt: there is no such file (check the path)"},
		{"b", "empty", "empty: the folder has no such files (knowledge bases take"},
		{"b", os.DevNull, "not a file"},
		{"", "a.txt", "the knowledge base has no name (name it with letters"},
		{"a\nb", "a.txt", "characters that cannot be seen"},
		{strings.Repeat("n", 101), "a.txt", "more than 100 characters"},
		{"taken", "two.jsonl", `two.jsonl:1:1: the id "1" is in one.jsonl already (give it another id`},
	} {
		_, err := k.Add(t.Context(), tc.base, tc.path)
		if _, ok := errors.AsType[source.Problems](err); !ok || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Add(%.20q, %s): %v, want a problem with %q", tc.base, tc.path, err, tc.want)
		}
	}
	if bases, err := k.Bases(t.Context()); len(bases) != 1 || err != nil {
		t.Errorf("Bases = %v, %v; want the first only", bases, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Add(ctx, "b", "a.txt"); !errors.Is(err, context.Canceled) {
		t.Errorf("Add with a cancelled context: %v", err)
	}
}

func TestRemove(t *testing.T) {
	k, dir := kept(t), t.TempDir()
	t.Chdir(dir)
	write(t, dir, map[string]string{"a.txt": "alpha", "b.txt": "alpha\n\n" + strings.Repeat("long ", 239)})
	add(t, k, "one", ".")
	add(t, k, "two", ".")
	unknown := `c.txt: the knowledge base one has no such file (did you mean`
	if _, err := k.Remove(t.Context(), "one", "b.txt", "c.txt"); err == nil || !strings.Contains(err.Error(), unknown) {
		t.Errorf("Remove of an unknown file: %v", err)
	}
	if gone, err := k.Remove(t.Context(), "one", "b.txt"); gone != 2 || err != nil {
		t.Errorf("Remove of a file = %d, %v; want 2", gone, err)
	}
	if got := find(t, k, "alpha", "one", "two"); got != "a.txt#1 a.txt#1 b.txt#1" {
		t.Errorf("after removing a file found %q", got)
	}
	if gone, err := k.Remove(t.Context(), "one"); gone != 1 || err != nil {
		t.Errorf("Remove of a base = %d, %v; want 1", gone, err)
	}
	_, err := k.Remove(t.Context(), "one")
	if _, ok := errors.AsType[*knowledge.UnknownBaseError](err); !ok {
		t.Errorf("Remove of a base that is gone: %v", err)
	}
	if got := find(t, k, "alpha long", "two"); got != "b.txt#2 a.txt#1 b.txt#1" {
		t.Errorf("in the other base found %q", got)
	}
}

// TestAddWhileSearching sees each file whole, as it was or as it is.
func TestAddWhileSearching(t *testing.T) {
	k, dir := kept(t), t.TempDir()
	write(t, dir, map[string]string{"a.txt": strings.Repeat("alpha "+strings.Repeat("x", 700)+"\n\n", 5)})
	file := filepath.Join(dir, "a.txt")
	add(t, k, "b", file)
	var wg sync.WaitGroup
	for g := range 2 {
		wg.Go(func() {
			for range 10 {
				if _, err := k.Add(t.Context(), "b", file); err != nil {
					t.Errorf("Add: %v", err)
				}
				if _, err := k.Add(t.Context(), fmt.Sprint("other", g), file); err != nil {
					t.Errorf("Add: %v", err)
				}
			}
		})
		wg.Go(func() {
			for range 50 {
				if got := len(strings.Fields(find(t, k, "alpha", "b"))); got != 5 {
					t.Errorf("found %d passages of a file of 5", got)
				}
			}
		})
	}
	wg.Wait()
}
