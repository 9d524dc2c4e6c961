package knowledge_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/knowledge"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func TestOpenFindsTheBases(t *testing.T) {
	dir := write(t, t.TempDir(), map[string]string{
		"faq.md": "# Alpha\nalpha", "faq/more/deep.txt": "alpha", "faq/.hidden.md": "alpha", ".git/x.md": "alpha",
		"lines.jsonl": `{"id":"l","text":"alpha"}`, "SHOUT.MD": "alpha", "notes.pdf": "%PDF", "pictures/x.png": "\x00",
	})
	k := folder(t, dir)
	bases, err := k.Bases(t.Context())
	want := []knowledge.Base{
		{Name: "SHOUT", Files: 1, Passages: 1}, {Name: "faq", Files: 2, Passages: 2},
		{Name: "lines", Files: 1, Passages: 1}, {Name: "pictures"},
	}
	if d := cmp.Diff(want, bases); d != "" || err != nil {
		t.Errorf("Bases: %v, (-want +got):\n%s", err, d)
	}
	if got := find(t, k, "alpha", "faq", "lines", "SHOUT", "pictures"); got !=
		"faq.md#alpha SHOUT.MD#1 faq/more/deep.txt#1 l" {
		t.Errorf("found %q", got)
	}
}

func TestOpenStaysInTheFolder(t *testing.T) {
	top := write(t, t.TempDir(), map[string]string{
		"secret.txt": "alpha secret", "outside/secret.txt": "alpha secret", "kb/b/real.txt": "alpha",
		"kb/b/..data.txt": "",
	})
	for link, to := range map[string]string{
		"kb/b/out.txt": "../../../secret.txt", "kb/b/whole.txt": filepath.Join(top, "secret.txt"),
		"kb/b/in.txt": "real.txt", "kb/b/folder": "../../../outside", "kb/outside": "../outside",
		"kb/b/loop.txt": "loop.txt", "kb/b/up": "..", "kb/b/none.txt": "nothing",
	} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	k := folder(t, filepath.Join(top, "kb"))
	if got := find(t, k, "alpha", "b"); got != "b/in.txt#1 b/real.txt#1" {
		t.Errorf("found %q", got)
	}
	if got := find(t, k, "secret", "b"); got != "" {
		t.Errorf("left the folder: %q", got)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	dir := write(t, t.TempDir(), map[string]string{
		"file": "", "bad/b/x.txt": "ok\n\nno \xff", "bad/c.jsonl": "nonsense",
	})
	for name, want := range map[string][]string{
		"none": {"none: cannot be read: no such file or directory (check that it is there"},
		"file": {"file: cannot be read: not a directory"},
		"bad":  {"b/x.txt:3:4: the file is not UTF-8 text", "c.jsonl:1:2: not valid JSON"},
	} {
		_, err := knowledge.Open(t.Context(), filepath.Join(dir, name))
		if _, ok := errors.AsType[source.Problems](err); !ok {
			t.Errorf("%s: error %v, want problems", name, err)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %v, want %q", name, err, part)
			}
		}
	}
	k := folder(t, t.TempDir())
	_, err := k.Remove(t.Context(), "b")
	if err == nil || !strings.Contains(err.Error(), "there are none yet; put a file NAME.md or a folder NAME into /") {
		t.Errorf("Remove from nothing: %v", err)
	}
}

func TestCloseOfAFolder(t *testing.T) {
	k, err := knowledge.Open(t.Context(), write(t, t.TempDir(), map[string]string{"b.txt": "alpha"}))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := k.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := k.Bases(t.Context()); err == nil {
		t.Error("Bases after Close gave no error")
	}
	s := kept(t)
	if err := s.Close(); err != nil {
		t.Errorf("Close of a store's bases: %v", err)
	}
	if _, err := s.Bases(t.Context()); err != nil {
		t.Errorf("a store's bases must outlive that: %v", err)
	}
}
