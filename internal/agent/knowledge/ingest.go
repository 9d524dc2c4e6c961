package knowledge

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// taking is one transaction that takes files in.
type taking struct {
	tx       *sql.Tx
	limits   limits
	problems source.Problems
	done     Added
	text     int64 // bytes so far

	passage, index *sql.Stmt
}

func (t *taking) prepare(ctx context.Context) (err error) {
	if t.passage, err = t.tx.PrepareContext(ctx, `
		INSERT INTO knowledge_passages (id, base, file, name, text) VALUES (?, ?, ?, ?, ?) ON CONFLICT (base, name) DO NOTHING`); err != nil {
		return err
	}
	t.index, err = t.tx.PrepareContext(ctx, `INSERT INTO knowledge_index (rowid, text) VALUES (?, ?)`)
	return err
}

func (t *taking) close() error {
	var errs []error
	for _, statement := range []*sql.Stmt{t.passage, t.index} {
		if statement != nil {
			errs = append(errs, statement.Close())
		}
	}
	return errors.Join(errs...)
}

func (t *taking) takeBase(ctx context.Context, base baseFiles) error {
	if wrong := wrongName(base.name); wrong != "" {
		t.problems = append(t.problems, source.Problem{
			File: base.name, Message: wrong, Hint: "name it with letters, digits and hyphens",
		})
		return nil
	}
	var id int64
	if err := t.tx.QueryRowContext(ctx, `
		INSERT INTO knowledge_bases (name) VALUES (?) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id`,
		base.name).Scan(&id); err != nil {
		return err
	}
	for _, file := range base.files {
		found, err := file.passages(t.limits.file)
		if problems, ok := errors.AsType[source.Problems](err); ok {
			t.problems = append(t.problems, problems...)
			continue
		}
		if err != nil {
			return err
		}
		if len(t.problems) > 0 { // nothing will be kept, so only look for more faults
			continue
		}
		if err := t.takeFile(ctx, id, file, found); err != nil {
			return err
		}
	}
	return nil
}

// takeFile puts a file's passages in place of those that it had.
func (t *taking) takeFile(ctx context.Context, base int64, file textFile, passages []passage) error {
	parked, err := parkVectors(ctx, t.tx, base, file.name)
	if err != nil {
		return err
	}
	gone, err := dropFiles(ctx, t.tx, `base = ? AND name = ?`, base, file.name)
	if err != nil {
		return err
	}
	var there int
	err = t.tx.QueryRowContext(ctx, `SELECT coalesce(sum(passages), 0) FROM knowledge_files WHERE base = ?`, base).
		Scan(&there)
	if err != nil {
		return err
	}
	if there+len(passages) > t.limits.passages {
		t.report(file, 0, "split it into several bases", "the knowledge base would have more than %d passages",
			t.limits.passages)
		return nil
	}
	result, err := t.tx.ExecContext(ctx, `INSERT INTO knowledge_files (base, name, passages) VALUES (?, ?, ?)`, base,
		file.name, len(passages))
	if err != nil {
		return err
	}
	id, err := result.LastInsertId()
	if err != nil {
		return err
	}
	t.done.Files++
	t.done.Passages += len(passages)
	t.done.Replaced += gone
	if err := t.fill(ctx, base, id, file, passages); err != nil || !parked {
		return err
	}
	return unparkVectors(ctx, t.tx, id)
}

func (t *taking) fill(ctx context.Context, base, fileID int64, file textFile, passages []passage) error {
	first := base << baseShift
	var next int64
	err := t.tx.QueryRowContext(ctx,
		`SELECT coalesce(max(id) + 1, ?1) FROM knowledge_passages WHERE id BETWEEN ?1 AND ?2`,
		first, first|(1<<baseShift-1)).Scan(&next)
	if err != nil {
		return err
	}
	for _, p := range passages {
		t.text += int64(len(p.text))
		if t.limits.text > 0 && t.text > t.limits.text {
			t.report(file, 0, "put them into a store with `rehearse kb add`",
				"the files have more than %d MB of text, too much to hold in memory", t.limits.text>>20)
			return t.problems
		}
		result, err := t.passage.ExecContext(ctx, next, base, fileID, p.id, p.text)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil {
			return err
		} else if n == 0 {
			return t.reportTaken(ctx, base, file, p)
		}
		if _, err := t.index.ExecContext(ctx, next, spread(p.text)); err != nil {
			return err
		}
		next++
	}
	return nil
}

// reportTaken says which file has the id of a passage already.
func (t *taking) reportTaken(ctx context.Context, base int64, file textFile, p passage) error {
	var other string
	err := t.tx.QueryRowContext(ctx, `
		SELECT f.name FROM knowledge_files f JOIN knowledge_passages p ON p.file = f.id WHERE p.base = ? AND p.name = ?`,
		base, p.id).Scan(&other)
	if err == nil {
		t.report(file, p.line, "give it another id, or remove the other file from the base",
			"the id %q is in %s already", p.id, other)
	}
	return err
}

func (t *taking) report(file textFile, line int, hint, format string, args ...any) {
	p := source.Problem{File: file.name, Line: line, Message: fmt.Sprintf(format, args...), Hint: hint}
	if line > 0 {
		p.Column = 1
	}
	t.problems = append(t.problems, p)
}
