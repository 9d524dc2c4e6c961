package store_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/graph/graphtest"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
	"github.com/rehearse-dev/rehearse/internal/run/store/storetest"
)

// sizedRedis tells the size of a session, so that the suite looks at its growth.
type sizedRedis struct {
	*store.Redis
	client *redis.Client
}

func (s sizedRedis) Size(ctx context.Context, thread string) (int64, error) {
	keys, err := s.client.Keys(ctx, "*session:{"+thread+"}").Result()
	if err != nil || len(keys) != 1 {
		return 0, errors.Join(err, errors.New("want one key for a session"))
	}
	fields, err := s.client.HGetAll(ctx, keys[0]).Result()
	size := 0
	for name, value := range fields {
		size += len(name) + len(value)
	}
	return int64(size), err
}

func sized(t *testing.T, url string) graph.Checkpointer {
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return sizedRedis{openRedis(t, url, store.RedisOptions{TTL: time.Hour}), client}
}

func TestRedisCheckpoints(t *testing.T) {
	t.Parallel()
	t.Run("miniredis", func(t *testing.T) {
		graphtest.RunCheckpointer(t, func(t *testing.T) graph.Checkpointer {
			return sized(t, "redis://"+servertest.Miniredis(t).Addr())
		})
	})
	t.Run("redis-server", func(t *testing.T) {
		url := servertest.Redis(t)
		graphtest.RunCheckpointer(t, func(t *testing.T) graph.Checkpointer { return sized(t, url) })
	})
}

func TestRedisLocks(t *testing.T) {
	t.Run("miniredis", func(t *testing.T) {
		storetest.RunLocks(t, func(t *testing.T) storetest.Locker {
			return openRedis(t, "redis://"+miniredis.RunT(t).Addr(), store.RedisOptions{})
		})
	})
	t.Run("redis-server", func(t *testing.T) {
		url := servertest.Redis(t)
		storetest.RunLocks(t, func(t *testing.T) storetest.Locker { return openRedis(t, url, store.RedisOptions{}) })
	})
}

func TestLocks(t *testing.T) {
	storetest.RunLocks(t, func(*testing.T) storetest.Locker { return store.NewLocks() })
}

// A holder that is gone, or too slow, loses its lock and cannot free that of the next one.
func TestRedisLockExpires(t *testing.T) {
	m := miniredis.RunT(t)
	r := openRedis(t, "redis://"+m.Addr(), store.RedisOptions{})
	slow, ok, err := r.Lock(t.Context(), "a", 2*time.Minute)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	m.FastForward(119 * time.Second)
	if _, ok, _ := r.Lock(t.Context(), "a", 2*time.Minute); ok {
		t.Fatal("the lock is free before its time")
	}
	m.FastForward(2 * time.Second)
	next, ok, err := r.Lock(t.Context(), "a", 2*time.Minute)
	if !ok || err != nil {
		t.Fatal("the lock did not expire:", err)
	}
	slow()
	if _, ok, _ := r.Lock(t.Context(), "a", 2*time.Minute); ok {
		t.Error("who lost the lock freed that of the next")
	}
	next()
}

// A lock that was given up while the server was away is free soon after the server is back, not only after its time. A
// turn may take longer than the lock lasts: it is renewed until it is given back, and ends soon after the process has
// died.
func TestRedisLockIsRenewed(t *testing.T) {
	m := miniredis.RunT(t)
	r, other := openRedis(t, "redis://"+m.Addr(), store.RedisOptions{KeyPrefix: "l:"}),
		openRedis(t, "redis://"+m.Addr(), store.RedisOptions{KeyPrefix: "l:"})
	const ttl = 300 * time.Millisecond
	unlock, ok, err := r.Lock(t.Context(), "a", ttl)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	for range 3 {
		m.FastForward(ttl - time.Millisecond)
		for deadline := time.Now().Add(10 * time.Second); m.TTL("l:lock:{a}") < ttl/2; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the lock was not renewed")
			}
		}
		if _, ok, err := other.Lock(t.Context(), "a", ttl); ok || err != nil {
			t.Fatalf("somebody else has it: %v, %v", ok, err)
		}
	}
	unlock()
	next, ok, err := other.Lock(t.Context(), "a", ttl)
	if !ok || err != nil {
		t.Error(ok, err)
	}
	next()
}

func TestRedisLockGivenUpWhileAway(t *testing.T) {
	m := miniredis.RunT(t)
	r := openRedis(t, "redis://"+m.Addr(), store.RedisOptions{})
	unlock, ok, err := r.Lock(t.Context(), "a", time.Hour)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	m.Close()
	unlock()
	if err := m.Restart(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; {
		next, ok, err := r.Lock(t.Context(), "a", time.Hour)
		if ok {
			next()
			return
		}
		if time.Now().After(end) {
			t.Fatal("the lock is still taken:", err)
		}
	}
}

func TestRedisSessionsExpire(t *testing.T) {
	for _, refresh := range []bool{false, true} {
		m := miniredis.RunT(t)
		r := openRedis(t, "redis://"+m.Addr(), store.RedisOptions{TTL: time.Hour, RefreshOnRead: refresh})
		alive := func() bool {
			t.Helper()
			got, err := r.Load(t.Context(), "thread", "")
			if err != nil {
				t.Fatal(err)
			}
			return len(got) > 0
		}
		mustSave(t, r, turnRecord(1))
		m.FastForward(50 * time.Minute)
		mustSave(t, r, turnRecord(2)) // which begins the hour anew
		m.FastForward(50 * time.Minute)
		if !alive() {
			t.Fatal("a write did not refresh the time to live")
		}
		m.FastForward(50 * time.Minute)
		if alive() != refresh {
			t.Errorf("RefreshOnRead %t: alive is %t an hour after the last write", refresh, !refresh)
		}
		m.FastForward(2 * time.Hour)
		if alive() || len(m.Keys()) != 0 {
			t.Errorf("left of an expired session: %q", m.Keys())
		}
		mustSave(t, r, turnRecord(1))
	}
}

func TestRedisCache(t *testing.T) {
	m := miniredis.RunT(t)
	c := openRedis(t, "redis://"+m.Addr(), store.RedisOptions{}).Cache()
	want := func(value []byte, found bool) {
		t.Helper()
		got, ok, err := c.Get(t.Context(), "k")
		if !bytes.Equal(got, value) || ok != found || err != nil {
			t.Errorf("Get: %q, %t, %v; want %q, %t", got, ok, err, value, found)
		}
	}
	want(nil, false)
	for _, value := range [][]byte{{}, []byte("\x00\xff"), []byte("newer")} {
		if err := c.Set(t.Context(), "k", value, time.Hour); err != nil {
			t.Fatal(err)
		}
		want(value, true)
	}
	m.FastForward(time.Hour)
	want(nil, false)
	if err := c.Set(t.Context(), "k", nil, 0); err != nil { // as short as can be, not for ever
		t.Fatal(err)
	}
	m.FastForward(time.Second)
	want(nil, false)
}

// mustSave saves a record of the thread called "thread".
func mustSave(t testing.TB, c graph.Checkpointer, r graph.Record) {
	t.Helper()
	if err := c.Save(t.Context(), "thread", r); err != nil {
		t.Fatal(err)
	}
}
