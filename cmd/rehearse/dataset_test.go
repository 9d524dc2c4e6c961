package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// datasetEnv is an environment in which a Langfuse is configured, with a clock that goes on by a step at each look, and
// what was printed.
func datasetEnv(s *langfusetest.Server, step time.Duration) (env *Env, stdout, stderr *bytes.Buffer) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	env = &Env{
		Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr,
		LookupEnv: func(name string) (string, bool) { value := s.Getenv(name); return value, value != "" },
		Now:       func() time.Time { now = now.Add(step); return now },
	}
	return env, stdout, stderr
}

// filled returns a server with a dataset of so many items.
func filled(t *testing.T, items int) *langfusetest.Server {
	t.Helper()
	s := langfusetest.New(t)
	s.AddDataset("d")
	for i := range items {
		s.AddItem("d", fmt.Sprintf("item-%03d", i), map[string]any{"query": "q"}, "r", nil)
	}
	return s
}

// TestDatasetProgress holds that long readings say on stderr how far they have come, and short ones nothing.
func TestDatasetProgress(t *testing.T) {
	s := filled(t, 30)
	for _, c := range []struct {
		step time.Duration
		want string
	}{
		{time.Second, "11 items read from d so far\n21 items read from d so far\n"},
		{time.Millisecond, ""},
	} {
		env, stdout, stderr := datasetEnv(s, c.step)
		if code := Main(t.Context(), env, []string{"dataset", "pull", "d"}); code != 0 ||
			strings.Count(stdout.String(), "\n") != 30 {
			t.Errorf("exit code %d, output %s", code, stdout)
		}
		if d := cmp.Diff(c.want, stderr.String()); d != "" {
			t.Error(d)
		}
	}
}

// TestDatasetInterrupted holds that a signal ends what is under way, and that what was not done is said.
func TestDatasetInterrupted(t *testing.T) {
	folder := t.TempDir()
	items := filepath.Join(folder, "items.jsonl")
	var lines strings.Builder
	for i := range 5 {
		fmt.Fprintf(&lines, `{"id": "new-%d", "input": "x", "expected_output": "y"}`+"\n", i)
	}
	if err := os.WriteFile(items, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		// at is in the address of the request that is answered when the signal comes.
		at           string
		stdout, want string
	}{
		{
			"pull", []string{"dataset", "pull", "d", "--out", filepath.Join(folder, "out.jsonl")}, "page=1", "",
			"interrupted",
		},
		{
			"push", []string{"dataset", "push", items, "d"}, "POST", "d: nothing was changed",
			"interrupted; 5 items not put, or not known to be: new-0, new-1",
		},
		{
			"purge", []string{"dataset", "purge", "d", "--yes"}, "DELETE", "d: nothing was changed",
			"run the same command again for the rest",
		},
		{"list", []string{"dataset", "list"}, "limit=1&page=1", "", "interrupted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := filled(t, 120)
			signals, ended := make(chan os.Signal), make(chan struct{})
			s.OnAnswer(func(r *http.Request) {
				if strings.Contains(r.Method+" "+r.URL.RequestURI(), c.at) {
					select {
					case signals <- os.Interrupt:
						select { // it is heeded: whoever asked is gone
						case <-r.Context().Done():
						case <-ended: // a server may not notice that
						}
					default: // it was heeded before
					}
				}
			})
			env, stdout, stderr := datasetEnv(s, time.Millisecond)
			env.Signals = signals
			code := Main(t.Context(), env, c.args)
			close(ended)
			if code != result.ExitInterrupted {
				t.Errorf("exit code %d", code)
			}
			if !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.want) {
				t.Errorf("stdout %q, stderr %q", stdout, stderr)
			}
		})
	}
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if d := cmp.Diff([]string{items}, left); d != "" || err != nil {
		t.Error(err, d)
	}
}

// TestDatasetSecrets holds that no key is printed, whatever the server says.
func TestDatasetSecrets(t *testing.T) {
	s := filled(t, 1)
	env, stdout, stderr := datasetEnv(s, time.Millisecond)
	echo := fmt.Sprintf(`{"message":"bad key %s for %s"}`, langfusetest.SecretKey, langfusetest.PublicKey)
	for range 3 {
		s.Fail(langfusetest.Fault{}, langfusetest.Fault{Status: 400, Body: echo})
		_ = Main(t.Context(), env, []string{"dataset", "purge", "d", "--yes", "--format", "json"})
	}
	if all := stdout.String() + stderr.String(); strings.Contains(all, langfusetest.SecretKey) ||
		!strings.Contains(all, "bad key") {
		t.Error(all)
	}
}
