package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Annotations are the annotations of runs, in a store's file or in a PostgreSQL database. Nothing is ever changed or
// deleted. They are safe for concurrent use.
type Annotations struct{ db database }

// Annotations returns the annotations that the store has. They end with the store.
func (s *Store) Annotations() *Annotations { return &Annotations{sqliteDatabase{store: s}} }

// Annotations returns the annotations that the database stores in the table exp.annotations. They end with p.
func (p *Postgres) Annotations() *Annotations { return &Annotations{postgresDatabase{db: p}} }

// Add stores an annotation, which names its run.
func (s *Annotations) Add(ctx context.Context, a annotation.Annotation) error {
	record, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write an annotation: %w", err)
	}
	_, err = s.db.exec(ctx,
		`INSERT INTO exp.annotations (run_id, kind, suite, test_id, record) VALUES ($1, $2, $3, $4, $5)`,
		plainText(a.RunID), a.Kind, plainText(a.Suite), plainText(a.TestID), string(record))
	return s.db.explain(ctx, "write an annotation to", err)
}

// Of returns the annotations of a run in the order in which they were added.
func (s *Annotations) Of(ctx context.Context, run string) ([]annotation.Annotation, error) {
	return s.read(ctx, `SELECT record FROM exp.annotations WHERE run_id = $1 ORDER BY position`, plainText(run))
}

// Quarantines returns the terms that were set last for each test, by its suite and id, including those that have run
// out.
func (s *Annotations) Quarantines(ctx context.Context) (map[result.Key]quarantine.Terms, error) {
	all, err := s.read(ctx, `SELECT record FROM exp.annotations WHERE kind = $1 ORDER BY position`,
		annotation.Quarantine)
	terms := make(map[result.Key]quarantine.Terms, len(all))
	for _, a := range all {
		terms[result.Key{Suite: a.Suite, TestID: a.TestID}] = a.Terms()
	}
	return terms, err
}

func (s *Annotations) read(ctx context.Context, query, arg string) (all []annotation.Annotation, err error) {
	err = s.db.read(ctx, query, []any{arg}, func(row scanner) error {
		var record string
		if err := row.Scan(&record); err != nil {
			return err
		}
		var a annotation.Annotation
		if err := json.Unmarshal([]byte(record), &a); err != nil {
			return fmt.Errorf("read an annotation in %s: %w", s.db.name(), err)
		}
		all = append(all, a)
		return nil
	})
	return all, s.db.explain(ctx, "read annotations from", err)
}
