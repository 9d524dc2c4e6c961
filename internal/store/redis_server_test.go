package store_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rehearse/internal/store"
)

const (
	// redisEnv names a server for tests that do not end it.
	redisEnv = "REHEARSE_TEST_REDIS"
	// completeEnv makes a test fail that would be skipped because something is not installed.
	completeEnv = "REHEARSE_TEST_COMPLETE"
)

// redisServer is a Redis server of a test's own, in a folder of its own.
type redisServer struct {
	program, dir, port string
	process            *exec.Cmd
}

// realRedis returns the URL of a real server: the one that the environment names, else one of the test's own.
func realRedis(t testing.TB) string {
	if url := os.Getenv(redisEnv); url != "" {
		return url
	}
	return startRedis(t).url()
}

// startRedis starts a server that keeps its data in a file, and ends it with the test.
func startRedis(t testing.TB) *redisServer {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv(completeEnv) != "" {
			t.Fatal("redis-server is not installed")
		}
		t.Skip("redis-server is not installed; ./test.sh installs it")
	}
	s := &redisServer{program: program, dir: t.TempDir(), port: freePort(t)}
	s.start(t)
	t.Cleanup(s.kill)
	return s
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func (s *redisServer) url() string { return "redis://127.0.0.1:" + s.port }

// start starts the server with what is in its folder and waits until it answers.
func (s *redisServer) start(t testing.TB) {
	t.Helper()
	s.process = exec.Command(s.program, "--bind", "127.0.0.1", "--port", s.port, "--dir", s.dir,
		"--appendonly", "yes", "--save", "", "--logfile", filepath.Join(s.dir, "log"))
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	var err error
	for range 1000 {
		var r *store.Redis
		if r, err = store.OpenRedis(t.Context(), s.url()+"?max_retries=-1", store.RedisOptions{}); err == nil {
			r.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	t.Fatalf("redis-server does not answer: %v\n%s", err, log)
}

// kill ends the server as kill -9 does.
func (s *redisServer) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// openRedis opens a Redis with keys of its own, which it deletes in the end; a server may be shared.
func openRedis(t testing.TB, url string, options store.RedisOptions) *store.Redis {
	t.Helper()
	options.KeyPrefix = fmt.Sprintf("test-%s:", rand.Text())
	r, err := store.OpenRedis(t.Context(), url, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		deleteKeys(t, url, options.KeyPrefix)
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

func deleteKeys(t testing.TB, url, prefix string) {
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Error(err)
		return
	}
	client := redis.NewClient(options)
	defer client.Close()
	ctx := context.Background()
	for keys := client.Scan(ctx, 0, prefix+"*", 1000).Iterator(); keys.Next(ctx); {
		client.Unlink(ctx, keys.Val())
	}
}
