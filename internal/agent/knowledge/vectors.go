package knowledge

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Embedder turns texts into vectors of one length, in the same order. Texts of similar meaning get vectors of similar
// direction. It must be safe for concurrent use.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float64, error)
}

// Vectors find passages by their meaning, beside their words.
type Vectors struct {
	// Model names the model of the vectors, such as "openai:text-embedding-3-small". Vectors of different models are
	// never compared.
	Model    string
	Embedder Embedder
	// Failed, if set, is called with the reason why a search used words only, or why passages of a folder have no
	// vectors. Several goroutines may call it at any time.
	Failed func(error)
}

// WithVectors lets passages be found by their meaning too. Without an embedder it changes nothing.
func WithVectors(v Vectors) Option {
	return func(k *Library) {
		if v.Embedder != nil {
			k.vectors, k.matrix = &v, newMatrix()
		}
	}
}

func (v *Vectors) failed(err error) {
	if v.Failed != nil {
		v.Failed(err)
	}
}

const (
	// maxEmbedText is how many bytes of a text are embedded: many models refuse a text of more than 8,000 tokens, and
	// with it the whole request.
	maxEmbedText = 6 << 10
	// maxVectorSize bounds the numbers of a vector. Models return far fewer.
	maxVectorSize = 16 << 10
	float32Bytes  = 4
)

// embed returns one vector of length 1 per text.
func (v *Vectors) embed(ctx context.Context, texts []string) ([][]float32, error) {
	cut := make([]string, len(texts))
	for i, text := range texts {
		cut[i] = firstBytes(text, maxEmbedText)
	}
	raw, err := v.Embedder.Embed(ctx, cut)
	if err != nil {
		return nil, err
	}
	if len(raw) != len(texts) {
		return nil, fmt.Errorf("%d vectors for %d texts", len(raw), len(texts))
	}
	vectors := make([][]float32, len(raw))
	for i, numbers := range raw {
		if len(numbers) != len(raw[0]) {
			return nil, fmt.Errorf("the vectors have different sizes: %d and %d numbers", len(raw[0]), len(numbers))
		}
		if vectors[i], err = normalised(numbers); err != nil {
			return nil, err
		}
	}
	return vectors, nil
}

// normalised returns a vector of length 1, so that cosines are sums of products. One without a direction stays 0 and is
// never found.
func normalised(numbers []float64) ([]float32, error) {
	if len(numbers) == 0 || len(numbers) > maxVectorSize {
		return nil, fmt.Errorf("a vector of %d numbers", len(numbers))
	}
	var length float64
	for _, n := range numbers {
		length = math.Hypot(length, n)
	}
	if math.IsNaN(length) || math.IsInf(length, 0) {
		return nil, fmt.Errorf("a vector has a number that is not finite")
	}
	vector := make([]float32, len(numbers))
	for i, n := range numbers {
		if length > 0 {
			vector[i] = float32(n / length)
		}
	}
	return vector, nil
}

// pack returns a vector as it is stored.
func pack(vector []float32) []byte {
	blob := make([]byte, 0, len(vector)*float32Bytes)
	for _, n := range vector {
		blob = binary.LittleEndian.AppendUint32(blob, math.Float32bits(n))
	}
	return blob
}

// unpack appends a stored vector.
func unpack(to []float32, blob []byte) []float32 {
	for ; len(blob) >= float32Bytes; blob = blob[float32Bytes:] {
		to = append(to, math.Float32frombits(binary.LittleEndian.Uint32(blob)))
	}
	return to
}

// firstBytes returns at most the first n bytes of a text, in whole characters.
func firstBytes(text string, n int) string {
	return strings.ToValidUTF8(text[:min(len(text), n)], "")
}

const (
	embedBatch  = 64
	embedAtOnce = 4
)

// embed gives vectors to the passages of a base that have none, or of all bases without a name. It returns how many got
// one and how many still have none. A passage with a vector keeps it, so a later call goes on where a failed one ended.
func (k *Library) embed(ctx context.Context, base string) (done, left int, err error) {
	if k.vectors == nil {
		return 0, 0, nil
	}
	missing, err := k.withoutVector(ctx, base)
	if err != nil {
		return 0, 0, k.db.Explain("read knowledge from", err)
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
		err = fmt.Errorf("%d of %d passages got no vector from %s and are found by their words only: %w", left,
			len(missing), k.vectors.Model, err)
	}
	return done, left, err
}

func (k *Library) withoutVector(ctx context.Context, base string) (ids []int64, err error) {
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
func (k *Library) embedBatch(ctx context.Context, ids []int64) (int, error) {
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
		return 0, k.db.Explain("read knowledge from", err)
	}
	if len(found) == 0 { // another process removed them
		return len(ids), nil
	}
	vectors, err := k.vectors.embed(ctx, texts)
	if err != nil {
		return 0, err
	}
	err = k.db.Write(ctx, func(tx *sql.Tx) error {
		model, err := k.modelIn(ctx, tx, len(vectors[0]))
		for i := 0; i < len(found) && err == nil; i++ {
			// Meanwhile another process may have replaced the passage, and another text may have its number.
			_, err = tx.ExecContext(ctx, `INSERT OR IGNORE INTO knowledge_vectors (model, passage, vector)
				SELECT ?, id, ? FROM knowledge_passages WHERE id = ? AND text = ?`, model, pack(vectors[i]),
				found[i], texts[i])
		}
		return err
	})
	if _, other := errors.AsType[*vectorSizeError](err); other {
		return 0, err
	}
	if err != nil {
		return 0, k.db.Explain("write vectors to", err)
	}
	return len(ids), nil
}

// modelIn returns the number of the model, whose vectors must have one size.
func (k *Library) modelIn(ctx context.Context, tx *sql.Tx, size int) (id int64, err error) {
	var known int
	err = tx.QueryRowContext(ctx, `
		INSERT INTO knowledge_models (name, size, drops) VALUES (?, ?, 0) ON CONFLICT (name) DO UPDATE SET name = excluded.name
		RETURNING id, size`, k.vectors.Model, size).Scan(&id, &known)
	if err != nil || size == known {
		return id, err
	}
	// A model without stored vectors may change its size.
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

// vectorSizeError is the error of an embedder whose vectors no longer have the size of the stored ones.
type vectorSizeError struct{ size, known int }

func (e *vectorSizeError) Error() string {
	return fmt.Sprintf("its vectors have %d numbers, and those in the store have %d: "+
		"remove the knowledge base and add it again, or use another model", e.size, e.known)
}
