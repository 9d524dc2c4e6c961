package prompt

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

// shelf has the prompts of a server, a clock that the test moves, and the warnings that were given.
type shelf struct {
	*Langfuse
	server   *langfusetest.Server
	now      time.Time
	warnings []string
}

// openShelf asks the server within the process for prompts with a label; variables go before those of the server.
func openShelf(t *testing.T, server *langfusetest.Server, label string, variables map[string]string) *shelf {
	t.Helper()
	c, err := langfuse.FromEnv(func(name string) string {
		if value, ok := variables[name]; ok {
			return value
		}
		return server.Getenv(name)
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Transport, c.Timeout, c.Attempts, c.MaxAnswer = server.Transport(), LangfuseTimeout, 1, LangfuseMaxAnswer
	client, err := langfuse.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s := &shelf{server: server, now: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}
	var mu sync.Mutex
	s.Langfuse = NewLangfuse(LangfuseConfig{Client: client, Label: label, Now: func() time.Time {
		return s.now
	}, Warn: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		s.warnings = append(s.warnings, text)
	}})
	t.Cleanup(s.Close)
	return s
}

// gives waits for what was begun, and compares what a name has.
func (s *shelf) gives(t *testing.T, name, text, version string, want error) {
	t.Helper()
	got, v, err := s.Prompt(t.Context(), name)
	if got != text || v != version || !errors.Is(err, want) || want == nil && err != nil {
		t.Errorf("%s: got %q, %q, %v, want %q, %q, %v", name, got, v, err, text, version, want)
	}
	s.requests.Wait()
}

// requested returns how many requests were made since it was last asked.
func (s *shelf) requested() func() int {
	before := 0
	return func() int {
		n := len(s.server.Requests()) - before
		before += n
		return n
	}
}

func siteNamed(t *testing.T, config string) *site.Site {
	t.Helper()
	one, err := site.Load("site.yaml", []byte(config))
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// TestLangfuseKeepsAnswers holds what is asked for and when: nothing within a minute, then once in the background,
// while the old text counts.
func TestLangfuseKeepsAnswers(t *testing.T) {
	server := langfusetest.New(t)
	server.AddPrompt("nodes/intent_classifier", "one\r\ntwo", "production")
	server.AddPrompt("nodes/intent_classifier", "draft")
	server.AddPrompt("nodes/skill_selector", []map[string]string{
		{"role": "system", "content": "choose"}, {"role": "user", "content": "hi"},
		{"role": "system", "content": "well"},
	}, "production")
	s := openShelf(t, server, "production", nil)
	requests := s.requested()
	s.Warm(t.Context(), []*site.Site{siteNamed(t, "site: x")})
	if n := requests(); n < 20 || len(s.warnings) > 0 {
		t.Errorf("%d requests at the start, warnings %q", n, s.warnings)
	}
	steady := func() {
		t.Helper()
		s.gives(t, "nodes/intent_classifier", "one\ntwo", "langfuse-1", nil)
		s.gives(t, "nodes/skill_selector", "choose\n\nwell", "langfuse-1", nil)
		s.gives(t, "skills/none", "", "", ErrUnknown)
	}
	for range 3 {
		steady()
	}
	if n := requests(); n != 0 {
		t.Errorf("%d requests of what is known", n)
	}
	server.AddPrompt("nodes/intent_classifier", "three", "production")
	server.AddPrompt("skills/none", "nothing", "production")
	s.now = s.now.Add(time.Minute)
	steady() // the old ones once more
	if n := requests(); n != 3 {
		t.Errorf("%d requests after a minute", n)
	}
	s.gives(t, "nodes/intent_classifier", "three", "langfuse-3", nil)
	s.gives(t, "skills/none", "nothing", "langfuse-1", nil)
	s.gives(t, "nodes/answer_suggester", "", "", ErrUnknown)
	if n := requests(); n != 1 {
		t.Errorf("%d requests, want that of the name that was not asked for", n)
	}
	for _, r := range server.Requests() {
		if !strings.HasSuffix(r, "?label=production") {
			t.Errorf("request %s", r)
		}
	}
}

// TestLangfuseLabel takes the version with the label that the environment names.
func TestLangfuseLabel(t *testing.T) {
	server := langfusetest.New(t)
	server.AddPrompt("skills/none", "live", "production")
	server.AddPrompt("skills/none", "tried", "staging")
	s := openShelf(t, server, "staging", nil)
	s.gives(t, "skills/none", "", "", ErrUnavailable)
	s.gives(t, "skills/none", "tried", "langfuse-2", nil)
	if got := s.String(); !strings.HasSuffix(got, ", label staging") ||
		!strings.HasPrefix(got, "langfuse http://127.0.0.1") {
		t.Errorf("it calls itself %s", got)
	}
}

// TestLangfuseOutage holds that a text outlives its source, that one warning tells of it, and that it is asked for once
// a minute.
func TestLangfuseOutage(t *testing.T) {
	server := langfusetest.New(t)
	server.AddPrompt("skills/none", "nothing", "production")
	s := openShelf(t, server, "production", nil)
	requests := s.requested()
	s.gives(t, "skills/none", "", "", ErrUnavailable)
	for range 3 {
		s.now = s.now.Add(time.Minute)
		server.Fail(langfusetest.Broken(503), langfusetest.Broken(503))
		s.gives(t, "skills/none", "nothing", "langfuse-1", nil)
		s.gives(t, "skills/ask_email", "", "", ErrUnavailable)
	}
	if n := requests(); n != 7 {
		t.Errorf("%d requests", n)
	}
	want := "langfuse " + server.URL + ": get the prompts: status 503: Internal Server Error; until it answers, " +
		"the prompts are the last ones known, " + "those of files and the built-in ones"
	if d := cmp.Diff([]string{want}, s.warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	s.now = s.now.Add(time.Minute)
	s.gives(t, "skills/ask_email", "", "", ErrUnavailable)
	s.gives(t, "skills/ask_email", "", "", ErrUnknown)
	server.Fail(langfusetest.Broken(503))
	s.now = s.now.Add(time.Minute)
	s.gives(t, "skills/none", "nothing", "langfuse-1", nil)
	if len(s.warnings) != 2 {
		t.Errorf("warnings of another outage: %q", s.warnings)
	}
}

// TestLangfuseRefusal holds that wrong keys are told of once and clearly, and do not keep the sites from starting.
func TestLangfuseRefusal(t *testing.T) {
	server := langfusetest.New(t)
	s := openShelf(t, server, "production", map[string]string{"LANGFUSE_SECRET_KEY": "sk-lf-wrong"})
	one := siteNamed(t, "site: x")
	s.Warm(t.Context(), []*site.Site{one})
	set := &Set{Source: s.Langfuse}
	if warnings, err := set.Check(t.Context(), one); err != nil || len(warnings) > 0 {
		t.Errorf("warnings %v, error %v", warnings, err)
	}
	s.requests.Wait()
	if len(s.warnings) != 1 || !strings.Contains(s.warnings[0], "status 401") ||
		!strings.Contains(s.warnings[0], "check LANGFUSE_PUBLIC_KEY") || strings.Contains(s.warnings[0], "sk-lf") {
		t.Errorf("warnings %q", s.warnings)
	}
	counts := map[string]int{}
	for _, r := range server.Requests() {
		counts[r]++
	}
	if most := slices.Max(slices.Collect(maps.Values(counts))); most != 1 {
		t.Errorf("a name was asked for %d times", most)
	}
}

// TestLangfuseNeverWaits holds that a turn does not wait for a server that hangs, and that the start does not for long.
func TestLangfuseNeverWaits(t *testing.T) {
	server := langfusetest.New(t)
	server.AddPrompt("skills/none", "nothing", "production")
	hangs := slices.Repeat([]langfusetest.Fault{{Delay: time.Hour}}, 100)
	synctest.Test(t, func(t *testing.T) {
		s := openShelf(t, server, "production", nil)
		s.gives(t, "skills/none", "", "", ErrUnavailable)
		server.Fail(hangs...)
		began := time.Now()
		s.Warm(t.Context(), []*site.Site{siteNamed(t, "site: x")})
		if waited := time.Since(began); waited != LangfuseTimeout || len(s.warnings) != 1 ||
			!strings.Contains(s.warnings[0], "no answer within 2s") {
			t.Errorf("the start waited for %s, with the warnings %q", waited, s.warnings)
		}
		s.now, began = s.now.Add(time.Minute), time.Now()
		for _, name := range []string{"skills/none", "skills/ask_email", "nodes/skill_selector"} {
			_, _, _ = s.Prompt(t.Context(), name)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("a turn waited for %s", waited)
		}
		synctest.Wait()
		requests := s.requested()
		requests()
		s.now = s.now.Add(time.Minute) // while the first requests are still under way
		_, _, _ = s.Prompt(t.Context(), "skills/none")
		if synctest.Wait(); requests() != 0 {
			t.Error("a name is asked for twice at once")
		}
		s.Close() // in the middle of it
		if _, _, err := s.Prompt(t.Context(), "skills/propose_demo"); !errors.Is(err, ErrUnavailable) {
			t.Error(err)
		}
	})
}

// TestLangfuseFaultyPrompts names what cannot be used; to go on with another prompt would hide it.
func TestLangfuseFaultyPrompts(t *testing.T) {
	server := langfusetest.New(t)
	server.AddPrompt("skills/none", []map[string]string{{"role": "user", "content": "hi"}}, "production")
	server.AddPrompt("skills/ask_email", strings.Repeat("x", maxPromptBytes+1), "production")
	s := openShelf(t, server, "production", nil)
	for name, want := range map[string]string{
		"skills/none": "without a system message", "skills/ask_email": "larger than 256 KB",
	} {
		_, _, _ = s.Prompt(t.Context(), name)
		s.requests.Wait()
		if _, _, err := s.Prompt(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) ||
			errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLangfuseForeign asks something that is no Langfuse, whose 404 says nothing about prompts.
func TestLangfuseForeign(t *testing.T) {
	server := langfusetest.New(t)
	s := openShelf(t, server, "production", nil)
	server.Fail(langfusetest.Fault{Status: http.StatusNotFound, Body: "<html>not here"})
	s.gives(t, "skills/none", "", "", ErrUnavailable)
	s.gives(t, "skills/none", "", "", ErrUnavailable)
	if len(s.warnings) != 1 || !strings.Contains(s.warnings[0], "check LANGFUSE_HOST") {
		t.Errorf("warnings %q", s.warnings)
	}
}
