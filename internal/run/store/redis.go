package store

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	saver "github.com/rehearse-dev/rehearse/graph/saver/redis"
)

const (
	// redisTimeout bounds dialling, writing and reading, each.
	redisTimeout = 2 * time.Second
	// redisConnections bounds the connections of a Redis. A command takes well below a millisecond, so these serve thousands of sessions.
	redisConnections = 32
	// redisRetries is how often a command is tried again when its connection broke.
	redisRetries = 2
	// redisIdle is the time after which an unused connection is closed. It is less than the time-outs of common servers and proxies.
	redisIdle = 5 * time.Minute
	// redisKeepAlive is the time between two probes of an unused connection.
	redisKeepAlive = 30 * time.Second
	// healthEvery is the time between two checks of the server.
	healthEvery = 30 * time.Second
	// defaultPrefix begins every key.
	defaultPrefix = "rehearse:"
)

// RedisOptions are the settings that the URL of a Redis does not have. The zero value is ready to use.
type RedisOptions struct {
	// TTL is how long a session is kept after it was last written; 0 keeps sessions for ever.
	TTL time.Duration
	// RefreshOnRead starts the TTL anew also when a session is read.
	RefreshOnRead bool
	// KeyPrefix begins the name of every key; "" means "rehearse:".
	KeyPrefix string
	// HealthEvery is the time between two checks of the server; 0 means 30 s.
	HealthEvery time.Duration
}

// Redis is a server that several processes share: states of sessions, locks and a cache. It is safe for concurrent use and is a graph.Checkpointer.
// While the server is away, every call fails within seconds; when it is back, calls work again.
// Make it with OpenRedis and release it with Close.
type Redis struct {
	*sessions
	*leases
	client *redisClient
	server server
	prefix string
	ttl    time.Duration
	health redisHealth
}

// sessions keeps the threads. Its name is not that of the embedded type, which others would see as a field.
type sessions = saver.Saver

// redisServer is the server that a saver works with.
type redisServer struct{ r *Redis }

// Command implements saver.Server.
func (s redisServer) Command(ctx context.Context, name string, args ...any) (any, error) {
	return s.r.client.command(ctx, name, args...)
}

// Run implements saver.Server.
func (s redisServer) Run(ctx context.Context, script *redis.Script, key string, args ...any) (any, error) {
	return s.r.client.run(ctx, script, key, args...)
}

// Explain implements saver.Server.
func (s redisServer) Explain(ctx context.Context, op string, err error) error {
	return s.r.explain(ctx, op, err)
}

// Key implements saver.Server.
func (s redisServer) Key(kind, name string) string { return s.r.key(kind, name) }

// String names the server, without user and password.
func (s redisServer) String() string { return s.r.server.String() }

// String names the server, without user and password.
func (r *Redis) String() string { return r.server.url }

// OpenRedis connects to the server that the URL names, such as redis://user:password@host:6379/0, rediss:// for TLS or
// unix:///path. It asks the server once, and again regularly; Healthy returns what it found.
// An error is a *Error: it says what is wrong, where, and what to do, without the password.
func OpenRedis(ctx context.Context, url string, options RedisOptions) (*Redis, error) {
	settings, err := readRedisURL(url)
	if err != nil {
		return nil, &Error{
			Op: "connect to", Store: "Redis (its URL cannot be read)",
			Problem: "the URL is not one of a Redis server: " + err.Error(),
			Hint:    "write it as redis://user:password@host:6379/0, with % escapes for special characters in the password",
		}
	}
	r := &Redis{
		client: newRedisClient(settings),
		server: server{kind: "Redis", url: settings.name(), password: settings.password},
		prefix: cmp.Or(options.KeyPrefix, defaultPrefix),
		ttl:    options.TTL,
	}
	r.leases = newLeases(redisLocks{r})
	r.sessions = saver.On(redisServer{r}, saver.Options{TTL: options.TTL, RefreshOnRead: options.RefreshOnRead})
	if _, err := r.client.command(ctx, "PING"); err != nil {
		return nil, errors.Join(r.explain(ctx, "connect to", err), r.client.close())
	}
	r.health.start(cmp.Or(options.HealthEvery, healthEvery), r.ping)
	return r, nil
}

// Close ends the connections and the health checks. The data stays.
func (r *Redis) Close() error {
	r.health.end()
	r.leases.end()
	if err := r.client.close(); err != nil {
		return r.explain(context.Background(), "close the connection to", err)
	}
	return nil
}

// wholeMillis rounds a duration below a millisecond up, because 0 would mean for ever.
func wholeMillis(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return max(d.Milliseconds(), 1)
}

// key returns the name of a key. The braces keep all keys of a session on one node of a cluster.
func (r *Redis) key(kind, name string) string { return r.prefix + kind + ":{" + name + "}" }

// RedisCache keeps bytes for a time on a Redis server. Redis.Cache returns it. It is safe for concurrent use.
type RedisCache struct{ r *Redis }

// Cache returns a cache on the server, shared with other processes. It ends with the Redis; closing it is not needed.
func (r *Redis) Cache() *RedisCache { return &RedisCache{r} }

// Get returns the bytes that were set under the key, and whether there are any that have not expired.
func (c *RedisCache) Get(ctx context.Context, key string) ([]byte, bool, error) {
	value, err := redis.Bytes(c.r.client.command(ctx, "GET", c.r.key("cache", key)))
	err = c.r.explain(ctx, "read the cache on", err)
	if errors.Is(err, redis.ErrNil) {
		return nil, false, nil
	}
	return value, err == nil, err
}

// Set keeps the bytes under the key for the ttl, which is at least a millisecond, in place of earlier ones.
func (c *RedisCache) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := c.r.client.command(ctx, "SET", c.r.key("cache", key), value, "PX", max(wholeMillis(ttl), 1))
	return c.r.explain(ctx, "write the cache on", err)
}

// Delete forgets what was set under the keys; unknown keys are no error.
func (c *RedisCache) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if _, err := c.r.client.command(ctx, "DEL", c.r.key("cache", key)); err != nil {
			return c.r.explain(ctx, "write the cache on", err)
		}
	}
	return nil
}

// redisHealth remembers whether a server answered the last time. Between start and end a goroutine asks it regularly. Every call of the
// Redis reports as well, so that a fault shows at once.
type redisHealth struct {
	failed atomic.Pointer[Error] // nil: it answered
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

// report notes the outcome of a call; nil means that the server answered.
func (h *redisHealth) report(failed *Error) {
	// Reading first keeps the line of memory shared among the cores that serve a healthy server.
	if h.failed.Load() != failed {
		h.failed.Store(failed)
	}
}

// ping asks the server; explain notes the outcome.
func (r *Redis) ping(ctx context.Context) {
	_, err := r.client.command(ctx, "PING")
	_ = r.explain(ctx, "ping", err)
}

// Healthy returns nil while the server answers, else the error of the latest call or check. It does not ask the server and returns at once.
func (r *Redis) Healthy() error {
	if failed := r.health.failed.Load(); failed != nil {
		return failed
	}
	return nil
}
