package coordinator_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// Pruning takes no run that goes on, and takes it with its files once it has ended.
func TestPruneBesideARun(t *testing.T) {
	h := newHouse(t)
	address, asked := agent(t, 20*time.Millisecond)
	s, _ := h.lead("one")
	h.work("w1", 4)
	run, _, err := s.Submit(t.Context(), shop(30, address), "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for pruned := 0; pruned == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the run is not pruned")
		}
		before, err := h.store.Run(t.Context(), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		if pruned, err = s.Prune(t.Context(), store.Pruning{}); err != nil {
			t.Fatal(err)
		}
		if pruned == 0 && before.Status.Ended() {
			t.Fatal("a run that has ended stays")
		}
	}
	if asked.Load() != 30 {
		t.Errorf("it was pruned after %d of 30 conversations", asked.Load())
	}
	if _, err := h.store.Run(t.Context(), run.ID); !errors.Is(err, store.ErrUnknown) {
		t.Error(err)
	}
	for _, of := range []string{"runs", "ended"} {
		if _, err := os.Stat(filepath.Join(h.dir, "one", of, run.ID)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s/%s stays: %v", of, run.ID, err)
		}
	}
}

// What a server has of runs that another one has deleted goes, and what it has of others stays.
func TestFilesOfDeletedRuns(t *testing.T) {
	h := newHouse(t)
	run, _, err := h.store.CreateRun(t.Context(), store.NewRun{Run: store.Run{ID: "there"}, Failed: "it never began"})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(h.dir, "one", "ended")
	for _, name := range []string{"deleted", run.ID, "making-1"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.lead("one")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		left, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 2 && left[0].Name() == "making-1" && left[1].Name() == run.ID {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v is left", left)
		}
	}
}

// A run whose end is asked for in the store ends.
func TestCancelInTheStore(t *testing.T) {
	h := newHouse(t)
	address, _ := agent(t, time.Hour)
	s, _ := h.lead("one")
	h.work("w1", 4)
	run, _, err := s.Submit(t.Context(), shop(5, address), "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); run.Status == store.RunQueued &&
		time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if run, err = h.store.Run(t.Context(), run.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.store.CancelRun(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	if run = h.ended(run.ID); run.Status != store.RunCancelled || *run.ExitCode != 130 {
		t.Errorf("%+v", run)
	}
}
