package wire

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
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
		s.registry = openPrompts(s.Getenv, s.Now, s.outside, s.warn)
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
func (s *shared) promptFolder(o SitesOptions) string {
	if o.Prompts != "" || o.InDatabase() {
		return o.Prompts
	}
	if beside := filepath.Join(folderOf(s.Files, o.Dir), "prompts"); isFolder(s.Files, beside) {
		return beside
	}
	return ""
}
