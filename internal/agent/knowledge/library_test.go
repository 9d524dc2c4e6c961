package knowledge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/agent/knowledge"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLibraryOfAFolder(t *testing.T) {
	runLibrary(t, func(t *testing.T, texts fileTexts) flow.Knowledge {
		return folder(t, write(t, t.TempDir(), texts))
	})
}

func TestLibraryOfAStore(t *testing.T) {
	runLibrary(t, func(t *testing.T, texts fileTexts) flow.Knowledge {
		k, dir := kept(t), write(t, t.TempDir(), texts)
		t.Chdir(dir)
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			add(t, k, e.Name(), e.Name())
		}
		return k
	})
}

// write writes files and returns their folder.
func write(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func folder(t testing.TB, dir string) *knowledge.Library {
	t.Helper()
	k, err := knowledge.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return k
}

// kept returns the knowledge bases of a store, none yet.
func kept(t testing.TB) *knowledge.Library {
	t.Helper()
	return keptStore(t).Knowledge()
}

func add(t testing.TB, k *knowledge.Library, base string, paths ...string) knowledge.Added {
	t.Helper()
	done, err := k.Add(t.Context(), base, paths...)
	if err != nil {
		t.Fatalf("Add(%s, %v): %v", base, paths, err)
	}
	return done
}

func find(t testing.TB, k *knowledge.Library, text string, bases ...string) string {
	t.Helper()
	found, err := k.Search(t.Context(), flow.Query{Text: text, Bases: bases, TopK: 20})
	if err != nil {
		t.Fatalf("Search(%q): %v", text, err)
	}
	var ids []string
	for _, p := range found {
		ids = append(ids, p.ID)
	}
	return strings.Join(ids, " ")
}
