package store

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

var (
	errRedisClosed = errors.New("the connection is closed")
	errRedisBusy   = errors.New("all connections stayed busy")
)

// redisClient sends commands over a few connections. A command whose connection broke is sent again, so each one must bear to be run twice.
type redisClient struct {
	settings redisSettings
	pool     *redis.Pool
	// broke is when a connection last broke, in nanoseconds since 1970. Those that have been idle since before then are likely broken, too.
	broke  atomic.Int64
	closed atomic.Bool
}

func newRedisClient(s redisSettings) *redisClient {
	c := &redisClient{settings: s}
	c.pool = &redis.Pool{
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, s.network, s.address, s.dialling()...)
		},
		TestOnBorrow: func(_ redis.Conn, idle time.Time) error {
			if idle.UnixNano() <= c.broke.Load() {
				return errors.New("idle since before a connection broke")
			}
			return nil
		},
		MaxActive: s.connections, MaxIdle: s.connections, Wait: true, IdleTimeout: redisIdle,
	}
	return c
}

func (c *redisClient) close() error {
	c.closed.Store(true)
	return c.pool.Close()
}

// command sends one command and returns its reply; redis.ErrNil stands for none.
func (c *redisClient) command(ctx context.Context, name string, args ...any) (any, error) {
	return c.again(ctx, func(conn redis.Conn) (any, error) { return redis.DoContext(conn, ctx, name, args...) })
}

// run runs a script that touches one key.
func (c *redisClient) run(ctx context.Context, script *redis.Script, key string, args ...any) (any, error) {
	return c.again(ctx, func(conn redis.Conn) (any, error) { return script.DoContext(ctx, conn, append([]any{key}, args...)...) })
}

// again does something over a connection, and over other ones while connections break.
func (c *redisClient) again(ctx context.Context, do func(redis.Conn) (any, error)) (reply any, err error) {
	wait := 10 * time.Millisecond
	for range c.settings.retries {
		if reply, err = c.once(ctx, do); !broken(ctx, err) {
			return reply, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, err
		}
		wait *= 10
	}
	return c.once(ctx, do)
}

func (c *redisClient) once(ctx context.Context, do func(redis.Conn) (any, error)) (any, error) {
	if c.closed.Load() {
		return nil, errRedisClosed
	}
	patient, cancel := context.WithTimeout(ctx, 2*redisTimeout)
	defer cancel()
	conn, err := c.pool.GetContext(patient)
	switch {
	case err != nil && c.closed.Load():
		return nil, errRedisClosed
	case err != nil && patient.Err() != nil && ctx.Err() == nil:
		return nil, errRedisBusy
	case err != nil:
		return nil, err
	}
	reply, err := do(conn)
	if broken(ctx, err) {
		c.broke.Store(time.Now().UnixNano())
	}
	// Its error is that of the command once more.
	_ = conn.Close()
	return reply, err
}

// broken reports whether an error says that a connection broke, or that none could be made.
func broken(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil || errors.Is(err, redis.ErrNil) || errors.Is(err, errRedisClosed) || errors.Is(err, errRedisBusy) {
		return false
	}
	_, reply := errors.AsType[redis.Error](err)
	return !reply
}
