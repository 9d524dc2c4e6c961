package store_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit/limittest"
)

// Two stores on one file are as two processes.
func TestLimits(t *testing.T) {
	t.Parallel()
	limittest.RunStore(t, func(t *testing.T) (one, two limit.Store) {
		path := newFile(t)
		first, second := open(t, path), open(t, path)
		t.Cleanup(func() { first.Close(); second.Close() })
		return first.Checkpoints(time.Hour), second.Checkpoints(time.Hour)
	})
}

// A file holds no more buckets than are in use: full ones go as others come.
func TestFullBucketsGo(t *testing.T) {
	path := newFile(t)
	s := open(t, path)
	defer s.Close()
	c, now := s.Checkpoints(0), time.Now()
	for range 3 {
		for range 200 {
			if _, _, err := c.Acquire(t.Context(), now, limit.Bucket{
				Name: rand.Text(), Every: time.Second, Burst: 20,
			}); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(time.Minute)
	}
	var rows int
	if err := rawDB(t, path).QueryRowContext(t.Context(), `SELECT count(*) FROM visit_buckets`).
		Scan(&rows); err != nil || rows > 200 {
		t.Errorf("%d buckets, %v; want those of the last minute at most", rows, err)
	}
}
