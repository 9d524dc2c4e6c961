package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

const (
	embedBatch  = 64
	embedAtOnce = 4
)

// embed gives vectors to the passages of a base that have none, or of all bases without a name. It returns how many got one and
// how many still have none. What has a vector keeps it, so that a failed attempt goes on where it ended.
func (k *Knowledge) embed(ctx context.Context, base string) (done, left int, err error) {
	if k.vectors == nil {
		return 0, 0, nil
	}
	missing, err := k.withoutVector(ctx, base)
	if err != nil {
		return 0, 0, explain("read knowledge from", k.store.path, err)
	}
	var group errgroup.Group
	group.SetLimit(embedAtOnce)
	var embedded atomic.Int64
	var stop atomic.Bool // not by cancelling: requests under way are paid for
	for batch := range slices.Chunk(missing, embedBatch) {
		if stop.Load() || ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			n, err := k.embedBatch(ctx, batch)
			embedded.Add(int64(n))
			stop.CompareAndSwap(false, err != nil)
			return err
		})
	}
	if err = group.Wait(); err == nil {
		err = ctx.Err()
	}
	done = int(embedded.Load())
	left = len(missing) - done
	if err != nil {
		err = fmt.Errorf("%d of %d passages got no vector from %s and are found by their words only: %w", left, len(missing), k.vectors.Model, err)
	}
	return done, left, err
}

func (k *Knowledge) withoutVector(ctx context.Context, base string) (ids []int64, err error) {
	err = k.each(ctx, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		ids = append(ids, id)
		return err
	}, `SELECT p.id FROM knowledge_passages p JOIN knowledge_bases b ON b.id = p.base
		WHERE (?1 = '' OR b.name = ?1) AND NOT EXISTS (
			SELECT 1 FROM knowledge_vectors v JOIN knowledge_models m ON m.id = v.model WHERE v.passage = p.id AND m.name = ?2)
		ORDER BY p.id`, base, k.vectors.Model)
	return ids, err
}

// embedBatch returns how many of the passages have a vector now.
func (k *Knowledge) embedBatch(ctx context.Context, ids []int64) (int, error) {
	var found []int64
	var texts []string
	err := k.each(ctx, func(scan func(...any) error) error {
		var id int64
		var text string
		err := scan(&id, &text)
		found, texts = append(found, id), append(texts, text)
		return err
	}, `SELECT id, text FROM knowledge_passages WHERE id IN (SELECT value FROM json_each(?))`, jsonArray(ids))
	if err != nil {
		return 0, explain("read knowledge from", k.store.path, err)
	}
	if len(found) == 0 { // another process removed them
		return len(ids), nil
	}
	vectors, err := k.vectors.embed(ctx, texts)
	if err != nil {
		return 0, err
	}
	err = k.store.write(ctx, func(tx *sql.Tx) error {
		model, err := k.modelIn(ctx, tx, len(vectors[0]))
		for i := 0; i < len(found) && err == nil; i++ {
			// Meanwhile another process may have replaced the passage, and another text may have its number.
			_, err = tx.ExecContext(ctx, `INSERT OR IGNORE INTO knowledge_vectors (model, passage, vector)
				SELECT ?, id, ? FROM knowledge_passages WHERE id = ? AND text = ?`, model, pack(vectors[i]), found[i], texts[i])
		}
		return err
	})
	if _, other := errors.AsType[*vectorSizeError](err); other {
		return 0, err
	}
	if err != nil {
		return 0, explain("write vectors to", k.store.path, err)
	}
	return len(ids), nil
}

// modelIn returns the number of the model, whose vectors must have one size.
func (k *Knowledge) modelIn(ctx context.Context, tx *sql.Tx, size int) (id int64, err error) {
	var known int
	err = tx.QueryRowContext(ctx, `
		INSERT INTO knowledge_models (name, size, drops) VALUES (?, ?, 0) ON CONFLICT (name) DO UPDATE SET name = excluded.name
		RETURNING id, size`, k.vectors.Model, size).Scan(&id, &known)
	if err != nil || size == known {
		return id, err
	}
	// A model that has no vectors left may change its size.
	changed, err := tx.ExecContext(ctx, `UPDATE knowledge_models SET size = ?1, drops = drops + 1
		WHERE id = ?2 AND NOT EXISTS (SELECT 1 FROM knowledge_vectors WHERE model = ?2)`, size, id)
	if err != nil {
		return 0, err
	}
	if n, err := changed.RowsAffected(); n == 0 || err != nil {
		return 0, errors.Join(err, &vectorSizeError{size, known})
	}
	return id, nil
}

// vectorSizeError is about an embedder that is not the one it was.
type vectorSizeError struct{ size, known int }

func (e *vectorSizeError) Error() string {
	return fmt.Sprintf("its vectors have %d numbers, those in the store %d: remove the knowledge base and add it again, or use another model",
		e.size, e.known)
}
