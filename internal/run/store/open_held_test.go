package store_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// TestOpenWaitsForWhoMakesTheFile: SQLite refuses at once to give a file its log while another process writes into it.
// A new file is waited for all the same.
func TestOpenWaitsForWhoMakesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, query := range []string{"CREATE TABLE other (x)", "BEGIN IMMEDIATE"} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	freed := time.AfterFunc(300*time.Millisecond, func() { _ = db.Close() })
	defer freed.Stop()
	s, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
