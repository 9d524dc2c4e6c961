// Package redis keeps the threads of graphs on a Redis server that several processes share.
package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rehearse-dev/rehearse/graph"
)

// Saver keeps threads as one key each. It is safe for concurrent use. Make it with Open or On.
type Saver struct {
	client  *redis.Client
	options Options
	ttl     int64 // milliseconds; 0 is for ever
	owned   bool  // Close closes the client
}

var (
	_ graph.Checkpointer = (*Saver)(nil)
	_ graph.StepSaver    = (*Saver)(nil)
	_ graph.Peeker       = (*Saver)(nil)
	_ graph.Compactor    = (*Saver)(nil)
)

// Options are settings of a saver. The zero value is ready to use.
type Options struct {
	// TTL is how long a thread is kept after it was last written; 0 keeps threads for ever.
	TTL time.Duration
	// RefreshOnRead starts the TTL anew also when a thread is read.
	RefreshOnRead bool
	// KeyPrefix begins the name of every key; "" means "graph:".
	KeyPrefix string
	// Server names the server in errors, without user and password; "" means its address.
	Server string
	// Explain returns the error of an operation, such as `read session "a" from`, whose command has ended with err. It
	// is called with nil as well, for which it returns nil. By default, errors have the operation, the server and the
	// cause, without the password.
	Explain func(ctx context.Context, op string, err error) error
}

// On returns a saver on the client of the caller, who closes it. The client may send a script again when the answer was
// lost.
func On(client *redis.Client, o Options) *Saver {
	s := &Saver{client: client, options: o}
	s.options.KeyPrefix = cmp.Or(o.KeyPrefix, "graph:")
	s.options.Server = cmp.Or(o.Server, client.String())
	if o.Explain == nil {
		s.options.Explain = s.explain
	}
	if o.TTL > 0 {
		s.ttl = max(o.TTL.Milliseconds(), 1) // 0 would mean for ever
	}
	return s
}

// timeout bounds connecting, writing and reading, each, unless the URL has other settings.
const timeout = 2 * time.Second

// ParseURL returns the client options of a URL, as redis.ParseURL defines it: redis://user:password@host:6379/0,
// rediss:// for TLS or unix:///path, with settings such as ?pool_size=50. What the URL leaves open is set so that a
// call fails within seconds while the server is away. The error does not quote the URL.
func ParseURL(address string) (*redis.Options, error) {
	o, err := redis.ParseURL(address)
	if err != nil || o.DB < 0 || o.PoolSize < 0 { // the error's text may have the password
		return nil, errors.New("invalid Redis URL")
	}
	o.ContextTimeoutEnabled = true
	o.DialTimeout = cmp.Or(o.DialTimeout, timeout)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, timeout)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, timeout)
	o.PoolTimeout = cmp.Or(o.PoolTimeout, timeout)
	// a command takes well below a millisecond, so these serve thousands of sessions
	o.PoolSize = cmp.Or(o.PoolSize, 32)
	o.MaxRetries = cmp.Or(o.MaxRetries, 2)
	o.DialerRetries = 1 // a command is retried as a whole
	// The time after which an unused connection is closed is less than the timeouts of common servers and proxies.
	o.ConnMaxIdleTime = cmp.Or(o.ConnMaxIdleTime, 5*time.Minute)
	// A user of the server needs no permissions but for what is stored.
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}

// Open connects to the server of a URL that ParseURL accepts, and pings it. The saver's keys begin with "graph:", and
// it keeps all threads. No error has the password.
func Open(ctx context.Context, address string) (*Saver, error) {
	o, err := ParseURL(address)
	if err != nil {
		return nil, fmt.Errorf("connect to Redis: %w (write it as redis://user:password@host:6379/0)", err)
	}
	s := On(redis.NewClient(o), Options{})
	s.owned = true
	if err := s.client.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(s.explain(ctx, "connect to", err), s.Close())
	}
	return s, nil
}

// Close ends the connections that Open has made. The data stays.
func (s *Saver) Close() error {
	if !s.owned {
		return nil
	}
	return s.client.Close()
}

// explain is the default of Options.Explain.
func (s *Saver) explain(ctx context.Context, op string, err error) error {
	switch password := s.client.Options().Password; {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s %s: %w", op, s.options.Server, ctx.Err())
	case password != "" && strings.Contains(err.Error(), password):
		// a server quotes a command that it does not support
		return fmt.Errorf("%s %s: the server has refused it", op, s.options.Server)
	}
	return fmt.Errorf("%s %s: %w", op, s.options.Server, err)
}

// run runs a script on the key of a thread.
func (s *Saver) run(ctx context.Context, script *redis.Script, thread string, args ...any) *redis.Cmd {
	return script.Run(ctx, s.client, []string{s.key(thread)}, args...)
}

// key is the name of a thread's key. The braces keep all keys of a thread on one node of a cluster.
func (s *Saver) key(thread string) string { return s.options.KeyPrefix + "session:{" + thread + "}" }

// claimKey is the name of the key of a claim, which has a time to live of its own.
func (s *Saver) claimKey(thread string) string { return s.options.KeyPrefix + "claim:{" + thread + "}" }
