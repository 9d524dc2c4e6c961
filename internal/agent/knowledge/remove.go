package knowledge

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Remove removes files from a base, or the whole base when no file is named. It returns the number of removed passages.
// If the base or one of the files does not exist, it removes nothing.
func (k *Library) Remove(ctx context.Context, base string, files ...string) (gone int, err error) {
	ids, err := k.baseIDs(ctx, []string{base})
	if err != nil {
		return 0, err
	}
	err = k.db.Write(ctx, func(tx *sql.Tx) (err error) {
		if len(files) == 0 {
			gone, err = dropBase(ctx, tx, ids[0])
		}
		for _, file := range files {
			n := 0
			if err == nil {
				n, err = dropFile(ctx, tx, base, ids[0], fileName(file))
			}
			gone += n
		}
		if err != nil {
			return err
		}
		return countWords(ctx, tx)
	})
	if _, ok := errors.AsType[source.Problems](err); ok {
		return 0, err
	}
	if err != nil {
		return 0, k.db.Explain("remove knowledge from", err)
	}
	return gone, nil
}

func dropBase(ctx context.Context, tx *sql.Tx, id int64) (gone int, err error) {
	if gone, err = dropFiles(ctx, tx, `base = ?`, id); err == nil {
		_, err = tx.ExecContext(ctx, `DELETE FROM knowledge_bases WHERE id = ?`, id)
	}
	return gone, err
}

func dropFile(ctx context.Context, tx *sql.Tx, base string, id int64, file string) (gone int, err error) {
	var names []string
	err = tx.QueryRowContext(ctx, `SELECT name FROM knowledge_files WHERE base = ? AND name = ?`, id, file).Scan(&file)
	if err == nil {
		return dropFiles(ctx, tx, `base = ? AND name = ?`, id, file)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	err = eachRow(ctx, tx, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		names = append(names, name)
		return err
	}, `SELECT name FROM knowledge_files WHERE base = ? ORDER BY name LIMIT 20`, id)
	if err != nil {
		return 0, err
	}
	return 0, source.Problems{{
		File: file, Message: fmt.Sprintf("the knowledge base %s has no such file", base),
		Hint: source.Suggest(file, names),
	}}
}

// dropFiles removes the files that a condition chooses, with their passages. It returns the number of removed passages.
func dropFiles(ctx context.Context, tx *sql.Tx, where string, args ...any) (gone int, err error) {
	chosen := `(SELECT id FROM knowledge_files WHERE ` + where + `)`
	passages := `(SELECT id FROM knowledge_passages WHERE file IN ` + chosen + `)`
	err = tx.QueryRowContext(ctx, `SELECT coalesce(sum(passages), 0) FROM knowledge_files WHERE `+where, args...).
		Scan(&gone)
	for _, statement := range []string{
		`UPDATE knowledge_models SET drops = drops + 1 WHERE id IN (SELECT model FROM knowledge_vectors WHERE passage IN ` + passages + `)`,
		`DELETE FROM knowledge_vectors WHERE passage IN ` + passages,
		`DELETE FROM knowledge_index WHERE rowid IN ` + passages,
		`DELETE FROM knowledge_passages WHERE file IN ` + chosen,
		`DELETE FROM knowledge_files WHERE ` + where,
	} {
		if err == nil {
			_, err = tx.ExecContext(ctx, statement, args...)
		}
	}
	return gone, err
}

// countWords finds the words that are in more than a tenth of all passages. A search leaves them out as long as it can.
func countWords(ctx context.Context, tx *sql.Tx) error {
	// With fewer passages, reading all of them costs nothing.
	const fewest = 1_000
	if _, err := tx.ExecContext(ctx, `DELETE FROM knowledge_common`); err != nil {
		return err
	}
	var passages int
	err := tx.QueryRowContext(ctx, `SELECT coalesce(sum(passages), 0) FROM knowledge_files`).Scan(&passages)
	if err != nil || passages <= fewest {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO knowledge_common SELECT term FROM knowledge_words WHERE doc > ?`,
		max(fewest, passages/10))
	return err
}

// parkVectors puts the vectors of a file's passages aside, by their texts, before the file is replaced. Vectors cost
// time and money, and most passages of a file that is added again are unchanged. It reports whether there are any.
func parkVectors(ctx context.Context, tx *sql.Tx, base int64, file string) (parked bool, err error) {
	err = tx.QueryRowContext(ctx, `SELECT EXISTS (
		SELECT 1 FROM knowledge_files f JOIN knowledge_passages p ON p.file = f.id JOIN knowledge_vectors v ON v.passage = p.id
		WHERE f.base = ? AND f.name = ?)`, base, file).Scan(&parked)
	if err != nil || !parked {
		return false, err
	}
	// The table belongs to the connection and ends with it. A transaction that is undone leaves none.
	_, err = tx.ExecContext(ctx, `CREATE TEMP TABLE knowledge_parked (text TEXT, model INTEGER, vector BLOB)`)
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO knowledge_parked SELECT p.text, v.model, v.vector
			FROM knowledge_files f JOIN knowledge_passages p ON p.file = f.id JOIN knowledge_vectors v ON v.passage = p.id
			WHERE f.base = ? AND f.name = ?`, base, file)
	}
	return true, err
}

// unparkVectors gives the vectors to the passages of the new file that have the same texts, and drops the others.
func unparkVectors(ctx context.Context, tx *sql.Tx, file int64) error {
	_, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO knowledge_vectors (model, passage, vector)
		SELECT o.model, p.id, o.vector FROM knowledge_passages p JOIN knowledge_parked o ON o.text = p.text WHERE p.file = ?`, file)
	if err == nil {
		_, err = tx.ExecContext(ctx, `DROP TABLE knowledge_parked`)
	}
	return err
}
