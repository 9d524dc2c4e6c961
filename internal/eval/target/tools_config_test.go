package target

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func TestToolsOfATarget(t *testing.T) {
	for name, tc := range map[string]struct{ target, problem string }{
		"a program has the variable": {"{kind: command, command: a, mcp: {tools: tools.yaml}}", ""},
		"an address in with":         {`{url: "http://x", with: {t: "{{mcp_url}}"}, body: {m: "{{message}}", t: "{{with.t}}"}, mcp: {tools: tools.yaml}}`, ""},
		"an address in open": {
			`{url: "http://x", open: {path: /new, body: {t: "{{mcp_url}}"}}, mcp: {tools: tools.yaml}}`, "",
		},
		"a2a": {
			`{kind: a2a, url: "http://x", headers: {T: "{{mcp_url}}"}, mcp: {tools: tools.yaml}}`, "",
		},
		"a list": {`{kind: command, command: a, mcp: {tools: [{name: t}]}}`, ""},
		"no file": {
			"{kind: command, command: a, mcp: {tools: nowhere.yaml}}",
			"rehearse.yaml:2:47: targets.a.mcp.tools: the tools cannot be read",
		},
		"a folder": {"{kind: command, command: a, mcp: {tools: .}}", "is no file"},
		"a faulty file": {
			"{kind: command, command: a, mcp: {tools: faulty.yaml}}",
			"faulty.yaml:3:15: tools[0].results[0]: a result needs one of the two",
		},
		"a file without YAML": {
			"{kind: command, command: a, mcp: {tools: broken.yaml}}", "broken.yaml:2:1: ",
		},
		"a faulty list": {
			"{kind: command, command: a, mcp: {tools: [{nam: x}]}}", `targets.a.mcp.tools[0].nam: unknown key "nam"`,
		},
		"an empty list": {
			"{kind: command, command: a, mcp: {tools: []}}", "targets.a.mcp.tools: there are no tools",
		},
		"no tools": {"{kind: command, command: a, mcp: {}}", "targets.a.mcp: there are no tools"},
		"a name": {
			"{kind: command, command: a, mcp: tools.yaml}", "targets.a.mcp: expected a mapping",
		},
		"an address without tools": {
			`{url: "http://x", body: {t: "{{mcp_url}}"}}`, "{{ mcp_url }} needs a server of tools",
		},
		"an agent that is not told": {
			`{url: "http://x", mcp: {tools: tools.yaml}}`, "targets.a.mcp: {{mcp_url}} stands nowhere",
		},
		"a shared program": {
			`{kind: command, command: a, process: shared, mcp: {tools: tools.yaml}}`,
			"targets.a.mcp: {{mcp_url}} stands nowhere",
		},
		"before a conversation is known": {
			`{kind: command, command: "a {{mcp_url}}", process: shared, mcp: {tools: tools.yaml}}`,
			"{{mcp_url}} has no value when the program is started",
		},
		"a model": {
			"{model: openai:x, mcp: {tools: tools.yaml}}", "targets.a.mcp: a model is given its tools with the request",
		},
		"a flow": {
			"{kind: flow, flow: f.yaml, model: openai:x, mcp: {tools: tools.yaml}}",
			"targets.a.mcp: a target of kind flow has no place for {{mcp_url}}",
		},
		"a flow behind HTTP": {
			`{url: "http://x", flow_id: f, mcp: {tools: tools.yaml}}`,
			"targets.a.mcp: a target of kind execute has no place",
		},
		"a chatbot": {
			"{kind: sitebot, sites: s, model: openai:x, mcp: {tools: tools.yaml}}",
			"targets.a.mcp: a target of kind sitebot has no place",
		},
		"a path that is not known": {
			`{kind: command, command: a, mcp: {tools: "${{ REHEARSE_NO_SUCH_VARIABLE }}"}}`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for file, text := range map[string]string{
				config.Name:   "targets:\n  a: " + tc.target + "\n",
				"tools.yaml":  "tools: [{name: t, results: [{result: 1}]}]\n",
				"faulty.yaml": "tools:\n  - name: t\n    results: [{}, {whn: 1, result: 2}]\n",
				"broken.yaml": "tools:\n\t- x: [\n",
			} {
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f, err := config.Load(source.Files{}, filepath.Join(folder, config.Name), Kinds(), os.LookupEnv)
			switch {
			case tc.problem == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.problem == "" && len(f.Targets["a"].Tools) != 1 && !strings.Contains(tc.target, "${{"):
				t.Errorf("tools: %+v", f.Targets["a"].Tools)
			case tc.problem != "" && (err == nil || !strings.Contains(err.Error(), tc.problem)):
				t.Errorf("got %v, want %s", err, tc.problem)
			}
		})
	}
}

// Files of tools are read from where the configuration is, and from nowhere else.
func TestToolsWithinAFolder(t *testing.T) {
	outside := t.TempDir()
	inside := filepath.Join(outside, "run")
	for name, text := range map[string]string{
		"run/rehearse.yaml": "targets:\n  a: {kind: command, command: a, mcp: {tools: tools.yaml}}\n" +
			"  b: {kind: command, command: b, mcp: {tools: ../secret.yaml}}\n",
		"run/tools.yaml": "tools: [{name: t}]\n", "secret.yaml": "tools: [{name: t}]\n",
	} {
		path := filepath.Join(outside, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(inside)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	f, err := config.Load(source.Within(root), config.Name, Kinds(), os.LookupEnv)
	if err == nil ||
		!strings.Contains(err.Error(), "rehearse.yaml:3:47: targets.b.mcp.tools: the tools cannot be read") ||
		strings.Contains(err.Error(), "targets.a") {
		t.Errorf("got %v", err)
	}
	if len(f.Targets["a"].Tools) != 1 {
		t.Errorf("tools: %+v", f.Targets["a"].Tools)
	}
}
