package store_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
)

const secret = "s3cr3t"

func TestOpenRedisSaysWhatIsWrong(t *testing.T) {
	guarded := miniredis.RunT(t)
	guarded.RequireAuth("another")
	old := miniredis.RunT(t)
	old.SetError("ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'default' '" + secret + "'")
	loading := miniredis.RunT(t)
	loading.SetError("LOADING Redis is loading the dataset in memory")
	for _, tc := range []struct{ name, url, want string }{
		{
			"nothing listens", "redis://:" + secret + "@127.0.0.1:" + servertest.FreePort(t) + "/2",
			"/2: nothing listens there; start the server or correct the URL",
		},
		{
			"nothing listens for TLS", "rediss://127.0.0.1:" + servertest.FreePort(t),
			"connect to Redis rediss://127.0.0.1:",
		},
		{
			"no such socket", "unix:///nowhere/redis.sock",
			"connect to Redis unix:///nowhere/redis.sock: nothing listens there",
		},
		{"no password", "redis://" + guarded.Addr(), "it wants a password; put it into the URL"},
		{
			"wrong password", "redis://:" + secret + "@" + guarded.Addr(),
			"it refused the user or the password; correct them in the URL",
		},
		{"a server that quotes the password", "redis://:" + secret + "@" + old.Addr(), "***"},
		{"loading", "redis://" + loading.Addr(), "it is still loading its data; try again in a moment"},
		{
			"silent", "redis://" + silent(t) + "?read_timeout=50ms&max_retries=-1",
			"it did not answer in time; see whether",
		},
		{"another scheme", "http://:" + secret + "@host", "write it as redis://user:password@host:6379/0"},
		{"no scheme", ":" + secret + "@host:6379", "write it as redis://user:password@host:6379/0"},
		{
			"a password with odd characters", "redis://:1#" + secret + "%@host",
			"with % escapes for special characters in the password",
		},
		{
			"a password with a slash", "redis://:1/" + secret + "@host",
			"with % escapes for special characters in the password",
		},
		{
			"an unknown setting", "redis://host?" + secret + "=1",
			"connect to Redis: invalid Redis URL; write it as redis://",
		},
	} {
		r, err := store.OpenRedis(t.Context(), tc.url, store.RedisOptions{})
		if err == nil {
			r.Close()
			t.Errorf("%s: no error", tc.name)
			continue
		}
		if text := err.Error(); !strings.Contains(text, tc.want) || strings.Contains(text, secret) ||
			strings.Contains(text, "\n") {
			t.Errorf("%s: error %q, want one line with %q and without the password", tc.name, text, tc.want)
		}
	}
}

// silent is the address of a server that takes connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func TestRedisSaysWhatIsWrong(t *testing.T) {
	m := miniredis.RunT(t)
	r, err := store.OpenRedis(t.Context(), "redis://"+m.Addr(), store.RedisOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := m.Set("rehearse:session:{taken}", "by another"); err != nil {
		t.Fatal(err)
	}
	_, err = r.Load(t.Context(), "taken", "")
	if err == nil ||
		!strings.Contains(err.Error(), "another program uses a key of this name; choose another key prefix") {
		t.Errorf("Load of a key of another program: %v", err)
	}
	if r.Healthy() != nil {
		t.Errorf("an error reply makes the server ill: %v", r.Healthy())
	}
	for reply, want := range map[string]string{
		"OOM command not allowed when used memory > 'maxmemory'.": "its memory is full; raise maxmemory",
		"READONLY You can't write against a read only replica.": "it is a replica, which takes no writes; " +
			"name the primary",
		"MISCONF Redis is configured to save RDB snapshots":    "it cannot write to its disk",
		"NOPERM this user has no permissions to run 'evalsha'": "the user may not do that (NOPERM",
		"MOVED 1234 10.0.0.1:6379":                             "it is one node of a cluster",
		"ERR something new":                                    "it answered: ERR something new",
	} {
		m.SetError(reply)
		err := r.Save(t.Context(), "thread", graph.Record{ID: "1"})
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), `save session "thread" in Redis redis://127.0.0.1:`) {
			t.Errorf("%s: %v, want %q", reply, err, want)
		}
	}
}

func TestRedisHealth(t *testing.T) {
	m := miniredis.RunT(t)
	r := openRedis(t, "redis://"+m.Addr(), store.RedisOptions{HealthEvery: 5 * time.Millisecond})
	if err := r.Healthy(); err != nil {
		t.Fatal(err)
	}
	m.Close()
	eventually(t, "the server is found to be away", func() bool { return r.Healthy() != nil })
	if text := r.Healthy().Error(); !strings.Contains(text, "ping Redis redis://127.0.0.1:") ||
		!strings.Contains(text, "nothing listens there") {
		t.Errorf("Healthy: %s", text)
	}
	if err := m.Restart(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server is found to be back", func() bool { return r.Healthy() == nil })
}

// A call tells the health as well, long before the next look.
func TestRedisHealthOfCalls(t *testing.T) {
	m := miniredis.RunT(t)
	r := openRedis(t, "redis://"+m.Addr(), store.RedisOptions{})
	m.Close()
	if _, err := r.List(t.Context(), "thread"); err == nil || r.Healthy() == nil {
		t.Errorf("List: %v, Healthy: %v; want errors", err, r.Healthy())
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := m.Restart(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.List(ctx, "thread"); err != nil || r.Healthy() != nil {
		t.Errorf("List: %v, Healthy: %v; want none", err, r.Healthy())
	}
	cancel()
	if _, err := r.List(ctx, "thread"); err == nil || r.Healthy() != nil {
		t.Errorf("a caller who gives up makes the server ill: %v, %v", err, r.Healthy())
	}
}

func TestRedisClosed(t *testing.T) {
	m := miniredis.RunT(t)
	r, err := store.OpenRedis(t.Context(), "redis://"+m.Addr(), store.RedisOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if err := r.Save(t.Context(), "thread", graph.Record{ID: "1"}); err == nil ||
		!strings.Contains(err.Error(), "the connection is closed") {
		t.Errorf("Save after Close: %v", err)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("%s: not within 20 s", what)
}
