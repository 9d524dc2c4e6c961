package wire_test

import (
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
)

// A target's flow is known where it is defined, where an agent elsewhere is said to follow it, and where a server is
// asked for it by its id.
func TestFlowID(t *testing.T) {
	dir := write(t, map[string]string{
		"tea.yaml": "id: tea\nversion: 1\nstart: a\nnodes:\n  - {id: a, type: start, prompt: Greet., next: [b]}\n" +
			"  - {id: b, type: stop, prompt: Goodbye.}\n",
		"rehearse.yaml": `targets:
  inside: {kind: flow, flow: tea.yaml, model: lexical}
  said: {url: "http://127.0.0.1:1", answer: {text: $.t, node: $.n}, flow: tea.yaml}
  server: {url: "http://127.0.0.1:1/execute", flow_id: tea}
  silent: {url: "http://127.0.0.1:1", answer: {text: $.t, node: $.n}}
`,
	})
	s := open(t, wire.Options{Config: filepath.Join(dir, "rehearse.yaml")}, nil)
	for name, want := range map[string]string{
		"inside": "tea", "said": "tea", "server": "tea", "silent": "", "nobody": "",
	} {
		if got := s.FlowID(name); got != want {
			t.Errorf("%s follows %q, want %q", name, got, want)
		}
	}
}
