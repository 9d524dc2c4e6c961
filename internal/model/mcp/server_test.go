package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/tool"
	"github.com/rehearse-dev/rehearse/internal/model/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func toolSet(t *testing.T, text string) tool.Set {
	t.Helper()
	v, err := source.ParseYAML("tools.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	reader := &source.Reader{}
	var set tool.Set
	set.DecodeNode(reader.Node(v, ""))
	if err := reader.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	return set
}

const orders = `
- name: get_order
  description: Looks up an order
  parameters: {properties: {id: {type: string}}}
  results: [{when: {id: "1"}, times: 1, result: {status: new}}, {when: {id: "1"}, result: shipped}, {when: {id: "2"}, error: busy}]
- {name: ping, results: [{result: pong}]}
`

// taken keeps calls.
type taken struct {
	mu    sync.Mutex
	calls []mcp.Call
}

func (k *taken) take(c mcp.Call) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls = append(k.calls, c)
}

func TestServer(t *testing.T) {
	for name, connect := range map[string]func(*testing.T, *mcp.Server) sdk.Transport{
		"stdio": func(t *testing.T, s *mcp.Server) sdk.Transport {
			in, toServer := io.Pipe()
			fromServer, out := io.Pipe()
			done := make(chan error, 1)
			ctx := context.WithoutCancel(t.Context())
			go func() { done <- s.Serve(ctx, in, out) }()
			t.Cleanup(func() {
				_ = toServer.Close()
				if err := <-done; err != nil {
					t.Errorf("Serve: %v", err)
				}
			})
			return &sdk.IOTransport{Reader: fromServer, Writer: toServer}
		},
		"http": func(t *testing.T, s *mcp.Server) sdk.Transport {
			web := httptest.NewServer(s.Handler())
			t.Cleanup(web.Close)
			return &sdk.StreamableClientTransport{Endpoint: web.URL + mcp.Path, HTTPClient: http.DefaultClient}
		},
	} {
		t.Run(name, func(t *testing.T) {
			calls := &taken{}
			client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
			session, err := client.Connect(t.Context(), connect(t, mcp.New(toolSet(t, orders), "1", calls.take)), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = session.Close() }()
			list, err := session.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) != 2 || list.Tools[0].Name != "get_order" ||
				list.Tools[0].Description != "Looks up an order" {
				t.Fatalf("tools: %+v, %v", list, err)
			}
			for _, tc := range []struct {
				tool, id, want string
				failed         bool
			}{
				{"get_order", "1", `{"status":"new"}`, false},
				{"get_order", "1", "shipped", false},
				{"get_order", "2", "busy", true},
				{"get_order", "3", `the tool get_order has no result for {"id":"3"}`, true},
				{"ping", "", "pong", false},
			} {
				args := map[string]any{"id": tc.id}
				if tc.id == "" {
					args = nil
				}
				result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tc.tool, Arguments: args})
				if err != nil {
					t.Fatal(err)
				}
				text, _ := result.Content[0].(*sdk.TextContent)
				if text.Text != tc.want || result.IsError != tc.failed {
					t.Errorf("%s %s: got %q, %v", tc.tool, tc.id, text.Text, result.IsError)
				}
			}
			_, err = session.CallTool(t.Context(), &sdk.CallToolParams{
				Name: "teleport", Arguments: map[string]any{"to": "Bern"},
			})
			var refused *jsonrpc.Error
			if !errors.As(err, &refused) || refused.Code != -32602 || !strings.Contains(refused.Message, "teleport") {
				t.Errorf("an unknown tool: %v", err)
			}
			var lines []string
			for _, c := range calls.calls {
				data, err := json.Marshal(c)
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, string(data))
			}
			want := []string{
				`{"tool":"get_order","args":{"id":"1"},"result":{"status":"new"}}`,
				`{"tool":"get_order","args":{"id":"1"},"result":"shipped"}`,
				`{"tool":"get_order","args":{"id":"2"},"error":"busy"}`,
				`{"tool":"get_order","args":{"id":"3"},"error":"the tool get_order has no result for {\"id\":\"3\"}"}`,
				`{"tool":"ping","args":{},"result":"pong"}`,
				`{"tool":"teleport","args":{"to":"Bern"},"error":"unknown tool \"teleport\""}`,
			}
			if diff := cmp.Diff(want, lines); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
	http.DefaultClient.CloseIdleConnections()
}
