package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/mcptools"
)

// toolClient is the client of the SDK, connected to `rehearse mcp`.
type toolClient struct {
	*testing.T
	session *sdk.ClientSession
	signals chan os.Signal
	// left is closed when the program has ended; code is its exit code.
	left chan struct{}
	code int
}

// connect runs `rehearse mcp` in an empty folder.
func connect(t *testing.T, environ ...string) *toolClient {
	t.Helper()
	t.Chdir(t.TempDir())
	in, asks := io.Pipe()
	answers, out := io.Pipe()
	c := &toolClient{T: t, signals: make(chan os.Signal, 2), left: make(chan struct{})}
	env, _ := secretsEnv(append(environ, "HOME="+t.TempDir()))
	env.Stdin, env.Stdout, env.Signals = in, out, c.signals
	go func() {
		defer close(c.left)
		c.code = Main(context.Background(), env, []string{"mcp"})
		_ = out.Close()
	}()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.IOTransport{Reader: answers, Writer: asks}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.session = session
	t.Cleanup(func() {
		_ = session.Close()
		_ = asks.Close()
		<-c.left
	})
	return c
}

// call calls a tool, and returns what it came to, and the text that a model reads.
func (c *toolClient) call(tool string, args map[string]any) (o mcptools.Result, said string) {
	c.Helper()
	answer, err := c.session.CallTool(c.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		c.Fatalf("%s: %v", tool, err)
	}
	text, _ := answer.Content[0].(*sdk.TextContent)
	data, err := json.Marshal(answer.StructuredContent)
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		c.Fatalf("%s: %v: %s", tool, err, data)
	}
	if answer.IsError != (o.ExitCode >= result.ExitInvalid) {
		c.Errorf("%s: exit code %d, an error: %v", tool, o.ExitCode, answer.IsError)
	}
	return o, text.Text
}

// holds calls a tool and compares its exit code, and the beginning of what its model reads, and looks for parts in the
// rest.
func (c *toolClient) holds(code int, begins, tool string, args map[string]any, parts ...string) string {
	c.Helper()
	o, said := c.call(tool, args)
	if o.ExitCode != code || !strings.HasPrefix(said, begins) {
		c.Errorf("%s %v: exit code %d, want %d and %q:\n%s", tool, args, o.ExitCode, code, begins, said)
	}
	for _, part := range parts {
		if !strings.Contains(said, part) {
			c.Errorf("%s %v lacks %q:\n%s", tool, args, part, said)
		}
	}
	return said
}

func (c *toolClient) write(name, text string) {
	c.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
}

// A coding agent begins a suite, runs it, breaks it, reads why it fails, and mends it.
func TestToolsOfTheProgram(t *testing.T) {
	c := connect(t)
	offered, err := c.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range offered.Tools {
		names = append(names, tool.Name)
	}
	if want := []string{
		"compare", "grade", "graders", "init", "run", "show", "validate",
	}; !slices.Equal(slices.Sorted(slices.Values(names)), want) {
		t.Errorf("tools %v, want %v", names, want)
	}
	suite := []string{"evals/suite.yaml"}
	c.holds(0, "exit code 0: written\n", "init", map[string]any{"folder": "evals"}, "wrote evals/suite.yaml")
	c.holds(2, "exit code 2: wrong usage", "init", map[string]any{"folder": "evals"}, "exists already")
	c.holds(0, "exit code 0: valid\n", "validate", map[string]any{"suites": suite}, "2 tests")
	c.holds(0, "exit code 0: nothing was run", "run", map[string]any{"suites": suite, "dry_run": true},
		"remembers-the-name")
	c.holds(0, "exit code 0: passed\n", "run", map[string]any{"suites": suite}, "All 2 tests passed")

	c.write("evals/agent.yaml", "default: {reply: no idea}\n")
	c.holds(1, "exit code 1: failed\n", "run", map[string]any{"suites": suite, "filter": []string{"single-*"}},
		"single-turn")
	c.holds(0, "exit code 0: shown; whether", "show", map[string]any{"run": "latest"}, "single-turn")
	c.holds(0, "exit code 0: shown; whether", "show", map[string]any{"test": "single-turn"}, "6 times 7", "no idea")
	c.holds(0, "exit code 0: shown; whether", "show", nil, "failed")
	c.holds(2, "exit code 2: wrong usage", "show", map[string]any{"run": "latest", "test": "nowhere"}, "no test called")

	c.write("evals/suite.yaml", "name: starter\ntests: [{id: single-turn, input: What is 6 times 7?, assertions: "+
		"[{type: contains, value: idea}]}]\n")
	c.holds(0, "exit code 0: passed\n", "grade", map[string]any{"run": "latest"}, "single-turn")
	c.write("evals/suite.yaml", "tests: [{id: a, inputs: hi}]\n")
	c.holds(2, "exit code 2: wrong usage or invalid input", "validate", map[string]any{"suites": suite},
		"suite.yaml:1:")
	c.holds(2, "exit code 2: wrong usage or invalid input", "run", map[string]any{"suites": suite}, "suite.yaml:1:")
	c.holds(2, "exit code 2: wrong usage", "compare", map[string]any{"baseline": "nowhere", "candidate": "latest"},
		"nowhere")
	c.holds(0, "exit code 0: passed", "compare", map[string]any{"baseline": "latest", "candidate": "latest"})
	c.holds(0, "exit code 0: explained\n", "graders", map[string]any{"type": "regex"}, "regex —")
	c.holds(0, "exit code 0: listed\n", "graders", nil, "contains")
	c.holds(2, "exit code 2: wrong usage", "graders", map[string]any{"type": "regexp_of"}, "there is no grader")
}

