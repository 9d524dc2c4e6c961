package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
)

// bare is the floor: a Go program that sends the same requests, as many at once, and does nothing else: no suite is
// read, nothing is graded, nothing is written. What a measured program takes beyond it is its own; the rest is the
// machine, the network and the endpoint.
type bare struct{ url string }

func (b *bare) write(_ context.Context, _ string, _ workload, url string) error {
	b.url = url
	return nil
}

func (b *bare) command(_, dir string, w workload) program {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	args := []string{"-bare", b.url + "/v1/chat/completions"}
	for _, n := range []int{w.conversations, w.turns, w.calls()} {
		args = append(args, strconv.Itoa(n))
	}
	return program{dir: dir, name: self, args: args}
}

func (b *bare) check(_ string, _ workload, exit int) error {
	if exit != 0 {
		return exitError(exit)
	}
	return nil
}

// holdBare holds conversations as the arguments say: how many, of how many turns, with how many calls.
func holdBare(ctx context.Context, url string, args []string) error {
	var n [3]int
	for i := range n {
		if len(args) <= i {
			return errors.New("-bare needs conversations, turns and calls")
		}
		var err error
		if n[i], err = strconv.Atoi(args[i]); err != nil {
			return err
		}
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: inFlight}}
	todo := make(chan int)
	failed := make(chan error, inFlight)
	var workers sync.WaitGroup
	for range inFlight {
		workers.Go(func() {
			for i := range todo {
				if err := converseBare(ctx, client, url, i, n[1], n[2]/n[1]); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	var err error
	for i := 1; i <= n[0] && err == nil; i++ {
		select {
		case todo <- i:
		case err = <-failed:
		}
	}
	close(todo)
	workers.Wait()
	return err
}

// converseBare asks so many times for each turn: for the reply and, if more, for verdicts.
func converseBare(ctx context.Context, client *http.Client, url string, i, turns, perTurn int) error {
	history := []message{{"system", systemPrompt}}
	for j := 1; j <= turns; j++ {
		history = append(history, message{"user", said(i, j)})
		for range perTurn {
			if err := askBare(ctx, client, url, history); err != nil {
				return err
			}
		}
		history = append(history, message{"assistant", said(i, j)})
	}
	return nil
}

func askBare(ctx context.Context, client *http.Client, url string, history []message) error {
	body, err := json.Marshal(map[string]any{"model": "echo", "messages": history})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
