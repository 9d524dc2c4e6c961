package store

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// redisHealth remembers whether a server answered last. A goroutine asks it regularly between start and end;
// every call of the Redis reports as well, so that a fault shows at once and not after half a minute.
type redisHealth struct {
	failed atomic.Pointer[RedisError] // nil: it answered
	quit   context.CancelFunc
	done   chan struct{}
	ending sync.Once
}

func (h *redisHealth) start(every time.Duration, ping func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	h.quit, h.done = cancel, make(chan struct{})
	go func() {
		defer close(h.done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				ping(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
}

func (h *redisHealth) end() {
	h.ending.Do(func() {
		h.quit()
		<-h.done
	})
}

// report notes how a call came out; nil means that the server answered.
func (h *redisHealth) report(failed *RedisError) {
	// Reading first keeps the line of memory shared among the cores that serve a healthy server.
	if h.failed.Load() != failed {
		h.failed.Store(failed)
	}
}

// ping asks the server; explain notes what comes of it.
func (r *Redis) ping(ctx context.Context) {
	_ = r.explain(ctx, "ping", r.client.Ping(ctx).Err())
}

// Healthy returns nil while the server answers, else what was wrong when it was last asked: by a call, or by a look
// every 30 s. It does not ask itself and so returns at once.
func (r *Redis) Healthy() error {
	if failed := r.health.failed.Load(); failed != nil {
		return failed
	}
	return nil
}
