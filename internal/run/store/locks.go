package store

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Locks are locks within the process, with the method of Redis. The zero value is ready to use. It is safe for
// concurrent use.
type Locks struct {
	mu   sync.Mutex
	held map[string]struct{}
}

// Lock takes the lock with a name without waiting; ok is false while another caller holds it. The holder calls unlock,
// once or more often; unlock is never nil. The ttl is ignored, since a lock ends with its process. The only error is
// that of a context that has ended.
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

// takeLock sets the key to the token unless another token is there. A retry whose first attempt succeeded without an
// answer finds its own token and has the lock; plain SET NX would lock the caller out.
var takeLock = redis.NewScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end
return 0`)

// freeLock deletes the key if it has the token. Another caller may hold a lock that has expired.
var freeLock = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)

// renewLock lets the ttl of a lock begin anew, if it is still held by the token.
var renewLock = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0`)

// redisLocks are keys that expire by the clock of the server.
type redisLocks struct{ r *Redis }

func (l redisLocks) takeLock(ctx context.Context, name, token string, ttl time.Duration) (bool, error) {
	taken, err := l.run(ctx, takeLock, name, token, max(ttl.Milliseconds(), 1)).Bool()
	return taken, l.r.explain(ctx, "lock "+name+" on", err)
}

func (l redisLocks) renewLock(ctx context.Context, name, token string, ttl time.Duration) error {
	err := l.run(ctx, renewLock, name, token, max(ttl.Milliseconds(), 1)).Err()
	return l.r.explain(ctx, "renew a lock on", err) // which notes that the server is away
}

func (l redisLocks) freeLock(ctx context.Context, name, token string) error {
	return l.run(ctx, freeLock, name, token).Err()
}

// run runs a script on the key of a lock.
func (l redisLocks) run(ctx context.Context, script *redis.Script, name string, args ...any) *redis.Cmd {
	return script.Run(ctx, l.r.client, []string{l.r.key("lock", name)}, args...)
}
