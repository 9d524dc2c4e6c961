package prompt_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// The example sites load, with their instructions, and nothing about them is strange.
func TestExamples(t *testing.T) {
	const dir = "../../../../examples/sites"
	l, err := site.OpenLibrary(source.Files{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	set := prompt.Set{Source: &prompt.Files{Dir: filepath.Join(dir, "prompts")}}
	for _, w := range l.Warnings() {
		t.Error(w)
	}
	for _, s := range l.Sites() {
		warnings, err := set.Check(t.Context(), s)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, %v", s.Name, warnings, err)
		}
		for _, node := range []string{prompt.AnswerWriter, prompt.RedirectHandler, prompt.BookingHandler} {
			got, err := set.Render(t.Context(), s, node, prompt.Vars{})
			if err != nil || strings.Contains(got, "Nothing in particular.") {
				t.Errorf("%s has no instructions for %s: %v", s.Name, node, err)
			}
		}
		pages, err := filepath.Glob(filepath.Join(s.KnowledgeBase.Folder, "*.md"))
		if err != nil || len(pages) < 5 {
			t.Errorf("%s knows %d pages, %v", s.Name, len(pages), err)
		}
		if len(s.FieldIDs()) == 0 || s.ContentGating.Asset == "" || s.CTA.URL == "" {
			t.Errorf("%s does not show all that a site can say", s.Name)
		}
	}
	if got := len(l.Sites()); got != 2 {
		t.Errorf("%d sites", got)
	}
}
