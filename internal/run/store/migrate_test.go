package store

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMigrationsAreNumberedFromOne(t *testing.T) {
	db, err := connect(filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	sqlite, err := sqliteMigrations(db)
	if err != nil {
		t.Fatal(err)
	}
	// The newest is one of the folder, which is where newest looks.
	for i, source := range sqlite.ListSources() {
		if int(source.Version) != i+1 {
			t.Errorf("migration %d has the number %d", i+1, source.Version)
		}
	}
	if n := len(sqlite.ListSources()); n != newest("sqlite") {
		t.Errorf("%d migrations, of which the newest is %d", n, newest("sqlite"))
	}
}

// TestOldFilesGetKnowledge opens a file that an earlier program wrote.
func TestOldFilesGetKnowledge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := connect(path)
	if err != nil {
		t.Fatal(err)
	}
	migrations, err := sqliteMigrations(db)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrations.UpTo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `INSERT INTO verdicts (key, verdict) VALUES ('k', 'v')`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if v, ok, err := s.Verdict(t.Context(), "k"); string(v) != "v" || !ok || err != nil {
		t.Errorf("Verdict = %q, %t, %v", v, ok, err)
	}
	if bases, err := s.Knowledge().Bases(t.Context()); len(bases) != 0 || err != nil {
		t.Errorf("Bases = %v, %v", bases, err)
	}
}

// A new file is the one that the migrations make one after the other.
func TestNewFilesAreWhatMigrationsMake(t *testing.T) {
	var made [2]string
	for i := range made {
		db, err := connect(filepath.Join(t.TempDir(), "store.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if i == 0 { // a table of nobody, so that the file is not new
			_, err = db.ExecContext(t.Context(), "CREATE TABLE other (id)")
		}
		if err == nil {
			err = up(t.Context(), db, newest("sqlite"))
		}
		if err == nil {
			err = db.QueryRowContext(t.Context(), `SELECT (SELECT group_concat(line, char(10)) FROM (
				SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') AS line
				FROM sqlite_schema WHERE name <> 'other' ORDER BY type, name)) || (SELECT
				group_concat(id || ' ' || version_id || ' ' || is_applied) FROM goose_db_version) ||
				(SELECT user_version FROM pragma_user_version)`).Scan(&made[i])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(made[0], made[1]); diff != "" || len(made[0]) < 10_000 {
		t.Errorf("a new file (+) is not what migrations make (-), %d bytes: %s", len(made[0]), diff)
	}
}
