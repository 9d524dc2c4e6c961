package servertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// RedisServer is a Redis server that listens on this machine only and keeps its data in a file.
type RedisServer struct {
	program, dir, port string
	process            *exec.Cmd
}

// NewRedis starts a server of a test's own, and ends it with the test.
func NewRedis(t testing.TB) *RedisServer {
	t.Helper()
	s, err := startRedis()
	require(t, err)
	t.Cleanup(s.end)
	return s
}

func startRedis() (*RedisServer, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("redis-server %w", errNotInstalled)
	}
	s := &RedisServer{program: program}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "rehearse-redis"); err != nil {
		return nil, err
	}
	if err := s.start(); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// URL returns the address of the server.
func (s *RedisServer) URL() string { return "redis://127.0.0.1:" + s.port }

// Start starts a server again that was killed, with the data that it had, and waits until it answers.
func (s *RedisServer) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

func (s *RedisServer) start() error {
	log := filepath.Join(s.dir, "log")
	// By default, Redis answers before its file is written while the disk is slow: what it had promised is lost with
	// it.
	process := exec.Command(s.program, //nolint:noctx // end ends it
		"--bind", "127.0.0.1", "--port", s.port, "--dir", s.dir,
		"--appendonly", "yes", "--appendfsync", "always", "--save", "", "--logfile", log)
	if err := process.Start(); err != nil {
		return err
	}
	s.process = process
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + s.port, MaxRetries: -1})
	defer func() { _ = client.Close() }()
	return await("redis-server", log, func() error { return client.Ping(context.Background()).Err() })
}

// Kill ends the server as kill -9 does.
func (s *RedisServer) Kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// end ends the server and removes its folder.
func (s *RedisServer) end() {
	if s.process != nil {
		s.Kill()
	}
	_ = os.RemoveAll(s.dir)
}

// Miniredis returns a Redis server within the process whose time passes, so that keys expire.
func Miniredis(t testing.TB) *miniredis.Miniredis {
	t.Helper()
	m := miniredis.RunT(t)
	const step = 10 * time.Millisecond
	ticker, ended := time.NewTicker(step), make(chan struct{})
	t.Cleanup(func() { ticker.Stop(); close(ended) })
	go func() {
		for {
			select {
			case <-ticker.C:
				m.FastForward(step)
			case <-ended:
				return
			}
		}
	}()
	return m
}