// What is not run has not passed: an agent that cannot be reached is an error, not a failure, and names are no flags.
func TestToolsAreNeverGreener(t *testing.T) {
	c := connect(t)
	c.write("suite.yaml",
		"tests: [{id: a, input: hi, assertions: [{type: contains, value: hi}]}, {id: b, input: hi}]\n")
	c.holds(3, "exit code 3: something could not be run", "run", map[string]any{
		"suites": []string{"suite.yaml"},
		"target": []string{"http://127.0.0.1:1/"},
	})
	c.holds(2, "exit code 2: ", "run", map[string]any{"suites": []string{"--help"}})
	c.holds(2, "exit code 2: ", "run", nil)
	c.holds(2, "exit code 2: ", "validate", map[string]any{"suites": []string{}})
	c.holds(2, "exit code 2: ", "run", map[string]any{"suites": []string{"suite.yaml"}, "trials": 0})
	c.holds(2, "exit code 2: ", "run", map[string]any{"suites": []string{"suite.yaml"}, "threshold": 7})
	for tool, args := range map[string]map[string]any{
		"validate": {}, "compare": {"baseline": "latest"}, "run": {"suits": []string{"suite.yaml"}},
		"init": {"force": true},
	} {
		answer, err := c.session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
		if err == nil && !answer.IsError {
			t.Errorf("%s %v is taken", tool, args)
		}
	}
}

// Long outputs are bounded and say what is left out; secrets are masked.
func TestToolsReturnExcerpts(t *testing.T) {
	c := connect(t, "SHOP_API_KEY=hush-hush-98765", "FORCE_COLOR=1")
	c.write("agent.yaml", "default: {reply: '"+strings.Repeat("привет ", 20_000)+"hush-hush-98765'}\n")
	c.write("suite.yaml", "tests: [{id: a, input: hi, assertions: [{type: contains, value: Ende}]}]\n")
	if o, said := c.call("run", map[string]any{
		"suites": []string{"suite.yaml"},
		"target": []string{"scripted:agent.yaml"},
	}); o.ExitCode != 1 || strings.Contains(said, "\x1b") {
		t.Fatalf("%d: %s", o.ExitCode, said)
	}
	o, said := c.call("show", map[string]any{"test": "a"})
	if o.LeftOut < 100_000 || !strings.Contains(said, "bytes left out]") {
		t.Errorf("%d bytes left out", o.LeftOut)
	}
	if n := len(said); n > 29<<10 || !utf8.ValidString(said) || strings.Contains(said, "\uFFFD") {
		t.Errorf("%d bytes, valid: %v", n, utf8.ValidString(said))
	}
	if strings.Contains(said, "hush-hush") || !strings.Contains(said, "redacted SHOP_API_KEY") {
		t.Errorf("not masked: …%s", said[max(0, len(said)-400):])
	}
}

// slow begins a run that takes long, and returns when a test of it is done.
func (c *toolClient) slow(ctx context.Context) (answered chan error) {
	c.Helper()
	c.write("agent.yaml", "default: {reply: fine, delay: 200ms}\n")
	var tests strings.Builder
	for i := range 200 {
		fmt.Fprintf(&tests, "  - {id: t%d, input: hi}\n", i)
	}
	c.write("suite.yaml", "tests:\n"+tests.String())
	answered = make(chan error, 1)
	go func() {
		_, err := c.session.CallTool(ctx, &sdk.CallToolParams{Name: "run", Arguments: map[string]any{
			"suites": []string{"suite.yaml"}, "target": []string{"scripted:agent.yaml"}, "workers": 1,
		}})
		answered <- err
	}()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		o, _ := c.call("show", nil)
		if strings.Contains(o.Output, "running") {
			return answered
		}
		if time.Now().After(deadline) {
			c.Fatalf("the run does not begin:\n%s%s", o.Output, o.Notes)
		}
	}
}

// A call that is cancelled interrupts its run, which can be resumed; the server goes on.
func TestCancelledToolInterrupts(t *testing.T) {
	c := connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	answered := c.slow(ctx)
	cancel()
	if err := <-answered; err == nil {
		t.Error("the call was answered")
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		o, _ := c.call("show", nil)
		if strings.Contains(o.Output, "interrupted") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the run goes on:\n%s", o.Output)
		}
	}
}

// A signal interrupts what is at work, and the program ends when its results are written.
func TestSignalEndsTools(t *testing.T) {
	c := connect(t)
	c.slow(t.Context())
	c.signals <- os.Interrupt
	<-c.left
	env, out := secretsEnv([]string{"HOME=" + t.TempDir()})
	if code := Main(t.Context(), env, []string{"show"}); c.code != 0 || code != 0 ||
		!strings.Contains(out.String(), "interrupted") {
		t.Errorf("exit codes %d and %d:\n%s", c.code, code, out)
	}
}

// The guide and the skill name commands that there are, with flags that they have; the skill names every tool.
func TestSkill(t *testing.T) {
	for _, page := range []string{"../../skills/rehearse/SKILL.md", "../../docs/guides/coding-agents.md"} {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		named := map[string]bool{}
		for _, found := range regexp.MustCompile("`rehearse ([^`]+)`").FindAllStringSubmatch(string(data), -1) {
			c, rest, err := newRoot(&Env{}).Find(strings.Fields(found[1]))
			if err == nil {
				named[c.Name()] = true
				err = c.ParseFlags(rest)
			}
			if err != nil || c.Name() == "rehearse" {
				t.Errorf("%s: %s: %v", page, found[0], err)
			}
		}
		for _, tool := range []string{"init", "validate", "run", "show", "compare", "grade", "graders"} {
			if !named[tool] || !strings.Contains(string(data), "| `"+tool+"` |") {
				t.Errorf("%s does not name %s", page, tool)
			}
		}
	}
}
