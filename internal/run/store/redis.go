package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	saver "github.com/rehearse-dev/rehearse/graph/saver/redis"
)

const (
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

// Redis is a server that several processes share: states of sessions, locks and a cache. It is safe for concurrent use
// and is a graph.Checkpointer. While the server is away, every call fails within seconds; when it is back, calls work
// again. Make it with OpenRedis and release it with Close.
type Redis struct {
	*sessions
	*leases
	client *redis.Client
	server server
	prefix string
	ttl    time.Duration
	health redisHealth
}

// sessions keeps the threads. Its name is not that of the embedded type, which others would see as a field.
type sessions = saver.Saver

// String names the server, without user and password.
func (r *Redis) String() string { return r.server.url }

// OpenRedis connects to the server that the URL names, such as redis://user:password@host:6379/0, rediss:// for TLS or
// unix:///path, with settings as redis.ParseURL defines them. It pings the server once, and again regularly; Healthy
// returns the result. An error is a *Error: it names the problem, the server and a fix, without the password.
func OpenRedis(ctx context.Context, url string, options RedisOptions) (*Redis, error) {
	settings, err := saver.ParseURL(url)
	if err != nil {
		return nil, &Error{
			Op: "connect to", Store: "Redis", Problem: err.Error(),
			Hint: "write it as redis://user:password@host:6379/0, with % escapes for special characters in the " +
				"password, " +
				"and with no settings but those of go-redis, such as ?pool_size=50",
		}
	}
	logging.Disable() // every failed call returns its error
	name := fmt.Sprintf("redis://%s/%d", settings.Addr, settings.DB)
	switch {
	case settings.Network == "unix":
		name = "unix://" + settings.Addr
	case settings.TLSConfig != nil:
		name = strings.Replace(name, "redis", "rediss", 1)
	}
	r := &Redis{
		client: redis.NewClient(settings),
		server: server{kind: "Redis", url: name, password: settings.Password},
		prefix: cmp.Or(options.KeyPrefix, defaultPrefix),
		ttl:    options.TTL,
	}
	r.leases = newLocks(redisLocks{r}, r.extend)
	r.sessions = saver.On(r.client, saver.Options{
		TTL: options.TTL, RefreshOnRead: options.RefreshOnRead, KeyPrefix: r.prefix, Server: r.server.String(),
		Explain: r.explain,
	})
	if err := r.client.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(r.explain(ctx, "connect to", err), r.client.Close())
	}
	r.health.start(cmp.Or(options.HealthEvery, healthEvery), func(ctx context.Context) {
		_ = r.explain(ctx, "ping", r.client.Ping(ctx).Err()) // which reports the outcome
	})
	return r, nil
}

// Close ends the connections and the health checks. The data stays.
func (r *Redis) Close() error {
	r.health.end()
	r.leases.end()
	if err := r.client.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
		return r.explain(context.Background(), "close the connection to", err)
	}
	return nil
}

// key returns the name of a key. The braces keep all keys of a session on one node of a cluster.
func (r *Redis) key(kind, name string) string { return r.prefix + kind + ":{" + name + "}" }

// extendSession lets a session live for a time at least.
var extendSession = redis.NewScript(`
local left = redis.call('PTTL', KEYS[1])
if left >= 0 and left < tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return left`)

func (r *Redis) extend(ctx context.Context, session string, d time.Duration) error {
	return r.explain(ctx, "lock a session on",
		extendSession.Run(ctx, r.client, []string{r.key("session", session)}, d.Milliseconds()).Err())
}

// RedisCache keeps bytes for a time on a Redis server. Redis.Cache returns it. It is safe for concurrent use.
type RedisCache struct{ r *Redis }

// Cache returns a cache on the server, shared with other processes. It ends with the Redis; closing it is not needed.
func (r *Redis) Cache() *RedisCache { return &RedisCache{r} }

// Get returns the bytes that were set under the key, and whether there are any that have not expired.
func (c *RedisCache) Get(ctx context.Context, key string) ([]byte, bool, error) {
	value, err := c.r.client.Get(ctx, c.r.key("cache", key)).Bytes()
	err = c.r.explain(ctx, "read the cache on", err)
	if errors.Is(err, redis.Nil) {
		return nil, false, nil
	}
	return value, err == nil, err
}

