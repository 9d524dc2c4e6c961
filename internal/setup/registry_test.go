package setup

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rehearse/internal/langfuse/langfusetest"
	"rehearse/internal/sitebot/prompt"
	"rehearse/internal/sitebot/site"
)

// shelf is a registry on a server, with a clock that the test moves and the warnings that it gave.
type shelf struct {
	*registry
	server   *langfusetest.Server
	now      time.Time
	warnings []string
}

// openShelf opens a registry. It asks the server within the process.
func openShelf(t *testing.T, server *langfusetest.Server, variables map[string]string) *shelf {
	t.Helper()
	s := &shelf{server: server, now: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}
	var mu sync.Mutex
	s.registry = openRegistry(s.env(variables), func() time.Time { return s.now }, server.Transport(), func(text string) {
		mu.Lock()
		defer mu.Unlock()
		s.warnings = append(s.warnings, text)
	})
	if s.registry != nil {
		t.Cleanup(s.close)
	}
	return s
}

// env finds variables: those that are given, or the server's.
func (s *shelf) env(variables map[string]string) func(string) string {
	return func(name string) string {
		if value, ok := variables[name]; ok {
			return value
		}
		return s.server.Getenv(name)
	}
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

// asked returns how many requests were made since it was last asked.
func (s *shelf) asked() func() int {
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

// TestRegistryKeepsAnswers holds what is asked for and when: nothing within a minute, then once in the background, while the old text counts.
func TestRegistryKeepsAnswers(t *testing.T) {
	server := langfusetest.New(t)
	server.AddPrompt("nodes/intent_classifier", "one\r\ntwo", "production")
	server.AddPrompt("nodes/intent_classifier", "draft")
	server.AddPrompt("nodes/skill_selector", []map[string]string{
		{"role": "system", "content": "choose"}, {"role": "user", "content": "hi"}, {"role": "system", "content": "well"},
	}, "production")
	s := openShelf(t, server, nil)
	requests := s.asked()
	s.warm(t.Context(), []*site.Site{siteNamed(t, "site: x")})
	if n := requests(); n < 20 || len(s.warnings) > 0 {
		t.Errorf("%d requests at the start, warnings %q", n, s.warnings)
	}
	steady := func() {
		t.Helper()
		s.gives(t, "nodes/intent_classifier", "one\ntwo", "langfuse-1", nil)
		s.gives(t, "nodes/skill_selector", "choose\n\nwell", "langfuse-1", nil)
		s.gives(t, "skills/none", "", "", prompt.ErrUnknown)
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
	s.gives(t, "nodes/answer_suggester", "", "", prompt.ErrUnknown)
	if n := requests(); n != 1 {
		t.Errorf("%d requests, want that of the name that was not asked for", n)
	}
	for _, r := range server.Requests() {
		if !strings.HasSuffix(r, "?label=production") {
			t.Errorf("request %s", r)
		}
	}
}

// TestRegistryLabel takes the version with the label that the environment names.
func TestRegistryLabel(t *testing.T) {
	server := langfusetest.New(t)
	server.AddPrompt("skills/none", "live", "production")
	server.AddPrompt("skills/none", "tried", "staging")
	s := openShelf(t, server, map[string]string{promptLabelEnv: "staging"})
	s.gives(t, "skills/none", "", "", prompt.ErrUnavailable)
	s.gives(t, "skills/none", "tried", "langfuse-2", nil)
	if got := s.String(); !strings.HasSuffix(got, ", label staging") || !strings.HasPrefix(got, "langfuse http://127.0.0.1") {
		t.Errorf("it calls itself %s", got)
	}
}

// TestRegistryOutage holds that a text outlives its source, that one warning tells of it, and that it is asked for once a minute.
func TestRegistryOutage(t *testing.T) {
	server := langfusetest.New(t)
	server.AddPrompt("skills/none", "nothing", "production")
	s := openShelf(t, server, nil)
	requests := s.asked()
	s.gives(t, "skills/none", "", "", prompt.ErrUnavailable)
	for range 3 {
		s.now = s.now.Add(time.Minute)
		server.Fail(langfusetest.Broken(503), langfusetest.Broken(503))
		s.gives(t, "skills/none", "nothing", "langfuse-1", nil)
		s.gives(t, "skills/ask_email", "", "", prompt.ErrUnavailable)
	}
	if n := requests(); n != 7 {
		t.Errorf("%d requests", n)
	}
	want := "langfuse " + server.URL + ": get the prompts: status 503: Internal Server Error; until it answers, the prompts are the last ones known, " +
		"those of files and the built-in ones"
	if d := cmp.Diff([]string{want}, s.warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	s.now = s.now.Add(time.Minute)
	s.gives(t, "skills/ask_email", "", "", prompt.ErrUnavailable)
	s.gives(t, "skills/ask_email", "", "", prompt.ErrUnknown)
	server.Fail(langfusetest.Broken(503))
	s.now = s.now.Add(time.Minute)
	s.gives(t, "skills/none", "nothing", "langfuse-1", nil)
	if len(s.warnings) != 2 {
		t.Errorf("warnings of another outage: %q", s.warnings)
	}
}

// TestRegistryRefusal holds that wrong keys are told of once and clearly, and do not keep the sites from starting.
func TestRegistryRefusal(t *testing.T) {
	server := langfusetest.New(t)
	s := openShelf(t, server, map[string]string{"LANGFUSE_SECRET_KEY": "sk-lf-wrong"})
	one := siteNamed(t, "site: x")
	s.warm(t.Context(), []*site.Site{one})
	set := &prompt.Set{Source: s.registry}
	if warnings, err := set.Check(t.Context(), one); err != nil || len(warnings) > 0 {
		t.Errorf("warnings %v, error %v", warnings, err)
	}
	s.requests.Wait()
	if len(s.warnings) != 1 || !strings.Contains(s.warnings[0], "status 401") || !strings.Contains(s.warnings[0], "check LANGFUSE_PUBLIC_KEY") ||
		strings.Contains(s.warnings[0], "sk-lf") {
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

// TestRegistryNeverWaits holds that a turn does not wait for a server that hangs, and that the start does not for long.
func TestRegistryNeverWaits(t *testing.T) {
	server := langfusetest.New(t)
	server.AddPrompt("skills/none", "nothing", "production")
	hangs := slices.Repeat([]langfusetest.Fault{{Delay: time.Hour}}, 100)
	synctest.Test(t, func(t *testing.T) {
		s := openShelf(t, server, nil)
		s.gives(t, "skills/none", "", "", prompt.ErrUnavailable)
		server.Fail(hangs...)
		began := time.Now()
		s.warm(t.Context(), []*site.Site{siteNamed(t, "site: x")})
		if waited := time.Since(began); waited != registryLimit || len(s.warnings) != 1 || !strings.Contains(s.warnings[0], "no answer within 2s") {
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
		requests := s.asked()
		requests()
		s.now = s.now.Add(time.Minute) // while the first requests are still under way
		_, _, _ = s.Prompt(t.Context(), "skills/none")
		if synctest.Wait(); requests() != 0 {
			t.Error("a name is asked for twice at once")
		}
		s.close() // in the middle of it
		if _, _, err := s.Prompt(t.Context(), "skills/propose_demo"); !errors.Is(err, prompt.ErrUnavailable) {
			t.Error(err)
		}
	})
}

// TestRegistryFaultyPrompts names what cannot be used; to go on with another prompt would hide it.
func TestRegistryFaultyPrompts(t *testing.T) {
	server := langfusetest.New(t)
	server.AddPrompt("skills/none", []map[string]string{{"role": "user", "content": "hi"}}, "production")
	server.AddPrompt("skills/ask_email", strings.Repeat("x", maxRegistryPrompt+1), "production")
	s := openShelf(t, server, nil)
	for name, want := range map[string]string{"skills/none": "without a system message", "skills/ask_email": "larger than 256 KB"} {
		_, _, _ = s.Prompt(t.Context(), name)
		s.requests.Wait()
		if _, _, err := s.Prompt(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, prompt.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRegistryForeign asks something that is no Langfuse, whose 404 says nothing about prompts.
func TestRegistryForeign(t *testing.T) {
	server := langfusetest.New(t)
	s := openShelf(t, server, nil)
	server.Fail(langfusetest.Fault{Status: http.StatusNotFound, Body: "<html>not here"})
	s.gives(t, "skills/none", "", "", prompt.ErrUnavailable)
	s.gives(t, "skills/none", "", "", prompt.ErrUnavailable)
	if len(s.warnings) != 1 || !strings.Contains(s.warnings[0], "check LANGFUSE_HOST") {
		t.Errorf("warnings %q", s.warnings)
	}
}

// TestRegistryOff holds when there is none, and what is told of settings that cannot be meant.
func TestRegistryOff(t *testing.T) {
	server := langfusetest.New(t)
	for _, off := range []string{"false", "FALSE", "0", "off", " no "} {
		if s := openShelf(t, server, map[string]string{LangfuseEnabledEnv: off}); s.registry != nil || len(s.warnings) > 0 {
			t.Errorf("%q leaves it on, warnings %q", off, s.warnings)
		}
	}
	if s := openShelf(t, server, map[string]string{LangfuseEnabledEnv: "true"}); s.registry == nil {
		t.Error("true switches it off")
	}
	none := map[string]string{"LANGFUSE_HOST": "", "LANGFUSE_PUBLIC_KEY": "", "LANGFUSE_SECRET_KEY": ""}
	if s := openShelf(t, server, none); s.registry != nil || len(s.warnings) > 0 {
		t.Errorf("without settings there is one, warnings %q", s.warnings)
	}
	none["LANGFUSE_PUBLIC_KEY"] = "pk-lf-1"
	if s := openShelf(t, server, none); s.registry != nil || len(s.warnings) != 1 || !strings.Contains(s.warnings[0], "no LANGFUSE_SECRET_KEY") {
		t.Errorf("half of the keys: warnings %q", s.warnings)
	}
}

// TestPromptsOfSites holds the order: Langfuse, the files beside the sites, the built-in ones; and that --local-prompt leaves Langfuse out.
func TestPromptsOfSites(t *testing.T) {
	server := langfusetest.New(t)
	const meta, answer, own = "response-agents/meta-template", "response-agents/answer/template", "response-agents/answer/instructions/tea.example"
	server.AddPrompt(meta, "registry meta <{{lf_agent_instructions}}>", "production")
	server.AddPrompt(own, "registry {{company}}", "production")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tea.yaml":                "site: tea.example\ncompany: {name: Tea & Co}\nmodels: {default: lexical}\n",
		"prompts/" + meta + ".md": "file meta {{agent_instructions}}", "prompts/" + answer + ".md": "file answer [{{instructions}}]",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rendered := func(local bool, variables map[string]string) (answer, intent, said string) {
		t.Helper()
		var log, warned strings.Builder
		getenv := (&shelf{server: server, now: time.Now()}).env(variables)
		s, err := Open(Options{
			Log: slog.New(slog.NewTextHandler(&log, nil)), Warn: func(text string) { warned.WriteString(text + "\n") }, LocalPrompt: local,
			LookupEnv: func(name string) (string, bool) { value := getenv(name); return value, value != "" },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		opened, err := s.Sites(t.Context(), SitesOptions{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		one := opened.Library.Sites()[0]
		for node, to := range map[string]*string{prompt.AnswerWriter: &answer, prompt.IntentClassifier: &intent} {
			if *to, err = opened.Bot.Prompts.Render(context.Background(), one, node, prompt.Vars{}); err != nil {
				t.Fatal(err)
			}
		}
		return answer, intent, log.String() + warned.String()
	}
	for _, tc := range []struct {
		name      string
		local     bool
		variables map[string]string
		answer    string
		said      string
	}{
		{"Langfuse", false, nil, "registry meta <file answer [registry Tea & Co]>", "label production, then " + filepath.Join(dir, "prompts") + ", then built-in"},
		{"local", true, nil, "file meta file answer [Nothing in particular.]", "from=\"" + filepath.Join(dir, "prompts") + ", then built-in"},
		{"off", false, map[string]string{LangfuseEnabledEnv: "false"}, "file meta file answer [Nothing in particular.]", ""},
		{"down", false, map[string]string{"LANGFUSE_HOST": "http://127.0.0.1:1"}, "file meta file answer [Nothing in particular.]", "connection refused"},
	} {
		answer, intent, said := rendered(tc.local, tc.variables)
		if answer != tc.answer || !strings.HasPrefix(intent, "You classify") || !strings.Contains(said, tc.said) {
			t.Errorf("%s: answer %q, intent %.20q, said %s", tc.name, answer, intent, said)
		}
	}
}
