package llm

import (
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func files(contents map[string]string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if text, ok := contents[filepath.ToSlash(name)]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
}

func TestOpenScripted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{ReadFile: files(map[string]string{"suites/demo.yaml": `
rules:
  - {when: {model: ^judge$}, reply: judging}
  - {when: {user: busy}, fault: {status: 503, times: 2}, reply: at last}
  - {when: {user: hang}, fault: timeout}
default: {reply: hello you}`})}
		m := config.Model{Provider: "scripted", Name: "demo.yaml", Dir: "suites", Price: config.Price{
			Input: new(1e6), Output: new(2e6),
		}, Timeout: time.Second}
		agent, err := Open(m, o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := agent.Generate(t.Context(), say("busy one"))
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "reply", chat.Reply{Text: "at last", Usage: chat.Usage{
			InputTokens: 2, OutputTokens: 2,
		}, Cost: chat.Cost{USD: 6}, Attempts: 3, FinishReason: "stop"}, got)
		_, err = agent.Generate(t.Context(), say("hang"))
		e := wantError(t, err)
		diff(t, "fault", TimedOut, e.Fault)
		diff(t, "attempts", 3, e.Attempts)
		diff(t, "model", "scripted:demo.yaml at suites/demo.yaml", e.Model+" at "+filepath.ToSlash(e.At))

		m.Name, m.Retries = "demo.yaml#judge", new(0)
		judge, err := Open(m, o)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := judge.Generate(t.Context(), say("x")); err != nil || got.Text != "judging" {
			t.Errorf("got %q, %v", got.Text, err)
		}
	})
}

// Errors end up in reports, which have no path of the machine: files are named from the working folder.
func TestFilesInErrors(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	agent, tape := filepath.Join(here, "agent.yaml"), filepath.Join(here, "tape.jsonl")
	var recorded strings.Builder
	if _, err := NewRecorder(&recorded, nil).Record("a", script(t, "default: {reply: a}")).
		Generate(t.Context(), say("x")); err != nil {
		t.Fatal(err)
	}
	o := Options{ReadFile: func(name string) ([]byte, error) {
		return []byte(map[string]string{
			agent: "rules:\n  - {when: {user: broken}, fault: malformed}\n  - {when: {user: ^known$}, reply: yes}\n",
			tape:  recorded.String(),
		}[name]), nil
	}}
	for _, m := range []config.Model{
		{Provider: "scripted", Name: "agent.yaml", Dir: here, Retries: new(0)},
		{Provider: "cassette", Name: "tape.jsonl", Dir: here}, {Provider: "cassette", Name: "tape.jsonl#b", Dir: here},
	} {
		model, err := Open(m, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, message := range []string{"broken", "unknown"} {
			if _, err := model.Generate(t.Context(), say(message)); err == nil || strings.Contains(err.Error(), here) {
				t.Errorf("%s: %v", m.Name, err)
			}
		}
	}
}

func TestOpenOpenAI(t *testing.T) {
	calls := 0
	base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls == 1 {
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		reply(w, hello)
	})
	o := Options{Getenv: env(map[string]string{"OPENAI_BASE_URL": base}), Transport: transport(t), Limits: NewLimits()}
	m, err := Open(config.Model{Provider: "openai", Name: "agent"}, o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Generate(t.Context(), say("hi"))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "attempts", 2, got.Attempts)
}

