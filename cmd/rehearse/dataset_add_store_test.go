package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"rehearse/internal/langfuse/langfusetest"
	"rehearse/internal/result"
	"rehearse/internal/store"
)

// TestAddFromRedis makes items of sessions that a Redis keeps.
func TestAddFromRedis(t *testing.T) {
	server := miniredis.RunT(t)
	url := "redis://" + server.Addr()
	kept, err := store.OpenRedis(t.Context(), url, store.RedisOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kept.Close() }()
	put := func(site, session string) {
		bot, err := reader(site, kept)
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
	for _, tc := range []struct {
		args []string
		code int
		said string
	}{
		{[]string{"--from-session", "v-1"}, result.ExitPassed, "made of turn 2 of the session v-1"},
		{[]string{"--session", "v-2"}, result.ExitInvalid, `several sites have a session "v-2" in redis://` + server.Addr() + "/0: add --site with one of coffee.example, tea.example"},
		{[]string{"--session", "v-2", "--site", "tea.example"}, result.ExitPassed, "made of turn 2 of the session v-2"},
		{[]string{"--session", "v-1", "--site", "tee.example"}, result.ExitInvalid, `did you mean "tea.example"?`},
		{[]string{"--session", "v-*"}, result.ExitInvalid, `there is no session "v-*" in redis://`},
		{[]string{"--session", "v-9", "--site", "tea.example"}, result.ExitInvalid, "write both as the chatbot has them"},
	} {
		file := filepath.Join(t.TempDir(), "items.jsonl")
		p := &program{server: langfusetest.New(t)}
		code, stdout, stderr := p.run(t, append([]string{"dataset", "add", file, "--store", url}, tc.args...)...)
		if code != tc.code || !strings.Contains(stdout+stderr, tc.said) {
			t.Errorf("%v: exit code %d\n%s\n%s", tc.args, code, stdout, stderr)
		}
		data, err := os.ReadFile(file)
		if made := strings.Contains(string(data), `"query":"Bye"`) && strings.Contains(string(data), `"site_name":"tea.example"`); made != (tc.code == result.ExitPassed) {
			t.Errorf("%v: %v, the file has %s", tc.args, err, data)
		}
	}
}
