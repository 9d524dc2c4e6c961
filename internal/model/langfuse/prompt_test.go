package langfuse_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

func TestPrompts(t *testing.T) {
	s, c := online(t)
	const name = "rose-internal/response-agents/redirect handler"
	s.AddPrompt(name, "first {{lf_agent_instructions}}", "production")
	s.AddPrompt(name, "second", "staging")
	s.AddPrompt("router", []map[string]string{
		{"role": "system", "content": "You are {{x}}."},
		{"type": "placeholder", "name": "history"},
	}, "production")
	get := func(name string, at langfuse.PromptAt) langfuse.Prompt {
		t.Helper()
		p, err := c.Prompt(t.Context(), name, at)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := langfuse.Prompt{
		Name: name, Version: 1, Text: "first {{lf_agent_instructions}}", Labels: []string{"production"},
		Tags: []string{}, Config: raw(`{}`),
	}
	for _, at := range []langfuse.PromptAt{{}, {Version: 1}, {Label: "production"}} {
		if d := cmp.Diff(first, get(name, at)); d != "" {
			t.Errorf("%+v: %s", at, d)
		}
	}
	for _, at := range []langfuse.PromptAt{{Version: 2}, {Label: "staging"}, {Label: "latest"}} {
		if p := get(name, at); p.Text != "second" || p.Version != 2 {
			t.Errorf("%+v: %+v", at, p)
		}
	}
	chat := []langfuse.PromptMessage{{Role: "system", Content: "You are {{x}}."}, {Placeholder: "history"}}
	if p := get("router", langfuse.PromptAt{}); p.Text != "" || !cmp.Equal(chat, p.Messages) {
		t.Errorf("%+v", p)
	}
	for _, at := range []langfuse.PromptAt{{Version: 3}, {Label: "none"}} {
		if _, err := c.Prompt(t.Context(), name, at); !errors.Is(err, langfuse.ErrNotFound) {
			t.Errorf("%+v: %v", at, err)
		}
	}
	if _, err := c.Prompt(t.Context(), "rose-internal", langfuse.PromptAt{}); !errors.Is(err, langfuse.ErrNotFound) {
		t.Error(err)
	}
	for _, at := range []langfuse.PromptAt{{Version: -1}, {Version: 1, Label: "x"}} {
		wants(t, second(c.Prompt(t.Context(), name, at)), "a version above 0 or a label, not both")
	}
}

func TestHostilePrompts(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"nothing", `{}`, "lacks name"},
		{"no version", `{"name":"p","version":null,"prompt":"x"}`, "lacks version"},
		{"no prompt", `{"name":"p","version":1,"prompt":null}`, "lacks prompt"},
		{"a number", `{"name":"p","version":1,"prompt":7}`, "neither a text nor a list of messages"},
		{
			"a text as chat", `{"name":"p","version":1,"type":"chat","prompt":"x"}`,
			"neither a text nor a list of messages",
		},
		{"no messages", `{"name":"p","version":1,"type":"chat","prompt":[]}`, "neither a text nor a list of messages"},
		{
			"an empty message",
			`{"name":"p","version":1,"type":"chat","prompt":[{"role":"user","content":"x"},{"content":"y"}]}`,
			"message 2 of the prompt has no role",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			wants(t, second(answering(t, says(200, c.body)).Prompt(t.Context(), "p", langfuse.PromptAt{})), c.want)
		})
	}
	old := answering(t, says(200, `{"name":"p","version":1,"prompt":"old","config":null}`))
	if p, err := old.Prompt(t.Context(), "p", langfuse.PromptAt{}); err != nil || p.Text != "old" {
		t.Errorf("an old server's prompt: %+v, %v", p, err)
	}
	wants(t, second(answering(t, says(200, `{"status":"OK","version":null}`)).Health(t.Context())), "lacks version")
}
