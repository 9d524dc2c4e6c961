package conversation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset/conversation"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// TestOfChatbot makes items of sessions that a Redis keeps.
func TestOfChatbot(t *testing.T) {
	server := miniredis.RunT(t)
	kept, err := store.OpenRedis(t.Context(), "redis://"+server.Addr(), store.RedisOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kept.Close() }()
	put := func(site, session string) {
		bot, err := chatbot.SessionReader(site, kept)
		if err != nil {
			t.Fatal(err)
		}
		patch := json.RawMessage(`{"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "Bye"},
			{"role": "assistant", "content": "See you."}]}`)
		if err := bot.UpdateState(t.Context(), site, session, patch, true); err != nil {
			t.Fatal(err)
		}
	}
	put("tea.example", "v-1")
	put("tea.example", "v-2")
	put("coffee.example", "v-2")
	for _, tc := range []struct{ session, site, fault string }{
		{"v-1", "", ""},
		{"v-2", "", `several sites have a session "v-2" in redis://` + server.Addr() +
			"/0: add --site with one of coffee.example, tea.example"},
		{"v-2", "tea.example", ""},
		{"v-1", "tee.example", `did you mean "tea.example"?`},
		{"v-*", "", `there is no session "v-*" in redis://`},
		{"v-9", "tea.example", "write both as the chatbot has them"},
	} {
		c, err := conversation.OfChatbot(t.Context(), kept, chatbot.SessionReader, kept.String(), tc.site, tc.session)
		if tc.fault != "" {
			if err == nil || !source.IsInvalid(err) || !strings.Contains(err.Error(), tc.fault) {
				t.Errorf("%s of %q: %v, want an input error with %s", tc.session, tc.site, err, tc.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s of %q: %v", tc.session, tc.site, err)
			continue
		}
		turn, err := c.Turn(0)
		if err != nil || turn != 2 || c.String() != "the session "+tc.session {
			t.Errorf("turn %d of %s, %v", turn, c, err)
		}
		r, err := c.Item(turn)
		if err != nil || string(r.Input) != `{"query":"Bye"}` ||
			!strings.Contains(string(r.Metadata), `"site_name":"tea.example"`) {
			t.Errorf("%+v, %v", r, err)
		}
	}
}
