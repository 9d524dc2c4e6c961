package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// Statement is a query that is prepared once for each connection, when it is first needed. It ends with the database.
// It is safe for concurrent use.
type Statement struct {
	db    *sql.DB
	query string

	mu       sync.Mutex
	prepared *sql.Stmt
}

// NewStatement returns the statement of a query.
func NewStatement(db *sql.DB, query string) *Statement { return &Statement{db: db, query: query} }

// rows reads, outside of transactions.
func (s *Statement) rows(ctx context.Context, args ...any) (*sql.Rows, error) {
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	return s.prepared.QueryContext(ctx, args...)
}

// One reads one row, outside of transactions.
func (s *Statement) One(ctx context.Context, args []any, dest ...any) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	return s.prepared.QueryRowContext(ctx, args...).Scan(dest...)
}

// row reads one row within a transaction.
func (s *Statement) row(ctx context.Context, tx *sql.Tx, args []any, dest ...any) (err error) {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	here := tx.StmtContext(ctx, s.prepared)
	defer func() { err = errors.Join(err, here.Close()) }()
	return here.QueryRowContext(ctx, args...).Scan(dest...)
}

// Exec writes within a transaction.
func (s *Statement) Exec(ctx context.Context, tx *sql.Tx, args ...any) (done sql.Result, err error) {
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	here := tx.StmtContext(ctx, s.prepared)
	defer func() { err = errors.Join(err, here.Close()) }()
	return here.ExecContext(ctx, args...)
}

// prepare prepares the statement at the first call.
func (s *Statement) prepare(ctx context.Context) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prepared == nil {
		s.prepared, err = s.db.PrepareContext(ctx, s.query)
	}
	return err
}
