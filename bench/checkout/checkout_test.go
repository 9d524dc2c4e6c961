package checkout

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAt checks that a commit's files are there, that the work tree stays as it is, and that nothing is left behind.
func TestAt(t *testing.T) {
	repo, temporary := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	run := func(args ...string) string {
		t.Helper()
		args = append([]string{"-C", repo, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)
		out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	file := filepath.Join(repo, "a.txt")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "--quiet")
	write("old")
	run("add", ".")
	run("commit", "--quiet", "-m", "x")
	first := run("rev-parse", "HEAD")
	write("new")
	if got, err := Describe(t.Context(), repo); err != nil || got != first[:12]+" with uncommitted changes" {
		t.Errorf("the work tree is %q: %v", got, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	dir, hash, remove, err := At(ctx, repo, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "a.txt")); string(data) != "old" || hash != first {
		t.Errorf("commit %s has %q: %v", hash, data, err)
	}
	if data, _ := os.ReadFile(file); string(data) != "new" {
		t.Errorf("the work tree has %q", data)
	}
	cancel() // as after an interrupt
	if err := remove(); err != nil {
		t.Error(err)
	}
	if _, _, _, err := At(ctx, repo, first); err == nil {
		t.Error("a checkout after an interrupt succeeds")
	}
	for _, commit := range []string{"nowhere", "", "--all"} {
		if _, _, _, err := At(t.Context(), repo, commit); err == nil {
			t.Errorf("%q is a commit", commit)
		}
	}
	// A worktree that cannot be added: its hash is known but its objects are gone.
	broken := strings.TrimSpace(run("rev-parse", "HEAD:a.txt"))
	if err := os.Remove(filepath.Join(repo, ".git", "objects", broken[:2], broken[2:])); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := At(t.Context(), repo, first); err == nil {
		t.Error("a commit without its files can be checked out")
	}
	if list := run("worktree", "list"); strings.Contains(list, "\n") {
		t.Errorf("worktrees are left:\n%s", list)
	}
	if left, _ := os.ReadDir(temporary); len(left) > 0 {
		t.Errorf("folders are left: %v", left)
	}
}
