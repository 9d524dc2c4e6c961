package chatbot_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

// promptEnv finds variables: those that are given, or the server's.
func promptEnv(server *langfusetest.Server, variables map[string]string) func(string) string {
	return func(name string) string {
		if value, ok := variables[name]; ok {
			return value
		}
		return server.Getenv(name)
	}
}

// TestPromptsOff holds when there are none of Langfuse, and what is told of settings that cannot be meant.
func TestPromptsOff(t *testing.T) {
	server := langfusetest.New(t)
	none := map[string]string{"LANGFUSE_HOST": "", "LANGFUSE_PUBLIC_KEY": "", "LANGFUSE_SECRET_KEY": ""}
	half := map[string]string{"LANGFUSE_HOST": "", "LANGFUSE_PUBLIC_KEY": "pk-lf-1", "LANGFUSE_SECRET_KEY": ""}
	for _, tc := range []struct {
		variables map[string]string
		on        bool
		warning   string
	}{
		{map[string]string{langfuse.EnabledEnv: "false"}, false, ""},
		{map[string]string{langfuse.EnabledEnv: "FALSE"}, false, ""},
		{map[string]string{langfuse.EnabledEnv: "0"}, false, ""},
		{map[string]string{langfuse.EnabledEnv: "off"}, false, ""},
		{map[string]string{langfuse.EnabledEnv: " no "}, false, ""},
		{map[string]string{langfuse.EnabledEnv: "true"}, true, ""},
		{none, false, ""},
		{half, false, "no LANGFUSE_SECRET_KEY"},
	} {
		warned := ""
		prompts := chatbot.OpenPrompts(promptEnv(server, tc.variables), time.Now, server.Transport(),
			func(text string) {
				warned += text
			})
		if (prompts != nil) != tc.on || !strings.Contains(warned, tc.warning) || (warned == "") != (tc.warning == "") {
			t.Errorf("%v: prompts %v, warning %q", tc.variables, prompts, warned)
		}
		if prompts != nil {
			prompts.Close()
		}
	}
}

// TestPromptsOfSites holds the order: Langfuse, the files beside the sites, the built-in ones; and that --local-prompt
// leaves Langfuse out.
func TestPromptsOfSites(t *testing.T) {
	server := langfusetest.New(t)
	const meta, answer, own = "response-agents/meta-template", "response-agents/answer/template",
		"response-agents/answer/instructions/tea.example"
	server.AddPrompt(meta, "registry meta <{{lf_agent_instructions}}>", "production")
	server.AddPrompt(own, "registry {{company}}", "production")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tea.yaml":                  "site: tea.example\ncompany: {name: Tea & Co}\nmodels: {default: lexical}\n",
		"prompts/" + meta + ".md":   "file meta {{agent_instructions}}",
		"prompts/" + answer + ".md": "file answer [{{instructions}}]",
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
		getenv := promptEnv(server, variables)
		s, err := wire.Open(wire.Options{
			Log:  slog.New(slog.NewTextHandler(&log, nil)),
			Warn: func(text string) { warned.WriteString(text + "\n") }, LocalPrompt: local,
			LookupEnv: func(name string) (string, bool) { value := getenv(name); return value, value != "" },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		opened, err := s.Sites(t.Context(), chatbot.Options{Dir: dir})
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
		{
			"Langfuse", false, nil, "registry meta <file answer [registry Tea & Co]>",
			"label production, then " + filepath.Join(dir, "prompts") + ", then built-in",
		},
		{
			"local", true, nil, "file meta file answer [Nothing in particular.]",
			"from=\"" + filepath.Join(dir, "prompts") + ", then built-in",
		},
		{
			"off", false, map[string]string{langfuse.EnabledEnv: "false"},
			"file meta file answer [Nothing in particular.]", "",
		},
		{
			"down", false, map[string]string{"LANGFUSE_HOST": "http://127.0.0.1:1"},
			"file meta file answer [Nothing in particular.]", "connection refused",
		},
	} {
		answer, intent, said := rendered(tc.local, tc.variables)
		if answer != tc.answer || !strings.HasPrefix(intent, "You classify") || !strings.Contains(said, tc.said) {
			t.Errorf("%s: answer %q, intent %.20q, said %s", tc.name, answer, intent, said)
		}
	}
}
