package langfuse

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// Prompt is one version of a prompt. Variables are written {{name}}.
type Prompt struct {
	// Name may contain slashes, which Langfuse shows as folders.
	Name    string
	Version int
	// Text is the text of a text prompt. Messages are those of a chat prompt; it has at least one.
	Text     string
	Messages []PromptMessage
	Labels   []string
	Tags     []string
	// Config is any JSON, such as the model to use; null or empty for none.
	Config json.RawMessage
}

// PromptMessage is a message of a chat prompt: a role and content, or a placeholder for messages.
type PromptMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	// Placeholder is the placeholder's name; empty for a message.
	Placeholder string `json:"name"`
}

// PromptAt selects a version of a prompt: by number, by label, or else by the label production.
type PromptAt struct {
	Version int
	Label   string
}

// Prompt returns a prompt with the prompts that it refers to inserted. The error is ErrNotFound when there is no such
// prompt, version or label; a caller can then use a prompt of its own.
func (c *Client) Prompt(ctx context.Context, name string, at PromptAt) (Prompt, error) {
	r := request{
		what: "get the prompt " + quote(name), method: http.MethodGet, path: []string{"v2", "prompts", name},
		retry: true, query: url.Values{},
	}
	switch {
	case at.Version < 0 || at.Version > 0 && at.Label != "":
		return Prompt{}, c.invalid(r.what, "a version above 0 or a label, not both")
	case at.Version > 0:
		r.query.Set("version", strconv.Itoa(at.Version))
	case at.Label != "":
		r.query.Set("label", at.Label)
	}
	var p promptAnswer
	if err := c.do(ctx, r, &p); err != nil {
		return Prompt{}, err
	}
	prompt, fault := p.prompt()
	if fault != "" {
		return Prompt{}, c.malformed(r, fault)
	}
	return prompt, nil
}

// promptAnswer is a prompt of either type.
type promptAnswer struct {
	Name    string          `json:"name"`
	Version int             `json:"version"`
	Type    string          `json:"type"`
	Prompt  json.RawMessage `json:"prompt"`
	Labels  []string        `json:"labels"`
	Tags    []string        `json:"tags"`
	Config  json.RawMessage `json:"config"`
}

func (p *promptAnswer) lacks() string {
	switch {
	case p.Name == "":
		return "name"
	case p.Version == 0:
		return "version"
	case empty(p.Prompt):
		return "prompt"
	}
	return ""
}

// prompt reads the prompt by its form, since old servers do not send the type. fault says what is wrong with it.
func (p *promptAnswer) prompt() (prompt Prompt, fault string) {
	prompt = Prompt{Name: p.Name, Version: p.Version, Labels: p.Labels, Tags: p.Tags, Config: p.Config}
	if json.Unmarshal(p.Prompt, &prompt.Text) == nil && p.Type != "chat" {
		return prompt, ""
	}
	if json.Unmarshal(p.Prompt, &prompt.Messages) != nil || len(prompt.Messages) == 0 {
		return Prompt{}, "the prompt is neither a text nor a list of messages"
	}
	for i, m := range prompt.Messages {
		if m.Role == "" && m.Placeholder == "" {
			return Prompt{}, fmt.Sprintf("message %d of the prompt has no role, and is no placeholder", i+1)
		}
	}
	return prompt, ""
}
