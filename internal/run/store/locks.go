package store

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// lockServer keeps locks for several processes. A lock belongs to a token until it is freed or its time is over.
type lockServer interface {
	// takeLock reports whether the token has the lock now, or has had it before.
	takeLock(ctx context.Context, name, token string, ttl time.Duration) (bool, error)
	// renewLock lets the time of a lock begin anew, if the token still has it.
	renewLock(ctx context.Context, name, token string, ttl time.Duration) error
	// freeLock gives a lock back that the token has.
	freeLock(ctx context.Context, name, token string) error
}

// Locks are locks on a server or, from NewLocks, within the process. They are safe for concurrent use.
type Locks struct {
	server lockServer
	// extend, unless it is nil, lets the session with the name of a lock live for a time at least.
	extend func(ctx context.Context, name string, d time.Duration) error
	// releases counts the locks that are renewed, or still being released in the background. Ending ends them.
	releases sync.WaitGroup
	closing  chan struct{}
	once     sync.Once
}

// leases are the locks of a store. Their name is not that of the embedded type, which others would see as a field.
type leases = Locks

// newLocks returns locks on a server. End them before the server.
func newLocks(server lockServer, extend func(ctx context.Context, name string, d time.Duration) error) *Locks {
	return &Locks{server: server, extend: extend, closing: make(chan struct{})}
}

// NewLocks returns locks within the process, which end with it.
func NewLocks() *Locks { return newLocks(&localLocks{tokens: map[string]string{}}, nil) }

// end stops what goes on in the background, and waits for it.
func (l *Locks) end() {
	l.once.Do(func() { close(l.closing) })
	l.releases.Wait()
}

const (
	// freeAgain is the wait before another attempt to release a lock.
	freeAgain = 200 * time.Millisecond
	// lockTimeout bounds renewing and releasing a lock.
	lockTimeout = 2 * time.Second
)

// Lock takes the lock with a name without waiting; ok is false while another caller, in this or another process, holds
// it. The holder calls unlock, at any time, once or more often; unlock is never nil. unlock ignores the context and
// takes seconds at most. The lock is renewed until then, so that the ttl only counts when the process has died. While
// the server is away, the lock is released in the background as soon as the server is back, or ends after the ttl. The
// session with the name of a lock does not expire before the lock.
func (l *Locks) Lock(ctx context.Context, name string, ttl time.Duration) (unlock func(), ok bool, err error) {
	token := rand.Text()
	freed := make(chan struct{})
	free := sync.OnceFunc(func() {
		close(freed)
		l.free(context.WithoutCancel(ctx), name, token, ttl)
	})
	taken, err := l.server.takeLock(ctx, name, token, ttl)
	if err != nil {
		free() // it may have been taken, only the answer being lost
		return func() {}, false, err
	}
	if !taken {
		return func() {}, false, nil
	}
	if l.extend != nil {
		if err := l.extend(ctx, name, ttl); err != nil {
			free()
			return func() {}, false, err
		}
	}
	if _, local := l.server.(*localLocks); local && l.extend == nil { // nothing expires
		return free, true, nil
	}
	l.releases.Go(func() { l.renew(context.WithoutCancel(ctx), name, token, ttl, freed) })
	return free, true, nil
}

// renew keeps a lock from expiring until it is freed. What fails is tried again a third of the ttl later.
func (l *Locks) renew(ctx context.Context, name, token string, ttl time.Duration, freed <-chan struct{}) {
	every := time.NewTicker(max(ttl/3, time.Millisecond))
	defer every.Stop()
	for {
		select {
		case <-freed:
			return
		case <-l.closing:
			return
		case <-every.C:
		}
		limited, cancel := context.WithTimeout(ctx, lockTimeout)
		_ = l.server.renewLock(limited, name, token, ttl)
		if l.extend != nil {
			_ = l.extend(limited, name, ttl)
		}
		cancel()
	}
}

// free releases a lock. Its errors are not reported: it retries in the background until the lock has expired.
func (l *Locks) free(ctx context.Context, name, token string, ttl time.Duration) {
	if l.freed(ctx, name, token) {
		return
	}
	l.releases.Go(func() {
		ended := time.NewTimer(ttl)
		defer ended.Stop()
		for {
			select {
			case <-l.closing:
				return
			case <-ended.C:
				return
			case <-time.After(freeAgain):
			}
			if l.freed(ctx, name, token) {
				return
			}
		}
	})
}

// freed reports whether the server has released the lock.
func (l *Locks) freed(ctx context.Context, name, token string) bool {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	return l.server.freeLock(ctx, name, token) == nil
}

// localLocks are the tokens of locks within the process, by name.
type localLocks struct {
	mu     sync.Mutex
	tokens map[string]string
}

func (l *localLocks) takeLock(ctx context.Context, name, token string, _ time.Duration) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, taken := l.tokens[name]; taken || ctx.Err() != nil {
		return false, ctx.Err()
	}
	l.tokens[name] = token
	return true, nil
}

func (*localLocks) renewLock(context.Context, string, string, time.Duration) error { return nil }

func (l *localLocks) freeLock(_ context.Context, name, token string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tokens[name] == token {
		delete(l.tokens, name)
	}
	return nil
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

// databaseLocks are rows that expire by the clock of a PostgreSQL database.
type databaseLocks struct{ db database }

func (l databaseLocks) takeLock(ctx context.Context, name, token string, ttl time.Duration) (taken bool, err error) {
	// Without a row, another token has the lock.
	err = l.db.read(ctx, `
		INSERT INTO exp.session_locks AS held (name, token, until)
			VALUES ($1, $2, clock_timestamp() + $3 * interval '1 microsecond')
		ON CONFLICT (name) DO UPDATE SET token = excluded.token, until = excluded.until
			WHERE held.until <= clock_timestamp() OR held.token = excluded.token
		RETURNING true`, []any{[]byte(name), token, max(ttl.Microseconds(), 1)},
		func(row scanner) error { return row.Scan(&taken) })
	return taken, l.db.explain(ctx, "lock "+name+" in", err)
}

func (l databaseLocks) renewLock(ctx context.Context, name, token string, ttl time.Duration) error {
	_, err := l.db.exec(ctx, `UPDATE exp.session_locks SET until = clock_timestamp() + $3 * interval '1 microsecond'
		WHERE name = $1 AND token = $2`, []byte(name), token, max(ttl.Microseconds(), 1))
	return err
}

func (l databaseLocks) freeLock(ctx context.Context, name, token string) error {
	_, err := l.db.exec(ctx, `DELETE FROM exp.session_locks WHERE name = $1 AND token = $2`, []byte(name), token)
	return err
}
