// Package checkout gives the benchmark programs the source of another commit.
package checkout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// At checks out a commit in a temporary worktree of the Git repository that has the folder repo. It returns the folder
// of the worktree and the full hash of the commit. The function remove deletes the worktree, also after ctx has ended.
func At(ctx context.Context, repo, commit string) (dir, hash string, remove func() error, err error) {
	hash, err = git(ctx, repo, "rev-parse", "--verify", "--end-of-options", commit+"^{commit}")
	if err != nil {
		return "", "", nil, fmt.Errorf("no commit %q: %w", commit, err)
	}
	parent, err := os.MkdirTemp("", "rehearse-base-")
	if err != nil {
		return "", "", nil, err
	}
	dir = filepath.Join(parent, "tree")
	remove = func() error {
		// Git locks a worktree while it adds it, so an interrupted one is removed with a second --force.
		_, err := git(context.WithoutCancel(ctx), repo, "worktree", "remove", "--force", "--force", dir)
		return errors.Join(err, os.RemoveAll(parent))
	}
	_, err = git(ctx, repo, "-c", "core.hooksPath="+os.DevNull, "worktree", "add", "--detach", "--quiet", dir, hash)
	if err != nil {
		_ = remove() // fails where Git has not registered the worktree yet
		return "", "", nil, err
	}
	return dir, hash, remove, nil
}

// Describe returns the commit of a work tree, abbreviated, and whether the tree differs from it.
func Describe(ctx context.Context, repo string) (string, error) {
	head, err := git(ctx, repo, "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "", err
	}
	changes, err := git(ctx, repo, "status", "--porcelain")
	if err == nil && changes != "" {
		head += " with uncommitted changes"
	}
	return head, err
}

func git(ctx context.Context, repo string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", repo}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.Join(strings.Fields(string(out)), " "))
	}
	return strings.TrimSpace(string(out)), nil
}
