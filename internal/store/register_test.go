package store_test

import (
	"crypto/rand"
	"path/filepath"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"rehearse/internal/sitebot/register/registertest"
	"rehearse/internal/store"
	"rehearse/internal/store/servertest"
)

// Two stores on one file are as two processes.
func TestRegister(t *testing.T) {
	registertest.Run(t, func(t *testing.T) (one, two registertest.Store) {
		path := filepath.Join(t.TempDir(), "store.db")
		first, second := open(t, path), open(t, path)
		t.Cleanup(func() { first.Close(); second.Close() })
		return first.Checkpoints(2 * time.Hour), second.Checkpoints(0)
	})
}

func TestRedisRegister(t *testing.T) {
	for name, url := range map[string]func(t *testing.T) string{
		"miniredis":    func(t *testing.T) string { return "redis://" + miniredis.RunT(t).Addr() },
		"redis-server": func(t *testing.T) string { return servertest.Redis(t) },
	} {
		t.Run(name, func(t *testing.T) {
			registertest.Run(t, func(t *testing.T) (one, two registertest.Store) {
				at, prefix := url(t), "test-"+rand.Text()+":"
				return openRedis(t, at, store.RedisOptions{TTL: time.Hour, KeyPrefix: prefix}), openRedis(t, at, store.RedisOptions{KeyPrefix: prefix})
			})
		})
	}
}
