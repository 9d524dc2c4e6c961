package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rehearse-dev/rehearse/internal/base/tool"
)

// The bounds of requests to a Host.
const (
	maxBody     = 1 << 20
	maxHeader   = 64 << 10
	readTimeout = 30 * time.Second
	idleTimeout = 10 * time.Minute
	// closeTime is how long requests may go on when the host is closed.
	closeTime = time.Second
)

// version is what a host says of itself; the protocol wants some.
const version = "1"

// Host serves tools on this machine's loopback interface, to each conversation at an address of its own that cannot be
// guessed. It is safe for concurrent use. Close it.
type Host struct {
	address string
	web     *http.Server
	// protocol speaks MCP with the conversation that a request is for.
	protocol http.Handler
	// ended is closed when nothing is served any more.
	ended chan struct{}

	mu sync.Mutex
	// conversations are those that are held, by the last part of their address.
	conversations map[string]*Conversation
}

// Listen starts a host.
func Listen() (*Host, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &Host{
		address: "http://" + listener.Addr().String(), ended: make(chan struct{}),
		conversations: map[string]*Conversation{},
	}
	// A conversation is known by its address. So an agent may begin a session anew for each turn, and a little one may
	// call without any.
	h.protocol = mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody,
	})
	h.web = &http.Server{
		Handler: h, MaxHeaderBytes: maxHeader, ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	go func() {
		defer close(h.ended)
		_ = h.web.Serve(listener) // which ends with Close
	}()
	return h, nil
}

// Open begins a conversation. Refused is told of each tool that is called while no turn is under way; nil tells nobody.
func (h *Host) Open(set tool.Set, refused func(name string)) *Conversation {
	c := &Conversation{host: h, id: rand.Text(), answers: set.Begin(), refused: refused}
	c.server = offering(set, version, c)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conversations[c.id] = c
	return c
}

// Close ends all conversations, and returns when nothing is served any more.
func (h *Host) Close() error {
	h.mu.Lock()
	for _, c := range h.conversations {
		c.End()
	}
	clear(h.conversations)
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	err := h.web.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = h.web.Close()
	}
	<-h.ended
	return err
}

// of returns the conversation that a request is for; nil for none.
func (h *Host) of(r *http.Request) *Conversation {
	id, ok := strings.CutPrefix(r.URL.Path, Path+"/")
	if !ok {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.conversations[id]
}

// serverKey is where the context of a request has the server of its conversation.
type serverKey struct{}

// serverOf returns the server of the conversation that a request is for.
func serverOf(r *http.Request) *mcp.Server {
	server, _ := r.Context().Value(serverKey{}).(*mcp.Server)
	return server
}

// ServeHTTP implements http.Handler.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A page of another site may send requests here from a browser of this machine. Where it does so by a name that
	// leads here (DNS rebinding), the protocol's library refuses them.
	if http.NewCrossOriginProtection().Check(r) != nil {
		refuse(w, http.StatusForbidden, "requests from pages of other sites are refused")
		return
	}
	c := h.of(r)
	if c == nil {
		refuse(w, http.StatusNotFound, "no conversation is held here: it is over, or the address is wrong")
		return
	}
	// little agents accept JSON alone, which is what they get
	r.Header.Set("Accept", "application/json, text/event-stream")
	h.protocol.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), serverKey{}, c.server)))
}

// invalidRequest is JSON-RPC's code of a request that is not taken now.
const invalidRequest = -32600

// refuse answers as JSON-RPC does, so that a client shows the reason.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // nobody may read it
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": invalidRequest, "message": message},
	})
}
