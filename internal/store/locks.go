package store

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Locks are locks within the process, with the method of Redis. The zero value is ready to use. It is safe for concurrent use.
type Locks struct {
	mu   sync.Mutex
	held map[string]struct{}
}

// Lock takes the lock with a name without waiting; ok is false while another caller holds it. The holder calls unlock, once or more often;
// unlock is never nil. The ttl is ignored, since a lock ends with its process. The only error is that of a context that has ended.
func (l *Locks) Lock(ctx context.Context, name string, _ time.Duration) (unlock func(), ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return func() {}, false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, held := l.held[name]; held {
		return func() {}, false, nil
	}
	if l.held == nil {
		l.held = map[string]struct{}{}
	}
	l.held[name] = struct{}{}
	return sync.OnceFunc(func() { l.free(name) }), true, nil
}

func (l *Locks) free(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, name)
}

// takeLock sets the key to the token unless another token is there. A retry whose first attempt succeeded without an answer
// finds its own token and has the lock; plain SET NX would lock the caller out.
var takeLock = redis.NewScript(1, `
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end
return 0`)

// freeLock deletes the key if it has the token. Another caller may hold a lock that has expired.
var freeLock = redis.NewScript(1, `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)

// Lock takes the lock with a name without waiting; ok is false while another caller, in this or another process, holds it.
// The holder calls unlock, at any time, once or more often; unlock is never nil. unlock ignores the context and takes seconds at most.
// The lock is renewed until then, so that the ttl only counts when the process has died. While the server is away, the lock is released in
// the background as soon as the server is back, or ends after the ttl.
func (r *Redis) Lock(ctx context.Context, name string, ttl time.Duration) (unlock func(), ok bool, err error) {
	key, token := r.key("lock", name), rand.Text()
	freed := make(chan struct{})
	free := sync.OnceFunc(func() {
		close(freed)
		r.free(context.WithoutCancel(ctx), key, token, ttl)
	})
	taken, err := redis.Bool(r.client.run(ctx, takeLock, key, token, max(wholeMillis(ttl), 1)))
	if err := r.explain(ctx, "lock "+name+" on", err); err != nil {
		free() // it may have been taken, only the answer being lost
		return func() {}, false, err
	}
	if !taken {
		return func() {}, false, nil
	}
	r.releases.Go(func() { r.renew(context.WithoutCancel(ctx), key, token, ttl, freed) })
	return free, true, nil
}

// renewLock lets the ttl of a lock begin anew, if it is still held by the token.
var renewLock = redis.NewScript(1, `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0`)

// renew keeps a lock from expiring until it is freed. What fails is tried again a third of the ttl later.
func (r *Redis) renew(ctx context.Context, key, token string, ttl time.Duration, freed <-chan struct{}) {
	every := time.NewTicker(max(ttl/3, time.Millisecond))
	defer every.Stop()
	for {
		select {
		case <-freed:
			return
		case <-r.closing:
			return
		case <-every.C:
		}
		limited, cancel := context.WithTimeout(ctx, redisTimeout)
		_, err := r.client.run(limited, renewLock, key, token, max(wholeMillis(ttl), 1))
		cancel()
		_ = r.explain(ctx, "renew a lock on", err) // notes that the server is away
	}
}

// freeAgain is the wait before another attempt to release a lock.
const freeAgain = 200 * time.Millisecond

// free releases a lock. Its errors are not reported: it retries in the background until the lock has expired.
func (r *Redis) free(ctx context.Context, key, token string, ttl time.Duration) {
	if r.freed(ctx, key, token) {
		return
	}
	r.releases.Go(func() {
		ended := time.NewTimer(ttl)
		defer ended.Stop()
		for {
			select {
			case <-r.closing:
				return
			case <-ended.C:
				return
			case <-time.After(freeAgain):
			}
			if r.freed(ctx, key, token) {
				return
			}
		}
	})
}

// freed reports whether the server has released the lock.
func (r *Redis) freed(ctx context.Context, key, token string) bool {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	_, err := r.client.run(ctx, freeLock, key, token)
	return err == nil
}
