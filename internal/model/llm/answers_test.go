package llm_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
)

// TestAnswers holds what becomes of answers as the providers document them. A file has the model ("anthropic stream"),
// the answer, and the reply or the error, with what has to come back with the message.
func TestAnswers(t *testing.T) {
	files, err := filepath.Glob("testdata/answers/*.txtar")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil || len(archive.Files) != 3 {
				t.Fatalf("%d parts, %v", len(archive.Files), err)
			}
			words := strings.Fields(string(archive.Files[0].Data))
			m := config.Model{Provider: words[0], Name: "m"}
			streamed := words[len(words)-1] == "stream"
			if len(words) > 1 && words[1] == "responses" {
				m.API = "responses"
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if streamed {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				_, _ = w.Write(archive.Files[1].Data)
			}))
			defer server.Close()
			m.BaseURL = server.URL
			c := client(t, m, map[string]string{}, nil)
			var reply chat.Reply
			if streamed {
				reply, err = c.Stream(t.Context(), user("hi"), func(string) {})
			} else {
				reply, err = c.Generate(t.Context(), user("hi"))
			}
			archive.Files[2].Data = told(t, reply, err, server.URL)
			golden.Compare(t, filepath.Join("answers", filepath.Base(file)), string(txtar.Format(archive)))
		})
	}
}

// told writes a reply or an error without what differs each time.
func told(t *testing.T, reply chat.Reply, err error, address string) []byte {
	t.Helper()
	if err != nil {
		return []byte(strings.ReplaceAll(err.Error(), address, "http://server") + "\n")
	}
	reply.Latency, reply.FirstText, reply.Cost = 0, 0, chat.Cost{}
	data, err := json.MarshalIndent(reply, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if reply.Native.Format != "" {
		data = append(data, "\ncomes back: "+reply.Native.Format+" "+string(reply.Native.Value)...)
	}
	return append(data, '\n')
}
