package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// dial opens a WebSocket to the test endpoint.
func (d *desk) dial(header http.Header) (*websocket.Conn, *http.Response, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return websocket.Dial(ctx, d.url+"/internal/agent/test", &websocket.DialOptions{
		HTTPClient: d.client, HTTPHeader: header,
	})
}

func (d *desk) mustDial() *websocket.Conn {
	d.t.Helper()
	conn, _, err := d.dial(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	d.t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

func write(t testing.TB, conn *websocket.Conn, text string) {
	t.Helper()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// turnOf reads the events of one turn.
func turnOf(t testing.TB, conn *websocket.Conn) (events []heard) {
	t.Helper()
	for {
		kind, data, err := conn.Read(t.Context())
		if err != nil || kind != websocket.MessageText {
			t.Fatalf("%v %v", kind, err)
		}
		events = append(events, decoded[heard](t, string(data)))
		if last := events[len(events)-1]; last.Type == "complete" || last.Type == "error" {
			return events
		}
	}
}

func TestSocket(t *testing.T) {
	d := openDesk(t, llm.Lexical{})
	conn := d.mustDial()
	write(t, conn, executionContext("start", "hello", `"model":{"enable_tracing":true}`))
	if r := holdEvents(t, turnOf(t, conn)); *r.CurrentNodeID != "ask" || len(r.PromptSnapshot) == 0 {
		t.Errorf("result %+v", r)
	}
	for _, bad := range []string{"garbage", `{"flow":{}}`, strings.Repeat("[", 20_000), ""} {
		write(t, conn, bad)
		if e := turnOf(t, conn); len(e) != 1 || e[0].Status != 400 || e[0].Code != "invalid_context" ||
			e[0].Detail == "" {
			t.Errorf("%.20q: events %+v", bad, e)
		}
	}
	write(t, conn, executionContext("bye", "hello"))
	if e := turnOf(t, conn); e[0].Status != 409 || e[0].Code != "flow_already_completed" {
		t.Errorf("events %+v", e)
	}
	write(t, conn, executionContext("ask", "my order number is 17"))
	if r := holdEvents(t, turnOf(t, conn)); !r.FlowCompleted {
		t.Errorf("result %+v", r)
	}
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
}

func TestSocketCloses(t *testing.T) {
	d := openDesk(t, llm.Lexical{})
	for name, c := range map[string]struct {
		kind websocket.MessageType
		text string
		want websocket.StatusCode
	}{
		"binary": {websocket.MessageBinary, executionContext("start", "hello"), websocket.StatusUnsupportedData},
		"oversize": {
			websocket.MessageText, executionContext("start", strings.Repeat("x", 5<<20)), websocket.StatusMessageTooBig,
		},
	} {
		conn := d.mustDial()
		_ = conn.Write(t.Context(), c.kind, []byte(c.text)) // the server may hang up before it has everything
		if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != c.want &&
			!errors.As(err, new(interface{ Timeout() bool })) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSocketRefuses(t *testing.T) {
	d := openDesk(t, llm.Lexical{}, func(c *FlowsConfig) { c.MaxSockets = 1 })
	response, _ := d.do("GET", "/internal/agent/test", "")
	if response.StatusCode != http.StatusUpgradeRequired || response.Header.Get("Upgrade") != "websocket" {
		t.Errorf("%d %v", response.StatusCode, response.Header)
	}
	if _, response, err := d.dial(http.Header{"Origin": {"https://elsewhere.example"}}); err == nil ||
		response.StatusCode != http.StatusForbidden {
		t.Errorf("another site: %v", err)
	}
	_ = d.mustDial()
	if _, response, err := d.dial(nil); err == nil || response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a second socket: %v", err)
	}
}

func TestSocketClientGoesAway(t *testing.T) {
	begun, ended := make(chan bool), make(chan error, 1)
	d := openDesk(t, modelFunc(func(ctx context.Context, r llm.Request) (chat.Reply, error) {
		close(begun)
		_, err := hang(ctx, r)
		ended <- err
		return chat.Reply{}, err
	}))
	conn := d.mustDial()
	for range 3 { // one is taken, one waits, one is refused
		write(t, conn, executionContext("start", "hello"))
		if begun != nil {
			<-begun
			begun = nil
		}
	}
	if e := turnOf(t, conn); e[0].Status != http.StatusTooManyRequests {
		t.Errorf("events %+v", e)
	}
	_ = conn.CloseNow()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the turn ended with %v", err)
	}
}

// A server that stops lets the turn of a socket finish, and says goodbye.
func TestSocketDrain(t *testing.T) {
	begun, more := make(chan bool), make(chan bool)
	d := openDesk(t, modelFunc(func(ctx context.Context, r llm.Request) (chat.Reply, error) {
		if r.ToolChoice != "" && r.ToolChoice != "auto" {
			begun <- true
			<-more
		}
		return llm.Lexical{}.Generate(ctx, r)
	}))
	conn := d.mustDial()
	write(t, conn, executionContext("start", "hello"))
	<-begun
	drained := make(chan error, 1)
	go func() { drained <- d.flows.Drain(t.Context()) }()
	close(more)
	holdEvents(t, turnOf(t, conn))
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the socket ended with %v", err)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

func TestSocketIdle(t *testing.T) {
	d := openDesk(t, llm.Lexical{}, func(c *FlowsConfig) { c.Idle = time.Millisecond })
	if _, _, err := d.mustDial().Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("the socket ended with %v", err)
	}
}
