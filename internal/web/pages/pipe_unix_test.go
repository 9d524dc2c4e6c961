//go:build unix

package pages_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages"
)

// A pipe in place of a log is no log: nobody waits for it, and other runs are searched.
func TestPipeForALog(t *testing.T) {
	s := newSiteOf(t, func(c *pages.Config) { c.Patience = time.Minute })
	s.put(result.Run{ID: "good", Targets: []string{"t"}}, rated("a", "t", result.Pass, 1, 10))
	s.put(result.Run{ID: "pipe", Targets: []string{"t"}}, rated("a", "t", result.Pass, 1, 10))
	log := filepath.Join(s.root, "pipe", runlog.LogFile)
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(log, 0o644); err != nil {
		t.Fatal(err)
	}
	s.get(503, "/runs/pipe")
	page := s.get(200, "/search?q=help")
	if !warned(page, "Run pipe cannot be read") || len(page.All("data-row=hit", "data-run=good")) != 1 {
		t.Errorf("%s", page.Words())
	}
	for _, ticked := range []string{"/compare?a=pipe&b=good", "/judge?run=pipe"} {
		s.get(503, ticked)
	}
}

// Neither does anybody wait for a pipe in place of what people said of a run.
func TestPipeForAnnotations(t *testing.T) {
	s := newSite(t)
	s.put(result.Run{ID: "one", Targets: []string{"t"}}, rated("a", "t", result.Pass, 1, 10))
	if err := syscall.Mkfifo(filepath.Join(s.root, "one", annotation.File), 0o644); err != nil {
		t.Fatal(err)
	}
	if page := s.get(200, "/runs/one"); !warned(page, "What people said of this run cannot be read in its folder") {
		t.Errorf("%s", page.Words())
	}
}
