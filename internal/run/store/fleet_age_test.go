package store_test

import (
	"database/sql"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// A key of a submission counts for 24 hours, and a file that nobody needs is kept as long.
func TestFleetForgets(t *testing.T) {
	path := newFile(t)
	s := open(t, path)
	defer s.Close()
	f := s.Fleet()
	older := func(hours string) {
		t.Helper()
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(`UPDATE fleet_runs SET created_at = created_at - ` + hours + ` * 3600000000;
			UPDATE fleet_blobs SET put_at = put_at - ` + hours + ` * 3600000000`); err != nil {
			t.Fatal(err)
		}
	}
	submit := func(id, want string) {
		t.Helper()
		run, created, err := f.CreateRun(t.Context(), store.NewRun{Run: store.Run{ID: id}, Key: "k"})
		if err != nil || run.ID != want || created != (id == want) {
			t.Errorf("CreateRun(%s): %s, %t, %v; want %s", id, run.ID, created, err, want)
		}
	}
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	put := func(want bool) {
		t.Helper()
		if _, err := f.Prune(t.Context(), store.Pruning{Newest: 1}); err != nil {
			t.Fatal(err)
		}
		created, err := f.PutBlob(t.Context(), empty, nil)
		if err != nil || created != want {
			t.Errorf("PutBlob: %t, %v; want %t", created, err, want)
		}
	}
	submit("a", "a")
	put(true)
	older("23")
	submit("b", "a")
	put(false) // and it waits anew
	older("2")
	submit("c", "c")
	submit("d", "c")
	put(false)
	older("25")
	put(true)
}

// TestOldSubmissions checks that a key which an earlier version stored, without caller and hash, still finds its run.
func TestOldSubmissions(t *testing.T) {
	path := newFile(t)
	s, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	submit := func(id, by, want string) {
		t.Helper()
		n := store.NewRun{Run: store.Run{ID: id}, Spec: []byte("{}"), Key: "k", By: by, Hash: "hash of " + id}
		if run, _, err := s.Fleet().CreateRun(t.Context(), n); err != nil || run.ID != want {
			t.Errorf("CreateRun(%s): %s, %v; want %s", id, run.ID, err, want)
		}
	}
	submit("a", "web", "a")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE fleet_runs SET submitted_by = NULL, submitted_hash = NULL"); err != nil {
		t.Fatal(err)
	}
	submit("b", "web", "a")
	submit("c", "api", "a")
}

// Events that are written while others are read are left to the next call rather than told without those before them.
func TestFleetEventsBetweenQueries(t *testing.T) {
	s := open(t, newFile(t))
	defer s.Close()
	f, reads := s.Fleet(), 0
	if _, _, err := f.CreateRun(t.Context(), store.NewRun{Run: store.Run{ID: "r"}}); err != nil {
		t.Fatal(err)
	}
	between := f.AfterReading(func() {
		if reads++; reads != 2 { // the run is read, then the events of its status
			return
		}
		_, err := f.UpdateRun(t.Context(), "r", store.Fence{}, func(r *store.Run) error {
			r.Status = store.RunRunning
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if _, err := f.PutResults(t.Context(), "r", store.Fence{}, sizedResults(0, 3)); err != nil {
			t.Error(err)
		}
	})
	for _, want := range []int{1, 5} {
		events, err := between.RunEvents(t.Context(), "r", 0, 0)
		if err != nil || len(events) != want {
			t.Errorf("%d events, %v; want %d", len(events), err, want)
		}
	}
	for after := range int64(5) {
		if events, err := f.RunEvents(t.Context(), "r", after, 1); err != nil || len(events) != 1 ||
			events[0].ID != after+1 {
			t.Errorf("after %d: %+v, %v", after, events, err)
		}
	}
}
