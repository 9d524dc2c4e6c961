package store

import (
	"context"
	"database/sql"
)

// parkVectors puts the vectors of a file's passages aside, by their texts, before the file is replaced: vectors cost time and money,
// and most of a file that is added again is as it was. It reports whether there are any.
func parkVectors(ctx context.Context, tx *sql.Tx, base int64, file string) (parked bool, err error) {
	err = tx.QueryRowContext(ctx, `SELECT EXISTS (
		SELECT 1 FROM knowledge_files f JOIN knowledge_passages p ON p.file = f.id JOIN knowledge_vectors v ON v.passage = p.id
		WHERE f.base = ? AND f.name = ?)`, base, file).Scan(&parked)
	if err != nil || !parked {
		return false, err
	}
	// Its own for each connection, and gone with it; a transaction that is undone leaves none.
	_, err = tx.ExecContext(ctx, `CREATE TEMP TABLE knowledge_parked (text TEXT, model INTEGER, vector BLOB)`)
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO knowledge_parked SELECT p.text, v.model, v.vector
			FROM knowledge_files f JOIN knowledge_passages p ON p.file = f.id JOIN knowledge_vectors v ON v.passage = p.id
			WHERE f.base = ? AND f.name = ?`, base, file)
	}
	return true, err
}

// unparkVectors gives the vectors to those passages of the new file that have the same texts, and lets go of the others.
func unparkVectors(ctx context.Context, tx *sql.Tx, file int64) error {
	_, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO knowledge_vectors (model, passage, vector)
		SELECT o.model, p.id, o.vector FROM knowledge_passages p JOIN knowledge_parked o ON o.text = p.text WHERE p.file = ?`, file)
	if err == nil {
		_, err = tx.ExecContext(ctx, `DROP TABLE knowledge_parked`)
	}
	return err
}
