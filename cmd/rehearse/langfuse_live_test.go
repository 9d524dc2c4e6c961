package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// stuckModel is an OpenAI-compatible server that classifies everything as LEARN, but never answers to a message that
// holds "stuck". asked is told of every message to which it does not answer.
func stuckModel(t *testing.T) (url string, asked <-chan struct{}) {
	t.Helper()
	stuck, over := make(chan struct{}, 100), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "stuck") {
			stuck <- struct{}{}
			select {
			case <-r.Context().Done():
			case <-over:
			}
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"{\"label\":\"LEARN\",\"intent\":\"LEARN\",\"confidence\":0.5}"}}]}`)
	}))
	t.Cleanup(func() { close(over); s.Close() })
	return s.URL + "/v1", stuck
}

// fourItems are items in a dataset of the server, of which the last one is never answered.
func fourItems(t *testing.T) *program {
	t.Helper()
	s := langfusetest.New(t)
	s.AddDataset("d")
	for i := range 4 {
		message := fmt.Sprintf("hello %d", i+1)
		if i == 3 {
			message = "stuck"
		}
		s.AddItem("d", fmt.Sprintf("i%d", i+1), map[string]any{"message": message}, map[string]any{
			"label": "LEARN",
		}, map[string]string{"site_name": "kestrel-rota.example"})
	}
	return &program{server: s, variables: map[string]string{"OPENAI_API_KEY": "sk-test-1234567890"}}
}

// waitFor waits until a server has so many items of runs with a score each.
func waitFor(t *testing.T, s *langfusetest.Server, n int) {
	t.Helper()
	for began := time.Now(); len(s.RunItems()) < n || len(s.Scores()) < n; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("%d items and %d scores were logged while the run went on, want %d", len(s.RunItems()),
				len(s.Scores()), n)
		}
	}
}

// TestLogsWhileItRuns holds that what is finished is in Langfuse while the run still goes on, and so also after the
// program is killed.
func TestLogsWhileItRuns(t *testing.T) {
	root, err := filepath.Abs("../../examples/sites")
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"classify": {"classify", "d", "--model", "openai:m", "--workers", "1"},
		"e2e": {
			"e2e", "d", "--sites", root, "--model", "openai:m", "--judge", "none", "--workers", "1", "--local-prompt",
			"--format", "none", "--out", filepath.Join(t.TempDir(), "out"),
		},
	} {
		p := fourItems(t)
		if name == "e2e" { // an answer is expected, not a label
			for i := range 4 {
				id := fmt.Sprintf("i%d", i+1)
				item := p.server.Item(id)
				input, _ := item["input"].(map[string]any)
				p.server.RemoveItem(id)
				p.server.AddItem("d", id, input, map[string]any{"assertions": []any{map[string]any{
					"type": "contains", "value": "LEARN",
				}}}, item["metadata"])
			}
		}
		url, asked := stuckModel(t)
		p.variables["OPENAI_BASE_URL"] = url
		signals := make(chan os.Signal, 2)
		p.signals = signals
		type ended struct {
			code           int
			stdout, stderr string
		}
		end := make(chan ended, 1)
		go func() {
			code, stdout, stderr := p.run(t, args...)
			end <- ended{code, stdout, stderr}
		}()
		select {
		case <-asked:
		case e := <-end:
			t.Fatalf("%s ended: %+v", name, e)
		}
		waitFor(t, p.server, 3)
		signals <- os.Interrupt
		signals <- os.Interrupt // e2e would wait for what is in flight
		e := <-end
		if e.code != result.ExitInterrupted ||
			!strings.Contains(e.stderr, "of the dataset d, which broke off after 3 items") {
			t.Errorf("%s: exit code %d, stderr %s", name, e.code, e.stderr)
		}
		if n := len(p.server.RunItems()); n != 3 {
			t.Errorf("%s: %d items in the run, want the 3 that were finished", name, n)
		}
		for _, s := range p.server.Scores() {
			if s["name"] == "accuracy" || s["name"] == "passed" {
				t.Errorf("%s: a run that broke off has the score %v", name, s["name"])
			}
		}
	}
}

// TestInterruptedRunIsLogged holds that what waited when a signal came is sent before the program ends.
func TestInterruptedRunIsLogged(t *testing.T) {
	p := fourItems(t)
	url, asked := stuckModel(t)
	p.variables["OPENAI_BASE_URL"] = url
	signals := make(chan os.Signal, 1)
	p.signals = signals
	go func() {
		<-asked
		signals <- os.Interrupt
	}()
	code, _, stderr := p.run(t, "classify", "d", "--model", "openai:m", "--workers", "1", "--grace", "1s")
	if code != result.ExitInterrupted || len(p.server.RunItems()) != 3 ||
		!strings.Contains(stderr, "broke off after 3 items") {
		t.Errorf("exit code %d, %d items, stderr %s", code, len(p.server.RunItems()), stderr)
	}
}
