// Package redis keeps the threads of graphs on a Redis server that several processes share.
package redis

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/rehearse-dev/rehearse/graph"
)

// Saver keeps threads as one key each. It is safe for concurrent use. Make it with Open or On.
type Saver struct {
	server Server
	ttl    int64 // milliseconds; 0 is for ever
	onRead bool
	close  func() error
}

var (
	_ graph.Checkpointer = (*Saver)(nil)
	_ graph.StepSaver    = (*Saver)(nil)
	_ graph.Peeker       = (*Saver)(nil)
	_ graph.Compactor    = (*Saver)(nil)
)

// Server is a connection that somebody else has made. Commands and scripts may be sent twice when an answer was lost.
type Server interface {
	// Command sends one command and returns its reply; redis.ErrNil stands for none.
	Command(ctx context.Context, name string, args ...any) (any, error)
	// Run runs a script that touches one key.
	Run(ctx context.Context, script *redis.Script, key string, args ...any) (any, error)
	// Explain makes an error of an operation, such as "read session "a" from", that has failed; nil and redis.ErrNil stay.
	Explain(ctx context.Context, op string, err error) error
	// Key returns the name of a key for a kind of things.
	Key(kind, name string) string
	// String names the server, without user and password.
	String() string
}

// Options are settings of a saver on somebody else's server.
type Options struct {
	// TTL is how long a thread is kept after it was last written; 0 keeps threads for ever.
	TTL time.Duration
	// RefreshOnRead starts the TTL anew also when a thread is read.
	RefreshOnRead bool
}

// On returns a saver on a server. Closing the saver does nothing.
func On(server Server, o Options) *Saver {
	s := &Saver{server: server, onRead: o.RefreshOnRead, close: func() error { return nil }}
	if o.TTL > 0 {
		s.ttl = max(o.TTL.Milliseconds(), 1) // 0 would mean for ever
	}
	return s
}

const (
	// timeout bounds dialling, writing and reading, each.
	timeout = 2 * time.Second
	// connections bounds those to the server.
	connections = 32
	// idle is the time after which an unused connection is closed.
	idle = 5 * time.Minute
	// tries is how often a command is sent whose connection breaks.
	tries = 3
)

// Open connects to the server of a URL such as redis://user:password@host:6379/0 or rediss:// for TLS, and asks it once. Its keys begin with
// "graph:", and it keeps all threads. No error has the password.
func Open(ctx context.Context, address string) (*Saver, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Host == "" { // the error's text may have the password
		return nil, errors.New("connect to Redis: its URL cannot be read: write redis://user:password@host:6379/0")
	}
	password, _ := u.User.Password()
	c := &client{name: u.Scheme + "://" + u.Host + u.Path, password: password}
	c.pool = &redis.Pool{
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialURLContext(ctx, address,
				redis.DialConnectTimeout(timeout), redis.DialReadTimeout(timeout), redis.DialWriteTimeout(timeout))
		},
		TestOnBorrow: func(_ redis.Conn, used time.Time) error {
			if used.UnixNano() <= c.broke.Load() {
				return errors.New("unused since before a connection broke")
			}
			return nil
		},
		MaxActive: connections, MaxIdle: connections, Wait: true, IdleTimeout: idle,
	}
	s := On(c, Options{})
	s.close = c.pool.Close
	if _, err := c.Command(ctx, "PING"); err != nil {
		return nil, errors.Join(c.Explain(ctx, "connect to", err), s.Close())
	}
	return s, nil
}

// Close ends the connections that Open has made. The data stays.
func (s *Saver) Close() error { return s.close() }

// client is the Server that Open makes.
type client struct {
	pool           *redis.Pool
	name, password string
	broke          atomic.Int64 // when a connection last broke, in nanoseconds since 1970
}

// Command implements Server.
func (c *client) Command(ctx context.Context, name string, args ...any) (any, error) {
	return c.do(ctx, func(conn redis.Conn) (any, error) { return redis.DoContext(conn, ctx, name, args...) })
}

// Run implements Server.
func (c *client) Run(ctx context.Context, script *redis.Script, key string, args ...any) (any, error) {
	return c.do(ctx, func(conn redis.Conn) (any, error) { return script.DoContext(ctx, conn, append([]any{key}, args...)...) })
}

// do does something over a connection, and over others while connections break.
func (c *client) do(ctx context.Context, do func(redis.Conn) (any, error)) (reply any, err error) {
	for range tries {
		if reply, err = c.once(ctx, do); err == nil || ctx.Err() != nil || errors.Is(err, redis.ErrNil) {
			return reply, err
		}
		if _, answered := errors.AsType[redis.Error](err); answered {
			return reply, err
		}
		c.broke.Store(time.Now().UnixNano())
	}
	return reply, err
}

func (c *client) once(ctx context.Context, do func(redis.Conn) (any, error)) (reply any, err error) {
	conn, err := c.pool.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // whose error is that of the command once more
	return do(conn)
}

// Explain implements Server.
func (c *client) Explain(ctx context.Context, op string, err error) error {
	switch {
	case err == nil || errors.Is(err, redis.ErrNil):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s %s: %w", op, c.name, ctx.Err())
	case c.password != "" && strings.Contains(err.Error(), c.password): // a server quotes a command that it does not know
		return fmt.Errorf("%s %s: the server has refused it", op, c.name)
	}
	return fmt.Errorf("%s %s: %w", op, c.name, err)
}

// Key implements Server. The braces keep all keys of a thread on one node of a cluster.
func (c *client) Key(kind, name string) string { return "graph:" + kind + ":{" + name + "}" }

// String implements Server.
func (c *client) String() string { return c.name }