// Set keeps the bytes under the key for the ttl, which is at least a millisecond, in place of earlier ones.
func (c *RedisCache) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	err := c.r.client.Set(ctx, c.r.key("cache", key), value, max(ttl, time.Millisecond)).Err() // 0 would mean for ever
	return c.r.explain(ctx, "write the cache on", err)
}

// Delete forgets what was set under the keys; unknown keys are no error.
func (c *RedisCache) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := c.r.client.Del(ctx, c.r.key("cache", key)).Err(); err != nil {
			return c.r.explain(ctx, "write the cache on", err)
		}
	}
	return nil
}

// redisHealth remembers whether a server answered the last time. Between start and end a goroutine asks it regularly.
// Every call of the Redis reports as well, so that a fault shows at once.
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

// Healthy returns nil while the server answers, else the error of the latest call or check. It does not ask the server
// and returns at once.
func (r *Redis) Healthy() error {
	if failed := r.health.failed.Load(); failed != nil {
		return failed
	}
	return nil
}

// explain makes an Error of an error of Redis. It also reports the health of the server; an answer of any kind proves
// it.
func (r *Redis) explain(ctx context.Context, op string, err error) error {
	if err == nil || errors.Is(err, redis.Nil) {
		r.health.report(nil)
		return err
	}
	if ctx.Err() != nil { // the caller's haste, not the server's fault
		return fmt.Errorf("%s %s: %w", op, r.server, ctx.Err())
	}
	e := &Error{Op: op, Store: r.server.String(), Err: r.server.hide(err)}
	var answered bool
	e.Problem, e.Hint, answered = diagnoseRedis(e.Err)
	if answered {
		r.health.report(nil)
	} else {
		r.health.report(e)
	}
	return e
}

// diagnoseRedis returns the problem and its fix; answered is whether the server answered.
func diagnoseRedis(err error) (problem, hint string, answered bool) {
	if reply, ok := errors.AsType[redis.Error](err); ok {
		problem, hint = diagnoseReply(reply)
		return problem, hint, true
	}
	switch {
	case errors.Is(err, redis.ErrClosed):
		return "the connection is closed", "", true
	case errors.Is(err, redis.ErrPoolTimeout):
		return "all connections stayed busy",
			"the server is too slow for so many sessions: add ?pool_size=100 to the URL or a faster server", false
	}
	if problem, hint, ok := diagnoseNetwork(err); ok {
		return problem, hint, false
	}
	return err.Error(), "see whether the server runs and the URL is right (rediss:// for TLS)", false
}

// diagnoseReply returns what an error reply means, and a fix.
func diagnoseReply(reply redis.Error) (problem, hint string) {
	text := reply.Error()
	has := func(prefix string) bool { return redis.HasErrorPrefix(reply, prefix) }
	switch {
	case has("NOAUTH"):
		return "it wants a password", "put it into the URL: redis://:password@host:6379/0"
	case redis.IsAuthError(reply), strings.Contains(text, "AUTH"):
		return "it refused the user or the password", "correct them in the URL"
	case redis.IsPermissionError(reply):
		return "the user may not do that (" + text + ")",
			"allow the user eval, evalsha, scan, ping, pexpire, unlink and the commands of hashes and strings"
	case redis.IsLoadingError(reply):
		return "it is still loading its data", "try again in a moment"
	case redis.IsReadOnlyError(reply):
		return "it is a replica, which takes no writes", "name the primary in the URL"
	case redis.IsOOMError(reply):
		return "its memory is full", "raise maxmemory, shorten the TTL or let it evict (maxmemory-policy volatile-ttl)"
	case redis.IsMaxClientsError(reply):
		return "it has too many clients", "raise maxclients or lower ?pool_size in the URL"
	case has("MISCONF"):
		return "it cannot write to its disk and refuses writes", "see its log"
	case has("MOVED"), has("ASK "), has("CLUSTERDOWN"):
		return "it is one node of a cluster", "name a single server or a proxy before the cluster"
	case strings.Contains(text, "WRONGTYPE"):
		return "another program uses a key of this name", "choose another key prefix"
	default:
		return "it answered: " + text, ""
	}
}
