// Package mcp is a server of the Model Context Protocol that stands in for a real one: its tools answer with scripted
// results (package tool).
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rehearse-dev/rehearse/internal/base/tool"
)

// Path is where the protocol is spoken over HTTP.
const Path = "/mcp"

// idle is how long a session may be silent before it is closed.
const idle = 10 * time.Minute

// Call is a call that was taken.
type Call struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
	// Result is what the tool answered. Error is what went wrong in its place: what the tool said of a failure, or why
	// there is no result.
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// Server offers tools. It is safe for concurrent use.
type Server struct {
	set     tool.Set
	version string
	// taken gets each call, one at a time, before its answer goes out.
	taken func(Call)
	mu    sync.Mutex
}

// New returns a server of tools. Taken gets each call, one at a time, before its answer goes out.
func New(set tool.Set, version string, taken func(Call)) *Server {
	return &Server{set: set, version: version, taken: taken}
}

// Handler returns the server as streamable HTTP at Path. Results that are given a number of times are counted for each
// session.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(Path, mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return s.session() },
		// Whoever may call is the server's front to say, also behind another name than localhost.
		&mcp.StreamableHTTPOptions{SessionTimeout: idle, DisableLocalhostProtection: true},
	))
	return mux
}

// Serve speaks the protocol over in and out, a JSON-RPC message a line, until in ends.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return Speak(ctx, s.session(), in, out)
}

// Speak serves one session over in and out, a JSON-RPC message a line, until in ends and every request is answered.
func Speak(ctx context.Context, server *mcp.Server, in io.Reader, out io.Writer) error {
	err := server.Run(ctx, draining{&mcp.IOTransport{Reader: io.NopCloser(in), Writer: unclosed{out}}})
	if errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) {
		return nil
	}
	return err
}

// unclosed is a writer that whoever opened it closes.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// session returns the tools for one session.
func (s *Server) session() *mcp.Server { return offering(s.set, s.version, &session{s, s.set.Begin()}) }

// answerer answers the calls that a server takes.
type answerer interface {
	// call answers a call of a tool that is offered. Its error is one of the protocol.
	call(ctx context.Context, name string, args json.RawMessage) (*mcp.CallToolResult, error)
	// unknown is told of a call of another tool, before it is refused. Its error refuses it in other words.
	unknown(name string, args json.RawMessage) error
}

// offering returns a server of the protocol that offers tools.
func offering(set tool.Set, version string, a answerer) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "rehearse", Version: version}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})
	known := map[string]bool{}
	for _, t := range set {
		known[t.Name] = true
		server.AddTool(&mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: inputSchema(t.Parameters)},
			func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return a.call(ctx, t.Name, object(r.Params.Arguments))
			})
	}
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if call, ok := r.(*mcp.CallToolRequest); ok && !known[call.Params.Name] { // which next refuses
				if err := a.unknown(call.Params.Name, object(call.Params.Arguments)); err != nil {
					return nil, err
				}
			}
			return next(ctx, method, r)
		}
	})
	return server
}

// session answers the calls of one session.
type session struct {
	*Server
	answers *tool.Session
}

func (s *session) unknown(name string, args json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken(Call{Tool: name, Args: args, Error: (&tool.UnknownError{Name: name}).Error()})
	return nil
}

// call answers a call. One without a result is an error that the caller's model can read.
func (s *session) call(ctx context.Context, name string, args json.RawMessage) (*mcp.CallToolResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, err := s.answers.Call(ctx, name, args)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	call := Call{Tool: name, Args: args, Result: answer.Value}
	text := answer.Text()
	switch {
	case err != nil:
		call.Error, text = err.Error(), err.Error()
	case answer.Failed != "":
		call.Result, call.Error, text = nil, answer.Failed, answer.Failed
	}
	s.taken(call)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: call.Error != ""}, nil
}

// Append writes a call as a line of JSON, in one write. Mask takes secrets out of it.
func Append(w io.Writer, c Call, mask func([]byte) []byte) error {
	data, err := json.Marshal(c)
	if err == nil {
		_, err = w.Write(append(mask(data), '\n'))
	}
	return err
}

// object returns arguments, which may be missing.
func object(args json.RawMessage) json.RawMessage {
	if len(args) == 0 || string(args) == "null" {
		return json.RawMessage("{}")
	}
	return args
}

// inputSchema returns the parameters of a tool as the protocol wants them: those of an object.
func inputSchema(parameters json.RawMessage) map[string]any {
	schema := map[string]any{}
	if len(parameters) > 0 && json.Unmarshal(parameters, &schema) != nil || schema == nil {
		schema = map[string]any{}
	}
	schema["type"] = "object"
	return schema
}
