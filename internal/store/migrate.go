package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations
var migrations embed.FS

// schemaVersion is the number of the newest migration, which also writes it to user_version.
const schemaVersion = 7

// migrate brings the file to schemaVersion.
// A file that is there already costs one read: goose's own look is ten times as slow as opening the file.
func migrate(ctx context.Context, db *sql.DB, path string) error {
	const tries = 5
	for try := 1; ; try++ {
		version, err := userVersion(ctx, db)
		switch {
		case err != nil:
			return explain("open", path, err)
		case version == schemaVersion:
			return nil
		case version > schemaVersion:
			return &FileError{
				Op: "open", Path: path,
				Problem: fmt.Sprintf("it was written by a newer rehearse (schema %d, this program knows %d)", version, schemaVersion),
				Hint:    "use the newer program or name another store",
			}
		}
		// Another process may migrate the same new file at the same time; whoever loses looks again.
		if err := up(ctx, db); err != nil && try == tries {
			return explain("prepare", path, err)
		}
	}
}

func userVersion(ctx context.Context, db *sql.DB) (version int, err error) {
	err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	return version, err
}

func up(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}