func TestOpenCassette(t *testing.T) {
	var tape strings.Builder
	for _, name := range []string{"a", "b"} {
		if _, err := NewRecorder(&tape, nil).Record(name, script(t, "default: {reply: "+name+"}")).
			Generate(t.Context(), say("x")); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{ReadFile: files(map[string]string{"/tapes/t.jsonl": tape.String()})}
	m, err := Open(config.Model{Provider: "cassette", Name: "/tapes/t.jsonl#b", Dir: "elsewhere"}, o)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Generate(t.Context(), say("x")); err != nil || got.Text != "b" {
		t.Errorf("got %q, %v", got.Text, err)
	}
	if _, err := Open(config.Model{Provider: "cassette", Name: "/tapes/t.jsonl"}, o); err != nil {
		t.Error(err)
	}
}

func TestOpenProblems(t *testing.T) {
	o := Options{ReadFile: files(map[string]string{"bad.yaml": "rules: 1", "bad.jsonl": "x\n"})}
	for _, tc := range []struct {
		model config.Model
		o     Options
		want  string
	}{
		{config.Model{Provider: "opnai", Name: "x"}, o, `opnai: unknown provider "opnai" (did you mean "openai"? known: openai, azure, anthropic, google, ollama, openrouter, groq, mistral, deepseek, together, xai, scripted, lexical, cassette)`},
		{config.Model{Provider: "telepathy", Name: "x"}, o, `telepathy: unknown provider "telepathy" (known: anthropic, azure, cassette, deepseek, google, groq, lexical, mistral, ollama, openai, openrouter, scripted, together, xai)`},
		{config.Model{Provider: "openai", Name: "gpt-5"}, o, "openai:gpt-5 at https://api.openai.com/v1: " +
			"no API key (set OPENAI_API_KEY, or OPENAI_BASE_URL for another endpoint)"},
		{
			config.Model{Provider: "scripted", Name: "none.yaml", Dir: "d"}, o,
			"scripted:none.yaml: the file cannot be read: open " + filepath.Join("d", "none.yaml") +
				": file does not exist (relative names start at the configuration's directory)",
		},
		{config.Model{Provider: "scripted", Name: "x"}, Options{}, "scripted:x: no files can be read here"},
		{config.Model{Provider: "cassette", Name: "x"}, Options{}, "cassette:x: no files can be read here"},
		{config.Model{Provider: "scripted", Name: "bad.yaml"}, o, "bad.yaml:1:8: rules: expected a list, " +
			"got a number (write a list: each element on its own line behind `- `)"},
		{config.Model{Provider: "cassette", Name: "bad.jsonl"}, o, "bad.jsonl:1:1: not a recorded exchange: " +
			"invalid character 'x' looking for beginning of value (record the cassette again)"},
	} {
		m, err := Open(tc.model, tc.o)
		if err == nil || m != nil {
			t.Errorf("opened %v as %v", tc.model, m)
			continue
		}
		diff(t, "error", tc.want, err.Error())
		var e *Error
		var problems source.Problems
		if !errors.As(err, &e) && !errors.As(err, &problems) {
			t.Errorf("the error is a %T", err)
		}
	}
}

func TestProvidersAreDocumented(t *testing.T) {
	for _, p := range Providers() {
		if p.Doc == "" {
			t.Errorf("%s has no doc line", p.Name)
		}
		if _, err := ParseModel(p.Name + ":x"); err != nil {
			t.Error(err)
		}
	}
}

func TestParseModel(t *testing.T) {
	for _, tc := range []struct {
		text string
		want config.Model
		err  string
	}{
		{"openai:gpt-5", config.Model{Provider: "openai", Name: "gpt-5"}, ""},
		{" ollama:llama3:8b ", config.Model{Provider: "ollama", Name: "llama3:8b"}, ""},
		{"scripted:a/b.yaml#judge", config.Model{Provider: "scripted", Name: "a/b.yaml#judge"}, ""},
		{"", config.Model{}, `model "": no model is named (write PROVIDER:MODEL, such as openai:gpt-5)`},
		{" : ", config.Model{}, `model " : ": no model is named (write PROVIDER:MODEL, such as openai:gpt-5)`},
		{":x", config.Model{}, `model ":x": there is no provider (write it before the colon: openai, azure, anthropic, google, ollama, openrouter, groq, mistral, deepseek, together, xai, scripted, lexical, cassette)`},
		{"openai", config.Model{}, `model "openai": the provider openai is named without a model (write openai:MODEL)`},
		{
			"openai: ", config.Model{},
			`model "openai: ": the provider openai is named without a model (write openai:MODEL)`,
		},
		{"gpt-5", config.Model{}, `model "gpt-5": there is no provider (write PROVIDER:MODEL, such as openai:gpt-5)`},
		{"opena:gpt-5", config.Model{}, `model "opena:gpt-5": unknown provider "opena" (did you mean "openai"?)`},
		{"xyz:gpt-5", config.Model{}, `model "xyz:gpt-5": unknown provider "xyz" (known: anthropic, azure, cassette, deepseek, google, groq, lexical, mistral, ollama, openai, openrouter, scripted, together, xai)`},
	} {
		got, err := ParseModel(tc.text)
		diff(t, "model", tc.want, got)
		if err != nil || tc.err != "" {
			diff(t, "error", tc.err, err.Error())
		}
	}
}
