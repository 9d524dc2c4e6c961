package knowledge

import (
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"modernc.org/sqlite"
)

//go:embed passages.sql
var passagesSchema string

//go:embed vectors.sql
var vectorsSchema string

// CreatePassages makes the tables of bases, files and passages, and their index. Tables that exist stay as they are.
func CreatePassages(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, passagesSchema)
	return err
}

// CreateVectors makes the tables of vectors, which refer to those of CreatePassages. Tables that exist stay as they
// are.
func CreateVectors(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, vectorsSchema)
	return err
}

// memory is a database in memory, which is filled from a folder.
type memory struct {
	db *sql.DB
	// dir is the name of the database in errors.
	dir string
	// pinned keeps the database alive: it would end with its last connection.
	pinned *sql.Conn
	// writing spares the process SQLite's polling for the one write lock.
	writing sync.Mutex
}

// openMemory returns a database without knowledge bases.
func openMemory(ctx context.Context, dir string) (*memory, error) {
	// A name of its own lets several connections, and so several searches at once, share one database.
	connector, err := sqlite.NewConnector("file:/" + rand.Text() + "?" + url.Values{
		"vfs": {"memdb"}, "_pragma": {"busy_timeout(10000)"}, "_txlock": {"immediate"}, "_error_rc": {"true"},
	}.Encode())
	if err != nil {
		return nil, fmt.Errorf("open a database for %s: %w", dir, err)
	}
	m := &memory{db: sql.OpenDB(connector), dir: dir}
	m.db.SetMaxOpenConns(maxConnections)
	m.db.SetMaxIdleConns(maxConnections)
	if m.pinned, err = m.db.Conn(ctx); err == nil {
		err = m.Write(ctx, func(tx *sql.Tx) error {
			return errors.Join(CreatePassages(ctx, tx), CreateVectors(ctx, tx))
		})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a database for %s: %w", dir, err), m.Close())
	}
	return m, nil
}

// maxConnections bounds the connections of a database: one is pinned, the others search.
const maxConnections = 4

// Read returns the database.
func (m *memory) Read() *sql.DB { return m.db }

// Write runs f in a transaction.
func (m *memory) Write(ctx context.Context, f func(*sql.Tx) error) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	tx, err := m.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Explain names the folder.
func (m *memory) Explain(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", op, m.dir, err)
}

// Close lets go of the database. Calls after the first do nothing.
func (m *memory) Close() error {
	var err error
	if m.pinned != nil {
		if err = m.pinned.Close(); errors.Is(err, sql.ErrConnDone) { // closed before
			err = nil
		}
	}
	return errors.Join(err, m.db.Close())
}
