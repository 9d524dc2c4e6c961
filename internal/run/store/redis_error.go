package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// explain makes an Error of an error of Redis. It also reports the health of the server; an answer of any kind proves it.
func (r *Redis) explain(ctx context.Context, op string, err error) error {
	if err == nil || errors.Is(err, redis.ErrNil) {
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

// diagnoseRedis says what is wrong and what to do; answered is whether the server answered.
func diagnoseRedis(err error) (problem, hint string, answered bool) {
	if _, ok := errors.AsType[redis.Error](err); ok {
		problem, hint = diagnoseReply(err)
		return problem, hint, true
	}
	switch {
	case errors.Is(err, errRedisClosed):
		return "the connection is closed", "", true
	case errors.Is(err, errRedisBusy):
		return "all connections stayed busy", "the server is too slow for so many sessions: add ?pool_size=100 to the URL or a faster server", false
	}
	if problem, hint, ok := diagnoseNetwork(err); ok {
		return problem, hint, false
	}
	return err.Error(), "see whether the server runs and the URL is right (rediss:// for TLS)", false
}

// diagnoseReply says what an error reply means.
func diagnoseReply(err error) (problem, hint string) {
	switch text := err.Error(); {
	case strings.HasPrefix(text, "NOAUTH"):
		return "it wants a password", "put it into the URL: redis://:password@host:6379/0"
	case strings.HasPrefix(text, "WRONGPASS"), strings.Contains(text, "AUTH"):
		return "it refused the user or the password", "correct them in the URL"
	case strings.HasPrefix(text, "NOPERM"):
		return "the user may not do that (" + text + ")", "allow the user eval, evalsha, scan, ping, pexpire, unlink and the commands of hashes and strings"
	case strings.HasPrefix(text, "LOADING"):
		return "it is still loading its data", "try again in a moment"
	case strings.HasPrefix(text, "READONLY"):
		return "it is a replica, which takes no writes", "name the primary in the URL"
	case strings.HasPrefix(text, "OOM"):
		return "its memory is full", "raise maxmemory, shorten the TTL or let it evict (maxmemory-policy volatile-ttl)"
	case strings.HasPrefix(text, "ERR max number of clients"):
		return "it has too many clients", "raise maxclients or lower ?pool_size in the URL"
	case strings.HasPrefix(text, "MISCONF"):
		return "it cannot write to its disk and refuses writes", "see its log"
	case strings.HasPrefix(text, "MOVED"), strings.HasPrefix(text, "ASK "), strings.HasPrefix(text, "CLUSTERDOWN"):
		return "it is one node of a cluster", "name a single server or a proxy before the cluster"
	case strings.Contains(text, "WRONGTYPE"):
		return "another program uses a key of this name", "choose another key prefix"
	default:
		return "it answered: " + text, ""
	}
}
