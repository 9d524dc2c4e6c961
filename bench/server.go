package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// server is an endpoint in a process of its own, so that its CPU is not counted as that of the program that asks it.
type server struct {
	// URL is the address without a path; clients are given URL + "/v1".
	URL    string
	client http.Client
	stdin  io.Closer
	cmd    *exec.Cmd
}

// startServer starts this very program as an endpoint. Stop ends it.
func startServer(ctx context.Context, latency time.Duration) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-serve", "-latency", latency.String())
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{stdin: stdin, cmd: cmd}
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the endpoint did not start: %w", err), s.stop())
	}
	s.URL = strings.TrimSpace(address)
	return s, nil
}

func (s *server) stop() error {
	return errors.Join(s.stdin.Close(), s.cmd.Wait())
}

func (s *server) reset(ctx context.Context) error { return s.call(ctx, http.MethodPost, "/reset", nil) }

// stats returns what was served since the last reset.
func (s *server) stats(ctx context.Context) (got served, err error) {
	err = s.call(ctx, http.MethodGet, "/stats", &got)
	return got, err
}

func (s *server) call(ctx context.Context, method, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, http.NoBody)
	if err != nil {
		return err
	}
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if into == nil {
		return nil
	}
	return json.NewDecoder(res.Body).Decode(into)
}
