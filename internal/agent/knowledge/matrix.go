package knowledge

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// maxMatrix is how many numbers of vectors are held in memory: 1 GB. That is 700,000 vectors of 384 numbers, or 170,000
// of 1,536.
const maxMatrix = 256 << 20

// matrix has the vectors of one model in memory. Searching there is many times as fast as reading them for each search.
type matrix struct {
	// turn is held while the store is read. It is a channel, because waiting for it must end with the context of a
	// search.
	turn        chan struct{}
	drops, last int64
	rows        vectorRows
}

// vectorRows are vectors of one size, one after the other. Copies stay valid, because a matrix only appends or starts
// anew.
type vectorRows struct {
	size     int
	passages []int64
	numbers  []float32
}

func newMatrix() *matrix { return &matrix{turn: make(chan struct{}, 1)} }

// read returns the vectors that the store has of a model now. It reads only new ones from the store.
func (m *matrix) read(ctx context.Context, db *sql.DB, model string) (vectorRows, error) {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return vectorRows{}, ctx.Err()
	}
	var id, drops int64
	var size int
	err := db.QueryRowContext(ctx, `SELECT id, size, drops FROM knowledge_models WHERE name = ?`, model).
		Scan(&id, &size, &drops)
	if errors.Is(err, sql.ErrNoRows) {
		return vectorRows{}, nil
	}
	if err != nil {
		return vectorRows{}, err
	}
	if drops != m.drops || size != m.rows.size {
		m.drops, m.last, m.rows = drops, 0, vectorRows{size: size}
	}
	if err := m.more(ctx, db, id); err != nil {
		m.last, m.rows = 0, vectorRows{} // else a part of them would be read twice
		return vectorRows{}, err
	}
	return m.rows, nil
}

func (m *matrix) more(ctx context.Context, db *sql.DB, model int64) error {
	rows := &m.rows
	if m.last == 0 {
		var n int
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM knowledge_vectors WHERE model = ?`, model).
			Scan(&n); err != nil {
			return err
		}
		rows.passages, rows.numbers = make([]int64, 0, n), make([]float32, 0, min(n*rows.size, maxMatrix))
	}
	var blob sql.RawBytes
	// In the order of the table, because an index would jump between pages.
	return eachRow(ctx, db, func(scan func(...any) error) error {
		var passage int64
		if err := scan(&m.last, &passage, &blob); err != nil {
			return err
		}
		if len(blob) != rows.size*float32Bytes {
			return fmt.Errorf("the vector of passage %d has %d bytes, not %d", passage, len(blob),
				rows.size*float32Bytes)
		}
		if len(rows.numbers)+rows.size > maxMatrix {
			return fmt.Errorf(
				"there are more than %d vectors of %d numbers: split the knowledge bases over several stores",
				len(rows.passages), rows.size)
		}
		rows.passages, rows.numbers = append(rows.passages, passage), unpack(rows.numbers, blob)
		return nil
	}, `SELECT id, passage, vector FROM knowledge_vectors WHERE model = ? AND id > ? ORDER BY id`, model, m.last)
}

// near is a passage and the cosine of its vector and the query's.
type near struct {
	passage int64
	cosine  float32
}

// nearest returns the n passages of the bases that are nearest to a vector of length 1, nearest first.
// A passage whose cosine is not above 0 is not returned.
func (r vectorRows) nearest(query []float32, bases []int64, n int) []near {
	best := make([]near, 0, n+1)
	for i, passage := range r.passages {
		if !slices.Contains(bases, passage>>baseShift) {
			continue
		}
		cosine := dot(query, r.numbers[i*r.size:(i+1)*r.size])
		if cosine <= 0 || len(best) == n && cosine <= best[n-1].cosine {
			continue
		}
		at := len(best)
		for at > 0 && best[at-1].cosine < cosine {
			at--
		}
		best = slices.Insert(best, at, near{passage, cosine})
		best = best[:min(len(best), n)]
	}
	return best
}

// dot returns the sum of products. Eight sums at once keep the processor from waiting for each.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for len(a) >= 8 && len(b) >= 8 {
		x, y := (*[8]float32)(a), (*[8]float32)(b)
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		s4 += x[4] * y[4]
		s5 += x[5] * y[5]
		s6 += x[6] * y[6]
		s7 += x[7] * y[7]
		a, b = a[8:], b[8:]
	}
	for i := range min(len(a), len(b)) {
		s0 += a[i] * b[i]
	}
	return (s0 + s1) + (s2 + s3) + (s4 + s5) + (s6 + s7)
}
