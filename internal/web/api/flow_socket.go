package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
)

// The interval of pings on an open WebSocket, and the time limit for its answers and for taking a message.
const (
	pingEvery   = 30 * time.Second
	pingTimeout = 10 * time.Second
)

// socket is GET /internal/agent/test with an upgrade to WebSocket: each text message is an ExecutionContext, answered
// with the events of a stream as text messages. Turns of one connection are taken one after the other.
func (s *Flows) socket(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		writeProblem(w, newProblem(http.StatusUpgradeRequired, codeUpgrade, "GET serves a WebSocket here",
			"open a WebSocket, or use POST with Accept: application/json or text/event-stream"))
		return
	}
	if s.stopped() || !s.sockets.enter() {
		writeProblem(w, newProblem(http.StatusServiceUnavailable, codeOverloaded, "too many WebSockets are open",
			"try again in a moment").
			after(time.Second))
		return
	}
	defer s.sockets.leave()
	conn, err := websocket.Accept(w, r, nil) // Accept refuses pages of other sites
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow() //nolint:errcheck // the other side has gone
	conn.SetReadLimit(maxContext)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	line := &socket{Flows: s, conn: conn, ids: idsOf(r), cancel: cancel, messages: make(chan []byte, 1)}
	var side sync.WaitGroup
	defer side.Wait()
	defer cancel()
	side.Go(func() { line.listen(ctx) })
	side.Go(func() { line.watch(ctx) })
	line.serve(ctx)
}

// socket is one open WebSocket.
type socket struct {
	*Flows
	conn   *websocket.Conn
	ids    turnIDs
	cancel context.CancelFunc
	// messages are contexts that wait for their turn, at most one.
	messages chan []byte
}

// listen reads messages until the client goes away. Its end cancels the turn under way.
func (l *socket) listen(ctx context.Context) {
	defer l.cancel()
	for {
		kind, data, err := l.conn.Read(ctx)
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			_ = l.conn.Close(websocket.StatusUnsupportedData, "send an execution context as a text message")
			return
		}
		select {
		case l.messages <- data:
		default:
			l.send(ctx,
				errorEvent(newProblem(http.StatusTooManyRequests, codeBusy, "a turn is under way and another one waits",
					"wait for complete or error before you send the next message")))
		}
	}
}

// watch pings the client to notice one that has silently gone.
func (l *socket) watch(ctx context.Context) {
	defer l.cancel()
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		within, done := context.WithTimeout(ctx, pingTimeout)
		err := l.conn.Ping(within)
		done()
		if err != nil {
			return
		}
	}
}

// serve takes turns until the client goes away, is silent for too long, or the server stops.
func (l *socket) serve(ctx context.Context) {
	for {
		idle := time.NewTimer(l.Idle)
		select {
		case message := <-l.messages:
			idle.Stop()
			l.take(ctx, message)
			continue
		case <-idle.C:
			_ = l.conn.Close(websocket.StatusNormalClosure, "nothing was sent for "+l.Idle.String())
		case <-l.stopping:
			idle.Stop()
			_ = l.conn.Close(websocket.StatusGoingAway, "the server is stopping")
		case <-ctx.Done():
			idle.Stop()
		}
		return
	}
}

// take takes a turn and sends its events.
func (l *socket) take(ctx context.Context, message []byte) {
	body, err := l.guarded(ctx, func(ctx context.Context, sink func(flow.Event)) (any, error) {
		if err := checkNodes(message, "shorten the history"); err != nil {
			return nil, err
		}
		c, err := readContext(ctx, message, l.ids)
		if err != nil {
			return nil, err
		}
		return l.executeContext(ctx, c, flow.Options{Trusted: true, Sink: sink})
	}, func(e flow.Event) { l.send(ctx, progressEvent(e)) })
	if err != nil {
		l.send(ctx, errorEvent(problemOf(err)))
		return
	}
	l.send(ctx, completeEvent(body))
}

// send sends an event. If the client does not take it in time, the connection is closed.
func (l *socket) send(ctx context.Context, e event) {
	data, err := encode(e)
	if err != nil {
		data, _ = encode(errorEvent(problemOf(err)))
	}
	within, done := context.WithTimeout(ctx, writeTimeout)
	defer done()
	if l.conn.Write(within, websocket.MessageText, data) != nil {
		l.cancel()
	}
}
