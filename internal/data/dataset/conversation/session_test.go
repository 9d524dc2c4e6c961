package conversation

import (
	"encoding/json"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// TestSpoken finds what somebody said in what applications log.
func TestSpoken(t *testing.T) {
	for _, c := range []struct {
		logged string
		role   chat.Role
		want   string
	}{
		{`"hello"`, chat.User, "hello"},
		{`{"query": "a", "response": "b"}`, chat.User, "a"},
		{`{"query": "a", "response": "b"}`, chat.Assistant, "b"},
		{`{"input": {"message": "a"}, "n": 1}`, chat.User, "a"},
		{`{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}`, chat.User, "a"},
		{
			`{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}`, chat.Assistant,
			"b",
		},
		{`[{"role": "user", "content": [{"type": "text", "text": "a"}]}]`, chat.User, "a"},
		{`[{"role": "system", "content": "a"}]`, chat.User, ""},
		{
			`{"content": {"content": {"content": {"content": {"content": {"content": {"content": "deep"}}}}}}}`,
			chat.User, "",
		},
		{`""`, chat.User, ""},
		{`7`, chat.User, ""},
		{`{`, chat.User, ""},
		{``, chat.User, ""},
	} {
		if got, ok := spoken(json.RawMessage(c.logged), c.role); got != c.want || ok != (c.want != "") {
			t.Errorf("%s of %s: got %q, %v", c.role, c.logged, got, ok)
		}
	}
}
