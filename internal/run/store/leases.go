package store

import (
	"context"
	"crypto/rand"
	"sync"
	"time"
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

// leases are locks on a server. Make them with newLeases; end them before the server.
type leases struct {
	server lockServer
	// releases counts the locks that are renewed, or still being released in the background. Ending ends them.
	releases sync.WaitGroup
	closing  chan struct{}
	once     sync.Once
}

func newLeases(server lockServer) *leases {
	return &leases{server: server, closing: make(chan struct{})}
}

// end stops what goes on in the background, and waits for it.
func (l *leases) end() {
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
// the server is away, the lock is released in the background as soon as the server is back, or ends after the ttl.
func (l *leases) Lock(ctx context.Context, name string, ttl time.Duration) (unlock func(), ok bool, err error) {
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
	l.releases.Go(func() { l.renew(context.WithoutCancel(ctx), name, token, ttl, freed) })
	return free, true, nil
}

// renew keeps a lock from expiring until it is freed. What fails is tried again a third of the ttl later.
func (l *leases) renew(ctx context.Context, name, token string, ttl time.Duration, freed <-chan struct{}) {
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
		cancel()
	}
}

// free releases a lock. Its errors are not reported: it retries in the background until the lock has expired.
func (l *leases) free(ctx context.Context, name, token string, ttl time.Duration) {
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
func (l *leases) freed(ctx context.Context, name, token string) bool {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	return l.server.freeLock(ctx, name, token) == nil
}
