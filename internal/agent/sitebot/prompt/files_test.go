package prompt_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
)

// write makes a file of a folder, with a time that differs from that of the version before.
func write(t *testing.T, dir, name, text string, at time.Time) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestFiles(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	f := &prompt.Files{Dir: dir}
	write(t, dir, "a/b.md", "\ufeffone\r\ntwo", now)
	text, version, err := f.Prompt(t.Context(), "a/b")
	if err != nil || text != "one\ntwo" || len(version) != 12 {
		t.Fatalf("got %q, %q, %v", text, version, err)
	}
	// The same time and size: the file is not read again.
	write(t, dir, "a/b.md", "\ufeffTWO\r\none", now)
	if again, _, _ := f.Prompt(t.Context(), "a/b"); again != text {
		t.Errorf("got %q, want what is in memory", again)
	}
	write(t, dir, "a/b.md", "three", now.Add(time.Second))
	if again, other, _ := f.Prompt(t.Context(), "a/b"); again != "three" || other == version {
		t.Errorf("got %q, version %s; before %s", again, other, version)
	}
	if err := os.Remove(filepath.Join(dir, "a", "b.md")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Prompt(t.Context(), "a/b"); !errors.Is(err, prompt.ErrUnknown) {
		t.Errorf("a removed file: %v", err)
	}
}

func TestFilesProblems(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write(t, outside, "secret.md", "secret", time.Now())
	write(t, dir, "large.md", strings.Repeat("x", 256<<10+1), time.Now())
	write(t, dir, "binary.md", "\xff\xfe", time.Now())
	write(t, dir, "folder.md/x", "", time.Now())
	if err := os.Symlink(filepath.Join(outside, "secret.md"), filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	f := &prompt.Files{Dir: dir}
	up := filepath.Base(outside)
	for name, want := range map[string]string{
		"../" + up + "/secret": "is not a name: write a path below", "/etc/passwd": "is not a name",
		"a/../b": "is not a name", "": "is not a name", ".": "is not a name", `a\b`: "is not a name",
		"link": "prompts: ", "large": "large.md is larger than 256 KB", "binary": "is not UTF-8 text",
	} {
		text, _, err := f.Prompt(t.Context(), name)
		if err == nil || errors.Is(err, prompt.ErrUnknown) || !strings.Contains(err.Error(), want) || text != "" {
			t.Errorf("Prompt(%q) = %q, %v, want %q", name, text, err, want)
		}
	}
	for _, name := range []string{"none", "none/none", "folder", "large.md"} {
		if _, _, err := f.Prompt(t.Context(), name); !errors.Is(err, prompt.ErrUnknown) {
			t.Errorf("Prompt(%q): %v", name, err)
		}
	}
	_, _, err := (&prompt.Files{Dir: filepath.Join(dir, "none")}).Prompt(t.Context(), "a")
	if err == nil || errors.Is(err, prompt.ErrUnknown) ||
		!strings.Contains(err.Error(), "make the folder, or leave it out") {
		t.Errorf("without a folder: %v", err)
	}
}

func TestFilesTogether(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.md", "text", time.Now())
	f := &prompt.Files{Dir: dir}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if text, _, err := f.Prompt(t.Context(), "a"); text != "text" || err != nil {
				t.Errorf("got %q, %v", text, err)
			}
		})
	}
	wg.Wait()
}
