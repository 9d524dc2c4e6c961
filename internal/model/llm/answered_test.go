package llm

import (
	"net/http"
	"testing"
)

// TestAnsweredByAnything: what a server writes as its model is told where it is a name, and never makes an answer
// unreadable.
func TestAnsweredByAnything(t *testing.T) {
	for _, tc := range []struct{ model, want string }{
		{`"gpt-5-mini-2026-01-01"`, "gpt-5-mini-2026-01-01"}, {`null`, ""}, {`7`, ""}, {`{"id": "x"}`, ""}, {`[]`, ""},
	} {
		base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			reply(w, `{"model": `+tc.model+`, "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}`)
		})
		got, err := dial(t, base).Generate(t.Context(), say("hello"))
		if err != nil || got.Text != "hi" || got.Model != tc.want {
			t.Errorf("model %s: %q by %q, %v", tc.model, got.Text, got.Model, err)
		}
	}
}
