package redis_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

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
		graphtest.RunCheckpointer(t, func(t *testing.T) graph.Checkpointer { return open(t, "redis://"+miniredis.RunT(t).Addr()) })
	})
	t.Run("redis-server", func(t *testing.T) {
		if os.Getenv("REHEARSE_TEST_REDIS") != "" {
			t.Skip("the server is not this test's alone")
		}
		url := servertest.Redis(t)
		graphtest.RunCheckpointer(t, func(t *testing.T) graph.Checkpointer { return open(t, url+fmt.Sprintf("/%d", freeDatabase(t, url))) })
	})
}

func TestLives(t *testing.T) {
	t.Run("miniredis", func(t *testing.T) {
		graphtest.RunLives(t, func(t *testing.T) graphtest.Saver { return open(t, "redis://"+miniredis.RunT(t).Addr()) })
	})
	t.Run("redis-server", func(t *testing.T) {
		graphtest.RunLives(t, func(t *testing.T) graphtest.Saver {
			return open(t, servertest.Redis(t)+"?key_prefix="+rand.Text())
		})
	})
}

// databases counts those that tests have used; a server has 16, and each is emptied before it is used.
var databases int

func freeDatabase(t *testing.T, url string) int {
	t.Helper()
	databases = databases%15 + 1
	empty(t, fmt.Sprintf("%s/%d", url, databases))
	return databases
}

func TestOpenRefuses(t *testing.T) {
	secret := rand.Text()
	for _, url := range []string{"", "localhost:6379", "sqlite:a.db", "redis://", "redis://:" + secret + "@127.0.0.1:1/0", "redis://:" + secret + "@%zz"} {
		s, err := redis.Open(t.Context(), url)
		if err == nil {
			t.Errorf("%q was opened", url)
			_ = s.Close()
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("the error has the password: %v", err)
		}
	}
}
