package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// RedisError says in one sentence what could not be done with a Redis server, and what to do about it.
// It never has the password.
type RedisError struct {
	Op, Server    string
	Problem, Hint string
	Err           error
}

// Error returns the sentence.
func (e *RedisError) Error() string {
	s := fmt.Sprintf("%s Redis %s: %s", e.Op, e.Server, e.Problem)
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap returns the cause.
func (e *RedisError) Unwrap() error { return e.Err }

// redisPlace is the server as errors name it.
type redisPlace struct {
	url      string // without user, password and settings
	password string // to be kept out of what the server says
}

func serverName(o *redis.Options) string {
	switch {
	case o.Network == "unix":
		return "unix://" + o.Addr
	case o.TLSConfig != nil:
		return "rediss://" + o.Addr + "/" + strconv.Itoa(o.DB)
	}
	return "redis://" + o.Addr + "/" + strconv.Itoa(o.DB)
}

// explain makes a RedisError of what went wrong and tells the health of the server, which an answer of any kind proves.
func (r *Redis) explain(ctx context.Context, op string, err error) error {
	if err == nil || errors.Is(err, redis.Nil) {
		r.health.report(nil)
		return err
	}
	if ctx.Err() != nil { // the caller's haste, not the server's fault
		return fmt.Errorf("%s Redis %s: %w", op, r.place.url, ctx.Err())
	}
	e := &RedisError{Op: op, Server: r.place.url, Err: r.place.hide(err)}
	var answered bool
	e.Problem, e.Hint, answered = diagnoseRedis(e.Err)
	if answered {
		r.health.report(nil)
	} else {
		r.health.report(e)
	}
	return e
}

// hide takes the password out of an error: servers quote a command that they do not know, also that of logging in.
func (p redisPlace) hide(err error) error {
	if p.password == "" || !strings.Contains(err.Error(), p.password) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), p.password, "***"))
}

// diagnoseRedis says what is wrong and what to do; answered is whether the server answered.
func diagnoseRedis(err error) (problem, hint string, answered bool) {
	if _, ok := errors.AsType[redis.Error](err); ok {
		problem, hint = diagnoseReply(err)
		return problem, hint, true
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return "there is no host " + dns.Name, "correct the URL", false
	}
	timeout, _ := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, redis.ErrClosed):
		return "the connection is closed", "", true
	case errors.Is(err, redis.ErrPoolTimeout):
		return "all connections stayed busy", "the server is too slow for so many sessions: add ?pool_size=100 to the URL or a faster server", false
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return "nothing listens there", "start the server or correct the URL", false
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "it broke the connection", "see whether the server runs; the next call connects again", false
	case timeout != nil && timeout.Timeout(), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "it did not answer in time", "see whether the server is overloaded or a firewall is in between", false
	}
	return err.Error(), "see whether the server runs and the URL is right (rediss:// for TLS)", false
}

// diagnoseReply says what an error reply means.
func diagnoseReply(err error) (problem, hint string) {
	switch text := err.Error(); {
	case strings.HasPrefix(text, "NOAUTH"):
		return "it wants a password", "put it into the URL: redis://:password@host:6379/0"
	case redis.IsAuthError(err), strings.Contains(text, "AUTH"):
		return "it refused the user or the password", "correct them in the URL"
	case redis.IsPermissionError(err):
		return "the user may not do that (" + text + ")", "allow the user eval, the commands of lists and strings, scan and ping"
	case redis.IsLoadingError(err):
		return "it is still loading its data", "try again in a moment"
	case redis.IsReadOnlyError(err):
		return "it is a replica, which takes no writes", "name the primary in the URL"
	case redis.IsOOMError(err):
		return "its memory is full", "raise maxmemory, shorten the TTL or let it evict (maxmemory-policy volatile-ttl)"
	case redis.IsMaxClientsError(err):
		return "it has too many clients", "raise maxclients or lower ?pool_size in the URL"
	case strings.HasPrefix(text, "MISCONF"):
		return "it cannot write to its disk and refuses writes", "see its log"
	case strings.HasPrefix(text, "MOVED"), strings.HasPrefix(text, "ASK "), redis.IsClusterDownError(err):
		return "it is one node of a cluster", "name a single server or a proxy before the cluster"
	case strings.Contains(text, "WRONGTYPE"):
		return "another program uses a key of this name", "choose another key prefix"
	default:
		return "it answered: " + text, ""
	}
}
