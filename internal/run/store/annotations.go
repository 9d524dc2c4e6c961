package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Annotations are what people said of runs. Nothing is ever changed or deleted. They are safe for concurrent use.
type Annotations struct{ table annotationTable }

// annotationTable is the part that differs between databases.
type annotationTable interface {
	place() string
	add(ctx context.Context, a annotationRow) error
	// list hands the records of a run, or of a kind over all runs, in the order in which they were added.
	list(ctx context.Context, run, kind string, take func(record string) error) error
}

type annotationRow struct{ run, kind, suite, test, record string }

// Add keeps an annotation, which names its run.
func (s *Annotations) Add(ctx context.Context, a annotation.Annotation) error {
	record, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write an annotation: %w", err)
	}
	return s.table.add(ctx, annotationRow{
		plainText(a.RunID), a.Kind, plainText(a.Suite), plainText(a.TestID), string(record),
	})
}

// Of returns the annotations of a run in the order in which they were made.
func (s *Annotations) Of(ctx context.Context, run string) ([]annotation.Annotation, error) {
	return s.read(ctx, plainText(run), "")
}

// Quarantines returns the terms that were set last for each test, by its suite and id; those that have run out, too.
func (s *Annotations) Quarantines(ctx context.Context) (map[result.Key]quarantine.Terms, error) {
	all, err := s.read(ctx, "", annotation.Quarantine)
	terms := make(map[result.Key]quarantine.Terms, len(all))
	for _, a := range all {
		terms[result.Key{Suite: a.Suite, TestID: a.TestID}] = a.Terms()
	}
	return terms, err
}

func (s *Annotations) read(ctx context.Context, run, kind string) (all []annotation.Annotation, err error) {
	err = s.table.list(ctx, run, kind, func(record string) error {
		var a annotation.Annotation
		if err := json.Unmarshal([]byte(record), &a); err != nil {
			return fmt.Errorf("read an annotation in %s: %w", s.table.place(), err)
		}
		all = append(all, a)
		return nil
	})
	return all, err
}

// Annotations returns the annotations that the store keeps. They end with the store.
func (s *Store) Annotations() *Annotations { return &Annotations{sqliteAnnotations{s}} }

type sqliteAnnotations struct{ store *Store }

func (t sqliteAnnotations) place() string { return fileName(t.store.path) }

func (t sqliteAnnotations) add(ctx context.Context, a annotationRow) error {
	err := t.store.exec(ctx, `INSERT INTO annotations (run_id, kind, suite, test_id, record) VALUES (?, ?, ?, ?, ?)`,
		a.run, a.kind, a.suite, a.test, a.record)
	return t.store.explain(ctx, "write an annotation to", err)
}

func (t sqliteAnnotations) list(ctx context.Context, run, kind string, take func(string) error) error {
	query, arg := `SELECT record FROM annotations WHERE run_id = ? ORDER BY position`, run
	if kind != "" {
		query, arg = `SELECT record FROM annotations WHERE kind = ? ORDER BY position`, kind
	}
	err := t.store.each(ctx, query, []any{arg}, func(rows *sql.Rows) error {
		var record string
		if err := rows.Scan(&record); err != nil {
			return err
		}
		return take(record)
	})
	return t.store.explain(ctx, "read annotations from", err)
}

// Annotations returns the annotations that the database keeps in the table exp.annotations. They end with p.
func (p *Postgres) Annotations() *Annotations { return &Annotations{postgresAnnotations{p}} }

type postgresAnnotations struct{ db *Postgres }

func (t postgresAnnotations) place() string { return t.db.server.String() }

func (t postgresAnnotations) add(ctx context.Context, a annotationRow) error {
	_, err := t.db.pool.Exec(ctx,
		`INSERT INTO exp.annotations (run_id, kind, suite, test_id, record) VALUES ($1, $2, $3, $4, $5)`, a.run, a.kind,
		a.suite, a.test, a.record)
	return t.db.explain(ctx, "write an annotation to", err)
}

func (t postgresAnnotations) list(ctx context.Context, run, kind string, take func(string) error) error {
	query, arg := `SELECT record FROM exp.annotations WHERE run_id = $1 ORDER BY position`, run
	if kind != "" {
		query, arg = `SELECT record FROM exp.annotations WHERE kind = $1 ORDER BY position`, kind
	}
	rows, err := t.db.pool.Query(ctx, query, arg)
	if err != nil {
		return t.db.explain(ctx, "read annotations from", err)
	}
	var record string
	_, err = pgx.ForEachRow(rows, []any{&record}, func() error { return take(record) })
	return t.db.explain(ctx, "read annotations from", err)
}
