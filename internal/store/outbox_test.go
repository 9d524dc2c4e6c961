package store_test

import (
	"crypto/rand"
	"path/filepath"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/gomodule/redigo/redis"

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

// age lets time pass for the keys of a server whose clock cannot be moved: each has that much less left.
func age(t *testing.T, url, prefix string, by time.Duration) {
	t.Helper()
	c, err := redis.DialURL(url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const script = `
		for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
			local left = redis.call('PTTL', key)
			if left >= 0 then redis.call('PEXPIRE', key, left - ARGV[2]) end
		end`
	if _, err := c.Do("EVAL", script, 0, prefix, by.Milliseconds()); err != nil {
		t.Fatal(err)
	}
}

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
				return movedRedis{openRedis(t, url, store.RedisOptions{TTL: time.Hour, KeyPrefix: prefix}), func(d time.Duration) { age(t, url, prefix, d) }}
			}
			return open(), open()
		})
	})
}
