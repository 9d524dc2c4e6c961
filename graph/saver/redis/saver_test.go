package redis_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	driver "github.com/redis/go-redis/v9"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/graph/graphtest"
	"github.com/rehearse-dev/rehearse/graph/saver/redis"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

func open(t *testing.T, url string) *redis.Saver {
	t.Helper()
	s, err := redis.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSaver(t *testing.T) {
	t.Run("miniredis", func(t *testing.T) {
		graphtest.RunCheckpointer(t, func(t *testing.T) graph.Checkpointer {
			return open(t, "redis://"+servertest.Miniredis(t).Addr())
		})
	})
	t.Run("redis-server", func(t *testing.T) {
		graphtest.RunCheckpointer(t, func(t *testing.T) graph.Checkpointer { return open(t, freeDatabase(t)) })
	})
}

func TestLives(t *testing.T) {
	t.Run("miniredis", func(t *testing.T) {
		graphtest.RunLives(t, func(t *testing.T) graphtest.Saver {
			return open(t, "redis://"+servertest.Miniredis(t).Addr())
		})
	})
	t.Run("redis-server", func(t *testing.T) {
		graphtest.RunLives(t, func(t *testing.T) graphtest.Saver { return open(t, freeDatabase(t)) })
	})
}

// databases counts those that tests have used; a server has 16, and each is emptied before it is used.
var databases int

// freeDatabase returns the URL of an empty database.
func freeDatabase(t *testing.T) string {
	t.Helper()
	if os.Getenv("REHEARSE_TEST_REDIS") != "" {
		t.Skip("the server is not this test's alone")
	}
	databases = databases%15 + 1
	url := fmt.Sprintf("%s/%d", servertest.Redis(t), databases)
	options, err := driver.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := driver.NewClient(options)
	defer client.Close()
	if err := client.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	return url
}

// TestParseURL checks the settings that a URL leaves open, and that no error quotes the URL.
func TestParseURL(t *testing.T) {
	o, err := redis.ParseURL("rediss://user:secret@h/3?pool_size=9&read_timeout=50ms&max_retries=-1&dial_timeout=3")
	if err != nil {
		t.Fatal(err)
	}
	if o.Addr != "h:6379" || o.Username != "user" || o.Password != "secret" || o.DB != 3 || o.TLSConfig == nil ||
		o.TLSConfig.ServerName != "h" || o.PoolSize != 9 || o.ReadTimeout != 50*time.Millisecond ||
		o.DialTimeout != 3*time.Second || o.WriteTimeout != 2*time.Second || o.MaxRetries != -1 {
		t.Errorf("settings %+v", o)
	}
	for _, url := range []string{
		"redis://h/secret", "redis://h/-1", "redis://h?pool_size=-1", "redis://h?read_timeout=secret",
		"redis://h?secret=1", "unix://", "h:6379", "http://:secret@h", "redis://:1#secret%@h",
	} {
		if _, err := redis.ParseURL(url); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v", url, err)
		}
	}
}

// replying makes every script return the same reply, as a proxy might.
type replying struct{ reply any }

func (*replying) DialHook(next driver.DialHook) driver.DialHook { return next }

func (*replying) ProcessPipelineHook(next driver.ProcessPipelineHook) driver.ProcessPipelineHook {
	return next
}

func (r *replying) ProcessHook(driver.ProcessHook) driver.ProcessHook {
	return func(_ context.Context, cmd driver.Cmder) error {
		cmd.(*driver.Cmd).SetVal(r.reply)
		return nil
	}
}

// TestUnexpectedReply checks that no reply of another kind looks like an empty thread or a saved record.
func TestUnexpectedReply(t *testing.T) {
	client := driver.NewClient(&driver.Options{Addr: miniredis.RunT(t).Addr()})
	defer client.Close()
	s, proxy := redis.On(client, redis.Options{}), &replying{}
	client.AddHook(proxy)
	for _, reply := range []any{int64(0), "QUEUED"} {
		proxy.reply = reply
		_, load := s.Load(t.Context(), "a", "")
		_, list := s.List(t.Context(), "a")
		_, steps := s.Steps(t.Context(), "a")
		for name, err := range map[string]error{
			"Load": load, "List": list, "Steps": steps,
			"Save":     s.Save(t.Context(), "a", graph.Record{ID: "1"}),
			"SaveStep": s.SaveStep(t.Context(), "a", graph.Step{}),
			"Compact":  s.Compact(t.Context(), "a", graph.Record{ID: "1"}),
		} {
			if err == nil || !strings.Contains(err.Error(), "session \"a\"") {
				t.Errorf("%s of %v: error %v", name, reply, err)
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	secret := rand.Text()
	for _, url := range []string{
		"", "localhost:6379", "sqlite:a.db", "redis://:" + secret + "@127.0.0.1:1/0", "redis://:" + secret + "@%zz",
	} {
		s, err := redis.Open(t.Context(), url)
		if err == nil {
			t.Errorf("%q was opened", url)
			_ = s.Close()
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("the error has the password: %v", err)
		}
	}
}
