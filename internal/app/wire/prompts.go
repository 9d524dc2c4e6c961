package wire

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

const (
	// LangfuseEnabledEnv is the environment variable that switches Langfuse off.
	LangfuseEnabledEnv = "LANGFUSE_ENABLED"
	promptLabelEnv     = "LANGFUSE_PROMPT_LABEL"
)

// defaultPromptLabel marks the version of a prompt that is in use.
const defaultPromptLabel = "production"

// openPrompts returns the prompts of the Langfuse that the environment names, nil when it names none or disables it.
// Faulty settings give a warning.
func openPrompts(getenv func(string) string, now func() time.Time, transport http.RoundTripper,
	warn func(text string)) *prompt.Langfuse {
	c, err := langfuse.FromEnv(getenv)
	if langfuseOff(getenv) || errors.Is(err, langfuse.ErrNotConfigured) {
		return nil
	}
	c.Transport, c.Timeout, c.Attempts, c.MaxAnswer = transport, prompt.LangfuseTimeout, 1, prompt.LangfuseMaxAnswer
	var client *langfuse.Client
	if err == nil {
		client, err = langfuse.New(c)
	}
	if err != nil {
		warn(err.Error() + "; the prompts are those of files and the built-in ones")
		return nil
	}
	label := cmp.Or(strings.TrimSpace(getenv(promptLabelEnv)), defaultPromptLabel)
	return prompt.NewLangfuse(prompt.LangfuseConfig{Client: client, Label: label, Warn: warn, Now: now})
}
