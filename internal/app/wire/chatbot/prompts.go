package chatbot

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

// promptSet returns the prompts in their order: Langfuse's, those of a folder, by default the one beside the sites, and
// the built-in ones.
func (s *Sites) promptSet(ctx context.Context) *prompt.Set {
	dir := s.promptFolder(s.options)
	set := &prompt.Set{}
	from := []string{"built-in"}
	if dir != "" {
		set.Source = &prompt.Files{Dir: s.Files.OnDisk(dir)}
		from = append(from, dir)
	}
	if !s.LocalPrompt && !s.Dry {
		s.registry = OpenPrompts(s.Getenv, s.Now, s.Transport, s.Warn)
	}
	if s.registry != nil {
		s.registry.Warm(ctx, s.Library.Sites())
		from = append(from, s.registry.String())
		if set.Source == nil {
			set.Source = s.registry
		} else {
			set.Source = prompt.Fallback(s.registry, set.Source)
		}
	}
	slices.Reverse(from)
	s.Log.Info("prompts", "from", strings.Join(from, ", then "))
	return set
}

// promptFolder returns the folder of the prompts of chatbots: the given one, or the one beside the sites; empty when
// there is none.
func (c Config) promptFolder(o Options) string {
	if o.Prompts != "" || o.InDatabase() {
		return o.Prompts
	}
	if beside := filepath.Join(c.Files.FolderOf(o.Dir), "prompts"); c.Files.IsFolder(beside) {
		return beside
	}
	return ""
}

const promptLabelEnv = "LANGFUSE_PROMPT_LABEL"

// defaultPromptLabel marks the version of a prompt that is in use.
const defaultPromptLabel = "production"

// OpenPrompts returns the prompts of the Langfuse that the environment names, nil when it names none or disables it.
// Faulty settings give a warning.
func OpenPrompts(getenv func(string) string, now func() time.Time, transport http.RoundTripper,
	warn func(text string)) *prompt.Langfuse {
	c, err := langfuse.FromEnv(getenv)
	if langfuse.Disabled(getenv) || errors.Is(err, langfuse.ErrNotConfigured) {
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
