package store_test

import (
	"crypto/rand"
	"path/filepath"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"rehearse/internal/sitebot/lead/leadtest"
	"rehearse/internal/store"
	"rehearse/internal/store/servertest"
)

// Two stores on one file are as two processes.
func TestOutbox(t *testing.T) {
	leadtest.RunOutbox(t, func(t *testing.T) (one, two leadtest.Store) {
		path := filepath.Join(t.TempDir(), "store.db")
		first, second := open(t, path), open(t, path)
		t.Cleanup(func() { first.Close(); second.Close() })
		return first.Checkpoints(time.Hour), second.Checkpoints(time.Hour)
	})
}

// movedRedis is a server whose clock the suite moves.
type movedRedis struct {
	*store.Redis
	pass func(time.Duration)
}

func (r movedRedis) Pass(d time.Duration) { r.pass(d) }

func TestRedisOutbox(t *testing.T) {
	t.Run("miniredis", func(t *testing.T) {
		leadtest.RunOutbox(t, func(t *testing.T) (one, two leadtest.Store) {
			server, prefix := miniredis.RunT(t), "test-"+rand.Text()+":"
			open := func() leadtest.Store {
				return movedRedis{openRedis(t, "redis://"+server.Addr(), store.RedisOptions{TTL: time.Hour, KeyPrefix: prefix}), server.FastForward}
			}
			return open(), open()
		})
	})
	t.Run("redis-server", func(t *testing.T) {
		leadtest.RunOutbox(t, func(t *testing.T) (one, two leadtest.Store) {
			url, prefix := servertest.Redis(t), "test-"+rand.Text()+":"
			open := func() leadtest.Store {
				return movedRedis{openRedis(t, url, store.RedisOptions{TTL: time.Hour, KeyPrefix: prefix}), func(time.Duration) { t.Skip("a server's clock cannot be moved") }}
			}
			return open(), open()
		})
	})
}
