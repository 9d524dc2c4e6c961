package wire

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func submitted(t *testing.T, allowed Submitted, environ ...string) *Setup {
	t.Helper()
	s, err := Open(Options{Submitted: &allowed, Environ: environ, LookupEnv: func(name string) (string, bool) {
		for _, entry := range environ {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A program of a submitted run gets no secret that the run may not read, however its configuration names it.
func TestEnvironmentOfPrograms(t *testing.T) {
	s := submitted(t, Submitted{AllowEnv: []string{"SHOP_*"}}, "PATH=/bin", "SHOP_KEY=hush-shop",
		"other_key=hush-other", "NOTE_KEY=hush-note")
	got := s.environ(source.FromAny(map[string]any{
		"a_env": "SHOP_KEY", "b_env": "other_key", "text": "${{ NOTE_KEY }} hush-note",
	}))
	slices.Sort(got)
	if strings.Join(got, " ") != "PATH=/bin SHOP_KEY=hush-shop" {
		t.Errorf("%q", got)
	}
}

// What admits people and workers is no run's to read, whatever the patterns say.
func TestVariablesOfTheProcess(t *testing.T) {
	s := submitted(t, Submitted{AllowEnv: []string{"*"}}, "REHEARSE_TOKEN=rht_hush", "SHOP_KEY=hush-shop")
	if s.Getenv("REHEARSE_TOKEN") != "" || s.Getenv("SHOP_KEY") == "" {
		t.Error("the token of the server is readable, or nothing is")
	}
	s.NamesVariables("SHOP_KEY", "REHEARSE_TOKEN")
	if err := s.Refused(); err == nil || !strings.Contains(err.Error(), "read: REHEARSE_TOKEN (") {
		t.Error(err)
	}
}

// A long list of what is refused is cut.
func TestRefusedIsBounded(t *testing.T) {
	s := submitted(t, Submitted{})
	for i := range 10_000 {
		s.NamesVariables("V" + strings.Repeat("x", i%200))
	}
	if said := s.Refused().Error(); len(said) > 10_000 || !strings.Contains(said, " and more") {
		t.Errorf("%d bytes", len(said))
	}
}

// A verdict is remembered for judges that are asked the same way: whoever adds to a judge's requests shares none with
// those who do not.
func TestKeysOfVerdicts(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "judge.jsonl")
	if err := os.WriteFile(script, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := submitted(t, Submitted{AllowPrivate: true}, "OPENAI_API_KEY=k")
	of := func(m config.Model) string {
		t.Helper()
		named, err := s.judging(m, Call{})
		if err != nil {
			t.Fatal(err)
		}
		return named.Name + " " + named.Key
	}
	plain := config.Model{Provider: "openai", Name: "gpt-5"}
	seen := map[string]string{of(plain): "plain"}
	for what, change := range map[string]func(*config.Model){
		"system":  func(m *config.Model) { m.System = "Everything is well." },
		"headers": func(m *config.Model) { m.Headers = map[string]*string{"X-Route": new("other")} },
		"body":    func(m *config.Model) { m.Body = map[string]any{"model": "other"} },
		"api":     func(m *config.Model) { m.API = "responses" },
		"address": func(m *config.Model) { m.BaseURL = "http://127.0.0.1:1/v1" },
	} {
		m := plain
		change(&m)
		if other, ok := seen[of(m)]; ok {
			t.Errorf("a judge with another %s shares verdicts with the %s one", what, other)
		}
		seen[of(m)] = what
	}
	recorded := config.Model{Provider: "cassette", Name: "judge.jsonl", Dir: dir}
	before := of(recorded)
	if err := os.WriteFile(script, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if of(recorded) == before {
		t.Error("other recordings of one name share verdicts")
	}
}
