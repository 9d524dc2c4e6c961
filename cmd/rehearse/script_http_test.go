package main

import (
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rehearse-dev/rehearse/internal/web/api/apitest"
)

// describedAnswers knows what answers the API has, by its own document.
var describedAnswers = sync.OnceValues(apitest.New)

// listening waits for the line that a server prints.
func listening(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: listening FILE")
	}
	for range 6000 { // a minute
		said, err := os.ReadFile(ts.MkAbs(args[0]))
		if address, ok := strings.CutPrefix(string(said), "listening on "); err == nil && ok &&
			strings.HasSuffix(address, "\n") {
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
	status, answer := ask(ts, args[1:])
	_, err := ts.Stdout().Write(answer)
	ts.Check(err)
	if status != args[0] {
		ts.Fatalf("status %s, want %s: %s", status, args[0], answer)
	}
}

// becomes sends a request until its answer has the status.
func becomes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: becomes STATUS METHOD URL [FILE] [NAME:VALUE…]")
	}
	for range 600 { // a minute
		if status, _ := ask(ts, args[1:]); status == args[0] {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	ts.Fatalf("the answer never had the status %s", args[0])
}

// ask sends a request METHOD URL [FILE] [NAME:VALUE…]. Of @FILE in a value, the content of the file is sent.
func ask(ts *testscript.TestScript, args []string) (status string, answer []byte) {
	var body io.Reader
	headers := args[2:]
	if len(headers) > 0 && !strings.Contains(headers[0], ":") {
		body = strings.NewReader(ts.ReadFile(headers[0]))
		headers = headers[1:]
	}
	request, err := http.NewRequest(args[0], args[1], body)
	ts.Check(err)
	request.Header.Set("Content-Type", "application/json")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ":")
		if before, file, ok := strings.Cut(value, "@"); ok {
			value = before + strings.TrimSpace(ts.ReadFile(file))
		}
		request.Header.Set(name, value)
		if name == "Host" {
			request.Host = value
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	response, err := client.Do(request)
	ts.Check(err)
	defer func() { _ = response.Body.Close() }()
	if at := response.Header.Get("Location"); at != "" {
		ts.Setenv("LOCATION", at)
	}
	answer, err = io.ReadAll(response.Body)
	ts.Check(err)
	// those of the mock
	if server := ts.Getenv("SERVER"); server != "" && strings.HasPrefix(args[1], server+"/") &&
		!strings.HasPrefix(request.URL.Path, "/v1/") {
		documented, err := describedAnswers()
		ts.Check(err)
		ts.Check(documented.Check(args[0], request.URL.Path, response.StatusCode, response.Header, answer))
	}
	return strconv.Itoa(response.StatusCode), answer
}
