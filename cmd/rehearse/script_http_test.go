package main

import (
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// listening waits for the line that a server prints.
func listening(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: listening FILE")
	}
	for range 6000 { // a minute
		said, err := os.ReadFile(ts.MkAbs(args[0]))
		if address, ok := strings.CutPrefix(string(said), "listening on "); err == nil && ok && strings.HasSuffix(address, "\n") {
			address, _, _ = strings.Cut(address, "\n")
			ts.Setenv("SERVER", address)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("no server wrote its address to %s", args[0])
}

// call sends a request and prints the body of the answer. $LOCATION becomes where its answer says that something is.
func call(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: http STATUS METHOD URL [FILE] [NAME:VALUE…]")
	}
	var body io.Reader
	headers := args[3:]
	if len(headers) > 0 && !strings.Contains(headers[0], ":") {
		body = strings.NewReader(ts.ReadFile(headers[0]))
		headers = headers[1:]
	}
	request, err := http.NewRequest(args[1], args[2], body)
	ts.Check(err)
	request.Header.Set("Content-Type", "application/json")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ":")
		request.Header.Set(name, value)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	response, err := client.Do(request)
	ts.Check(err)
	defer func() { _ = response.Body.Close() }()
	if at := response.Header.Get("Location"); at != "" {
		ts.Setenv("LOCATION", at)
	}
	answer, err := io.ReadAll(response.Body)
	ts.Check(err)
	_, err = ts.Stdout().Write(answer)
	ts.Check(err)
	if status := strconv.Itoa(response.StatusCode); status != args[0] {
		ts.Fatalf("status %s, want %s: %s", status, args[0], answer)
	}
}
