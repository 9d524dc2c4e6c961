package api

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
)

// A body that does not arrive in time is refused. An empty 200 would tell the sender of a blob that it is there.
func TestSlowBodiesAreRefused(t *testing.T) {
	s := NewRuns(RunsConfig{})
	listening := httptest.NewUnstartedServer(Front(s.table().handler(), FrontConfig{}))
	listening.Config.ReadTimeout = 100 * time.Millisecond
	listening.Start()
	defer listening.Close()
	for _, request := range []string{
		"POST /api/v1/runs", "POST /api/v1/suites/validate", "PUT /api/v1/blobs/" + strings.Repeat("0", 64),
		"POST /api/v1/schedules",
	} {
		conn, err := net.Dial("tcp", listening.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(conn, request+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		if answer.StatusCode != http.StatusRequestTimeout || !strings.Contains(string(body), `"code":"body_timeout"`) {
			t.Errorf("%s: %s %s", request, answer.Status, body)
		}
		_ = answer.Body.Close()
		_ = conn.Close()
	}
}

// waitingKeeper deletes no token before its request has ended.
type waitingKeeper struct{ access.TokenStore }

func (waitingKeeper) DeleteToken(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

// A request that ends before it is served gets no answer rather than an empty 200.
func TestEndedRequestsAreNotAnswered(t *testing.T) {
	tokens := NewTokens(TokensConfig{Tokens: waitingKeeper{}, Access: access.New(access.Config{})})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	defer func() {
		if fault := recover(); fault != http.ErrAbortHandler { //nolint:errorlint // it is the value itself
			t.Errorf("the request ended with %v", fault)
		}
	}()
	request := httptest.NewRequestWithContext(ctx, http.MethodDelete, "http://127.0.0.1/api/v1/tokens/ci", nil)
	request.RemoteAddr = "127.0.0.1:1"
	Front(tokens.table().handler(), FrontConfig{}).ServeHTTP(httptest.NewRecorder(), request)
}
