package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
	"github.com/rehearse-dev/rehearse/internal/run/store/storetest"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// childEnv makes the test program a second process on the file that it names, fleetEnv one that stores results of a run
// there.
const (
	childEnv = "STORETEST_CHILD"
	fleetEnv = "STORETEST_FLEET"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if err := child(path, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if path := os.Getenv(fleetEnv); path != "" {
		fmt.Fprintln(os.Stderr, fleetChild(path, os.Args[1]))
		os.Exit(1) // as it goes on until it is killed
	}
	servertest.Main(m)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, place string) storetest.Backend {
		return open(t, filepath.Join(place, "store.db"))
	})
}

func open(t testing.TB, path string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOpenMakesFolders(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"new/er/store.db", "with space.db", "a?b.db", "a%20b.db", "a#b.db", "ünï.db", "q?mode=ro.db",
	} {
		path := filepath.Join(dir, name)
		s := open(t, path)
		if s.Path() != path {
			t.Errorf("Path() = %q, want %q", s.Path(), path)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	newer := filepath.Join(dir, "newer.db")
	if err := open(t, newer).Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", newer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	db.Close()

	for _, tc := range []struct{ name, path, want string }{
		{
			"another kind of file", write("notes.txt", strings.Repeat("these are notes\n", 100)),
			"is not a SQLite database; move it away",
		},
		{
			"a folder", dir,
			"cannot be opened (is it a folder, or is its folder not writable?); make it writable or name another store",
		},
		{
			"below a file", filepath.Join(write("file", "x"), "store.db"),
			"a part of the path is a file, not a folder; name another store",
		},
		{
			"a newer schema", newer,
			fmt.Sprintf("written by a newer rehearse (schema 99, this program knows %d); use the newer program",
				store.Newest("sqlite")),
		},
	} {
		s, err := store.Open(t.Context(), tc.path)
		if err == nil {
			s.Close()
			t.Errorf("%s: no error", tc.name)
			continue
		}
		if text := err.Error(); !strings.Contains(text, tc.want) || !strings.Contains(text, tc.path) ||
			strings.Contains(text, "\n") {
			t.Errorf("%s: error %q, want one line with %q and the path", tc.name, text, tc.want)
		}
	}
}

func TestDamagedPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path)
	for i := range 500 {
		if err := s.PutVerdict(t.Context(), fmt.Sprint("key", i), []byte(strings.Repeat("v", 200))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The header stays, so that only reading further finds the damage: on opening the file, or with the schema whole,
	// on reading rows.
	const page, schemaPages = 4096, 32
	for _, intact := range []int{page, schemaPages * page} {
		broken := slices.Clone(data)
		for i := intact; i < len(broken); i++ {
			broken[i] = 0xA5
		}
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(t.Context(), path)
		if err == nil {
			_, _, err = s.Verdict(t.Context(), "key1")
			_ = s.Close() // what it says of a damaged file is not looked at
		}
		if err == nil || !strings.Contains(err.Error(), "is damaged; move it away") {
			t.Errorf("a file damaged from byte %d: %v", intact, err)
		}
	}
}

// child is what the second process does.
func child(path, name string) error {
	s, err := store.Open(context.Background(), path)
	if err != nil {
		return err
	}
	for i := range 300 {
		if err := s.PutVerdict(context.Background(), fmt.Sprintf("%s-%d", name, i), []byte(name)); err != nil {
			return err
		}
		if i%30 == 0 {
			if err := s.PutRun(context.Background(), result.Run{ID: fmt.Sprintf("%s-%d", name, i)}, "/x"); err != nil {
				return err
			}
		}
	}
	return s.Close()
}

func TestManyProcessesOnANewFile(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "store.db")
	var wg sync.WaitGroup
	const processes = 6
	for i := range processes {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), self, fmt.Sprint("p", i))
			cmd.Env = append(os.Environ(), childEnv+"="+path)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", i, err, out)
			}
		})
	}
	wg.Wait()
	s := open(t, path)
	defer s.Close()
	if runs, err := s.Runs(t.Context(), 0); err != nil || len(runs) != processes*10 {
		t.Errorf("%d runs, %v; want %d", len(runs), err, processes*10)
	}
	for i := range processes * 300 {
		key := fmt.Sprintf("p%d-%d", i/300, i%300)
		if _, ok, err := s.Verdict(t.Context(), key); !ok || err != nil {
			t.Fatalf("verdict %s: %t, %v", key, ok, err)
		}
	}
}
