package wire_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Tools are served from the first conversation that needs them until the setup is closed, and nothing of that stays.
func TestToolsAreServedForTheRun(t *testing.T) {
	before := goleak.IgnoreCurrent()
	path := filepath.Join(t.TempDir(), "rehearse.yaml")
	config := "targets:\n  t: {kind: command, command: 'echo {{mcp_url}}', process: turn, mcp: {tools: [{name: " +
		"f}]}}\n  u: {kind: command, command: 'echo no tools', process: turn}\n"
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := wire.Open(wire.Options{Config: path, LookupEnv: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	address := func(name string) string {
		opened, err := s.Target(name, suite.Execution{})
		if err != nil {
			t.Fatal(err)
		}
		goleak.VerifyNone(t, before) // opening a target serves nothing
		session, err := opened.Open(t.Context(), runner.Opening{Test: &suite.Test{ID: "a"}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = session.Close() }()
		reply, err := session.Send(t.Context(), chat.Content{Text: "hello"})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Text
	}
	address("u")
	goleak.VerifyNone(t, before)
	tools := address("t")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(tools)
	if err != nil || response.StatusCode != http.StatusNotFound { // the conversation is over
		t.Fatalf("%+v, %v", response, err)
	}
	_ = response.Body.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if response, err := client.Get(tools); err == nil {
		_ = response.Body.Close()
		t.Error("tools are served after the end")
	}
	goleak.VerifyNone(t, before)
}
