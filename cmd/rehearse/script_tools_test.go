package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/coder/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// toolMessage is what the agents with tools are sent.
type toolMessage struct {
	Message        string `json:"message"`
	ConversationID string `json:"conversation_id,omitempty"`
	// Tools is the address of the conversation's tools; empty where the environment has it.
	Tools string `json:"tools,omitempty"`
}

// useTools does what a message says: parts `TOOL ARGS` between semicolons are calls. The reply has their results.
func useTools(message string, call func(name string, args json.RawMessage) string) string {
	var said []string
	for part := range strings.SplitSeq(message, ";") {
		name, args, ok := strings.Cut(strings.TrimSpace(part), " ")
		if !ok || !json.Valid([]byte(args)) {
			said = append(said, "you said "+part)
			continue
		}
		said = append(said, call(name, json.RawMessage(args)))
	}
	return strings.Join(said, "; ")
}

// toolAgent is the program toolagent: lines of JSON in and out, tools by the client of the SDK, in one session for each
// conversation.
func toolAgent() {
	client := mcp.NewClient(&mcp.Implementation{Name: "toolagent", Version: "1"}, nil)
	ctx := context.Background()
	sessions := map[string]*mcp.ClientSession{}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var asked toolMessage
		_ = json.Unmarshal(lines.Bytes(), &asked)
		address := asked.Tools
		if address == "" {
			address = os.Getenv("REHEARSE_MCP_URL")
		}
		session := sessions[address]
		if session == nil {
			var err error
			if session, err = client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: address}, nil); err != nil {
				fmt.Fprintln(os.Stderr, "connect to the tools:", err)
				os.Exit(1)
			}
			sessions[address] = session
		}
		reply := useTools(asked.Message, func(name string, args json.RawMessage) string {
			result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
			if refused, ok := errors.AsType[*jsonrpc.Error](err); ok {
				return fmt.Sprintf("error %d: %s", refused.Code, refused.Message)
			}
			if err != nil {
				return "no answer: " + err.Error()
			}
			text, _ := result.Content[0].(*mcp.TextContent)
			return outcomeOf(text.Text, result.IsError)
		})
		data, _ := json.Marshal(map[string]string{"reply": reply, "conversation_id": asked.ConversationID})
		fmt.Println(string(data))
	}
}

func outcomeOf(text string, failed bool) string {
	if failed {
		return "failed: " + text
	}
	return text
}

// startToolAgents starts agents that call tools by plain requests of JSON-RPC, without a session: $TOOLS over HTTP,
// $TOOLS_WS behind a WebSocket. The first answer to a message with "busy" in it is a 503, after its calls. /open calls
// ping.
func startToolAgents(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: toolagents")
	}
	var mu sync.Mutex
	busy := map[string]bool{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ws" {
			toolSocket(w, r)
			return
		}
		asked := toolMessage{Tools: r.Header.Get("X-Tools")}
		_ = json.NewDecoder(r.Body).Decode(&asked)
		if r.URL.Path == "/open" {
			asked.Message = "ping {}"
		}
		reply := useTools(asked.Message, callPlainly(asked.Tools))
		mu.Lock()
		first := strings.Contains(asked.Message, "busy") && !busy[asked.Tools]
		busy[asked.Tools] = true
		mu.Unlock()
		if first {
			http.Error(w, "come again", http.StatusServiceUnavailable)
			return
		}
		data, _ := json.Marshal(map[string]string{"reply": reply})
		sayJSON(w, http.StatusOK, string(data))
	}))
	ts.Defer(web.Close)
	ts.Setenv("TOOLS", web.URL)
	ts.Setenv("TOOLS_WS", "ws"+strings.TrimPrefix(web.URL, "http")+"/ws")
}

func toolSocket(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = c.CloseNow() }()
	for {
		_, data, err := c.Read(r.Context())
		if err != nil {
			return
		}
		var asked toolMessage
		_ = json.Unmarshal(data, &asked)
		reply, _ := json.Marshal(map[string]string{"reply": useTools(asked.Message, callPlainly(asked.Tools))})
		if c.Write(r.Context(), websocket.MessageText, reply) != nil {
			return
		}
	}
}

// callPlainly calls tools with a request each.
func callPlainly(address string) func(name string, args json.RawMessage) string {
	return func(name string, args json.RawMessage) string {
		body, _ := json.Marshal(map[string]any{
			"jsonrpc": "2.0", "id": 1, "method": "tools/call",
			"params": map[string]any{"name": name, "arguments": args},
		})
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		response, err := client.Post(address, "application/json", strings.NewReader(string(body)))
		if err != nil {
			return err.Error()
		}
		defer func() { _ = response.Body.Close() }()
		said, _ := io.ReadAll(response.Body)
		var answer struct {
			Result struct {
				Content []struct{ Text string }
				IsError bool
			}
			Error *struct {
				Code    int
				Message string
			}
		}
		if json.Unmarshal(said, &answer) == nil && answer.Error != nil {
			return fmt.Sprintf("error %d: %s", answer.Error.Code, answer.Error.Message)
		}
		if len(answer.Result.Content) == 0 {
			return "no answer: " + string(said)
		}
		return outcomeOf(answer.Result.Content[0].Text, answer.Result.IsError)
	}
}
