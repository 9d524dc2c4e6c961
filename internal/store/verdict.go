package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
)

// Verdict returns the verdict that was put under key, and whether there is one.
// It sees every PutVerdict of this Store at once, those of other processes once they are written.
// The caller owns the bytes.
func (s *Store) Verdict(ctx context.Context, key string) ([]byte, bool, error) {
	if v, ok := s.verdicts.get(key); ok {
		return bytes.Clone(v), true, nil
	}
	var verdict []byte
	err := s.db.QueryRowContext(ctx, `SELECT verdict FROM verdicts WHERE key = ?`, key).Scan(&verdict)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, explain("read a verdict from", s.path, err)
	}
	return verdict, true, nil
}

// PutVerdict keeps a verdict under key, in place of an earlier one.
// It returns before the verdict is on disk, which happens within a tenth of a second or by Close; the bytes are copied.
// When far more is put than the disk takes, it waits. An error says that earlier verdicts could not be written;
// they and this one are still seen by Verdict and tried again, up to a bound beyond which this one is let go.
func (s *Store) PutVerdict(ctx context.Context, key string, verdict []byte) error {
	// Not nil, which SQLite would take for NULL.
	return s.verdicts.put(ctx, key, append([]byte{}, verdict...))
}

// writeVerdicts writes a batch in one transaction.
func (s *Store) writeVerdicts(ctx context.Context, batch map[string][]byte) error {
	err := s.write(ctx, func(tx *sql.Tx) (err error) {
		// Replacing gives the row a new id: what is put again is young again.
		insert, err := tx.PrepareContext(ctx, `INSERT OR REPLACE INTO verdicts (key, verdict) VALUES (?, ?)`)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, insert.Close()) }()
		for key, verdict := range batch {
			if _, err := insert.ExecContext(ctx, key, verdict); err != nil {
				return err
			}
		}
		return nil
	})
	return explain("write verdicts to", s.path, err)
}

// prune deletes the oldest verdicts beyond s.keep.
func (s *Store) prune(ctx context.Context) error {
	var span int
	err := s.db.QueryRowContext(ctx, `SELECT coalesce(max(id) - min(id) + 1, 0) FROM verdicts`).Scan(&span)
	// The span of ids is never less than the number of rows and costs two look-ups, where counting reads the table.
	if err == nil && span > s.keep {
		err = s.write(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx,
				`DELETE FROM verdicts WHERE id <= (SELECT id FROM verdicts ORDER BY id DESC LIMIT 1 OFFSET ?)`, s.keep)
			return err
		})
	}
	return explain("drop old verdicts from", s.path, err)
}
