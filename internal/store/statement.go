package store

import (
	"context"
	"database/sql"
	"sync"
)

// statement is a query that is prepared once for each connection, when it is first needed. It ends with the database.
type statement struct {
	db    *sql.DB
	query string

	mu       sync.Mutex
	prepared *sql.Stmt
}

// on returns the statement, prepared.
func (s *statement) on(ctx context.Context) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prepared == nil {
		prepared, err := s.db.PrepareContext(ctx, s.query)
		if err != nil {
			return nil, err
		}
		s.prepared = prepared
	}
	return s.prepared, nil
}

// in returns the statement for use in a transaction.
func (s *statement) in(ctx context.Context, tx *sql.Tx) (*sql.Stmt, error) {
	prepared, err := s.on(ctx)
	if err != nil {
		return nil, err
	}
	return tx.StmtContext(ctx, prepared), nil
}
