package store

import (
	"context"
	"sync"
	"time"
)

// Locks are locks within the process, with the shape of Redis.Lock. The zero value is ready; it is safe for concurrent use.
type Locks struct {
	mu   sync.Mutex
	held map[string]struct{}
}

// Lock takes the lock of that name, without waiting; ok is false while another holds it.
// The holder calls unlock, as often as it likes; unlock is never nil. There is no need for the ttl, as a lock ends with
// the process that holds it. The error is that of a context that has ended.
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
