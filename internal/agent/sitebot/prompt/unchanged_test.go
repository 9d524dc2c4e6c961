package prompt_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
)

// counted is a source that counts how often it is asked for a name, and that fails while there is a failure.
type counted struct {
	texts
	requests map[string]int
	failure  error
}

func (c *counted) Prompt(ctx context.Context, name string) (text, version string, err error) {
	c.requests[name]++
	if c.failure != nil {
		return "", "", c.failure
	}
	return c.texts.Prompt(ctx, name)
}

// A set follows its source at every turn, though it keeps templates: whatever changes, appears, goes, fails or is put
// right.
func TestRenderFollowsSource(t *testing.T) {
	const meta, answer, own = "response-agents/meta-template", "response-agents/answer/template",
		"response-agents/answer/instructions/acme.example"
	s, down := load(t, siteFile), errors.New("the key is wrong")
	source := &counted{texts: texts{
		meta: "<{{agent_instructions}}>", answer: "{{skills}} {{instructions}}", "skills/none": "stop",
	}}
	set := &prompt.Set{Source: source}
	for _, step := range []struct {
		name         string
		change       func()
		want, failed string
	}{
		{"at first", func() {}, "<stop Nothing in particular.>", ""},
		{"appears", func() { source.texts[own] = "{{company}}" }, "<stop Acme Cloud>", ""},
		{"empty", func() { source.texts[own] = "" }, "<stop Nothing in particular.>", ""},
		{"fails", func() { source.failure = down }, "", down.Error()},
		{"works again", func() { source.failure = nil }, "<stop Nothing in particular.>", ""},
		{"goes", func() { delete(source.texts, own) }, "<stop Nothing in particular.>", ""},
		{"another skill", func() { source.texts["skills/none"] = "halt" }, "<halt Nothing in particular.>", ""},
		{"faulty", func() { source.texts[meta] = "no place" }, "", "no place for the next level"},
		{"put right", func() { source.texts[meta] = "[{{agent_instructions}}]" }, "[halt Nothing in particular.]", ""},
		{"faulty skill", func() { source.texts["skills/none"] = "{{compny}}" }, "", "unknown variable {{compny}}"},
		{"cannot be reached", func() { source.failure = prompt.ErrUnavailable }, "You are the assistant", ""},
	} {
		step.change()
		for range 2 {
			source.requests = map[string]int{}
			got, err := set.Render(t.Context(), s, prompt.AnswerWriter, prompt.Vars{})
			if step.failed == "" && (err != nil || !strings.HasPrefix(got, step.want)) ||
				step.failed != "" && (err == nil || !strings.Contains(err.Error(), step.failed)) {
				t.Errorf("%s: got %q, %v", step.name, got, err)
			}
			for name, times := range source.requests {
				if times > 1 {
					t.Errorf("%s: asked %d times for %s", step.name, times, name)
				}
			}
		}
	}
}

// The same holds for a folder.
func TestRenderFollowsFolder(t *testing.T) {
	dir, now, s := filepath.Join(t.TempDir(), "prompts"), time.Now(), load(t, siteFile)
	set := &prompt.Set{Source: &prompt.Files{Dir: dir}}
	render := func(want string) {
		t.Helper()
		for range 2 {
			if got, err := set.Render(t.Context(), s, prompt.IntentClassifier, prompt.Vars{}); err != nil ||
				!strings.HasPrefix(got, want) {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		}
	}
	write(t, dir, "other.md", "other", now)
	render("You classify")
	write(t, dir, "nodes/intent_classifier.md", "one", now)
	render("one")
	write(t, dir, "nodes/intent_classifier.md", "two", now.Add(time.Second))
	render("two")
	if err := os.RemoveAll(filepath.Join(dir, "nodes")); err != nil {
		t.Fatal(err)
	}
	render("You classify")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := set.Render(t.Context(), s, prompt.IntentClassifier, prompt.Vars{}); err == nil {
		t.Errorf("without the folder: %q", got)
	}
}

// One set serves many sites and turns at once, and what it keeps of one never shows in another.
func TestRenderTogether(t *testing.T) {
	set := &prompt.Set{}
	var wg sync.WaitGroup
	for _, name := range []string{"one.example", "two.example", "three.example"} {
		s := load(t, "site: x\ncompany: {name: "+name+"}\ncta: {form_fields: {"+name[:3]+": x}}\n")
		for _, node := range prompt.Nodes() {
			wg.Go(func() {
				for _, question := range []string{"first", "second"} {
					got, err := set.Render(context.Background(), s, node, prompt.Vars{Docs: question})
					if err != nil || strings.Count(got, ".example") != strings.Count(got, name) ||
						node == prompt.AnswerWriter && !strings.Contains(got, question) {
						t.Errorf("%s of %s: %v\n%s", node, name, err, got)
					}
				}
				want, _ := prompt.Schema(s, node, "")
				for range 2 {
					if schema, ok := set.Schema(s, node, ""); ok != (want != nil) || string(schema) != string(want) {
						t.Errorf("schema of %s of %s: %s", node, name, schema)
					}
				}
			})
		}
	}
	wg.Wait()
}
