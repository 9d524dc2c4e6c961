package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sitebottest"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// BenchmarkChatLeads compares turns that leave leads with turns that leave none as they are served: from the request to
// the last event, without a network.
func BenchmarkChatLeads(b *testing.B) {
	serve := func(bot *sitebot.Bot) func(sitebot.Request) error {
		chats, err := NewChats(ChatsConfig{Bot: bot, Sites: sitebottest.Config(b, nil).Sites})
		if err != nil {
			b.Fatal(err)
		}
		handler := behindFront(chats)
		return func(r sitebot.Request) error {
			body := fmt.Sprintf(`{"site_name":%q,"session_id":%q,"input":%q}`, r.Site, r.Session, r.Input)
			w := httptest.NewRecorder()
			asked := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/api/v1/chat",
				strings.NewReader(body))
			asked.Header.Set("Content-Type", "application/json")
			asked.Host, asked.RemoteAddr = "127.0.0.1:8080", "127.0.0.1:1234"
			handler.ServeHTTP(w, asked)
			if answer := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(answer, `"type":"complete"`) {
				return fmt.Errorf("status %d: %s", w.Code, answer)
			}
			return nil
		}
	}
	opened := 0
	for name, open := range map[string]func() (sitebottest.Outbox, func()){
		"memory": func() (sitebottest.Outbox, func()) {
			return sessionindex.NewMemory(graph.MemoryLimits{}), func() {}
		},
		"file": func() (sitebottest.Outbox, func()) {
			opened++
			s, err := store.Open(b.Context(), filepath.Join(b.TempDir(), fmt.Sprint(opened)))
			if err != nil {
				b.Fatal(err)
			}
			return s.Checkpoints(time.Hour), func() { _ = s.Close() }
		},
	} {
		b.Run(name, sitebottest.Comparison{Sessions: 1000, AtOnce: 8, New: sitebot.New, Open: open, Serve: serve}.Run)
	}
}
