package store_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"rehearse/internal/store"
)

// A key of a submission counts for 24 hours, and a file that nobody needs is kept as long.
func TestFleetForgets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rehearse.db")
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
