package importer

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Suites of AgentV 5.x have the parts of promptfoo's, conversations with turns and criteria in words besides. Its
// targets are files of their own.

func fitsAgentV(root source.Value) bool {
	if isTargets(root) {
		return true
	}
	tests, _ := root.Get("tests")
	if tests.Kind == source.String && has(root, "assert") {
		return true
	}
	for _, t := range tests.Items {
		vars, _ := t.Get("vars")
		asserted, _ := t.Get("assert")
		criteria := false
		for _, a := range asserted.Items {
			criteria = criteria || a.Kind == source.String && !strings.HasPrefix(a.Scalar, "file://")
		}
		if has(t, "turns") || has(vars, "expected_output") || criteria || has(t, "id") && has(vars, "input") {
			return true
		}
	}
	return false
}

func readAgentV(r *reader, root source.Value) {
	if isTargets(root) {
		readTargets(r, root)
		return
	}
	top := r.entry(root, "")
	top.keep("$schema")
	top.ignore("it cannot affect a verdict", "description", "name", "version", "tags", "metadata", "governance")
	top.drop("it has no counterpart in a suite", "evaluate_options", "env", "output_path")
	p := newPromptfoo(r, "agentv")
	for _, v := range top.list("providers", "provider", "target", "targets") {
		if v.Kind == source.String && !strings.Contains(v.Scalar, ":") {
			r.wanted = append(r.wanted, Loss{
				File: r.file, Line: max(v.Line, 1), Status: Setting, What: v.Scalar,
				Why: "import the file that defines it, too",
			})
			continue
		}
		if id, _ := v.Get("id"); v.Kind == source.Map && !strings.Contains(id.Scalar, ":") {
			r.use(r.agentvTarget(v))
			continue
		}
		r.providers([]source.Value{v})
	}
	p.shared = top.list("assert", "assertions")
	p.prompts = p.readPrompts(top.list("prompts"))
	p.defaults = r.entry(r.included(top.get("default_test", "defaultTest"), "default_test"), "default_test")
	from := len(r.tests)
	p.sharedChecks()
	p.readTests(top.list("tests"))
	p.defaults.rest()
	top.rest()
	r.share(from, slices.Concat(*p.lostDefaults, r.taken()))
}

// agentvKeys reads the keys of a test that promptfoo does not have.
func (p *promptfoo) agentvKeys(c *testCase, e *entry) {
	c.turns = e.list("turns")
	e.keep("mode", "description")
	execution := p.entry(e.get("execution"), e.name("execution"))
	if skip, _ := execution.Get("skip_defaults"); skip.Scalar == "true" {
		c.skipDefaults, c.defaults = true, nil
	}
	execution.keep("skip_defaults")
	execution.rest()
	for _, name := range []string{"aggregation", "on_turn_failure", "window_size", "depends_on", "tags"} {
		if v := e.get(name); !empty(v) && (c.turns != nil || name == "depends_on" || name == "tags") {
			c.more = append(c.more, pair{name, v})
		}
	}
	if v, ok := c.vars.Get("expected_output"); ok {
		c.expected = p.reference(v)
		if text, isText := c.expected.(string); isText { // assertions name it, too
			named := source.Field{
				Name: "expected_output", Value: source.Value{Kind: source.String, Scalar: text, Line: v.Line},
				Line: v.Line,
			}
			c.vars = over(c.vars, source.Value{Kind: source.Map, Fields: []source.Field{named}})
		}
	}
	if id := e.text("conversation_id"); id != "" {
		c.metadata = c.metadata.with("conversation_id", id)
	}
}

// reference returns an expected output: a text, or the texts of the assistant's messages.
func (p *promptfoo) reference(v source.Value) any {
	if !isChat(v) {
		return scalarText(v)
	}
	var said []string
	for _, m := range v.Items {
		role, _ := m.Get("role")
		content, _ := m.Get("content")
		if role.Scalar == "assistant" {
			said = append(said, p.contentText(content))
		}
	}
	return strings.Join(said, "\n\n")
}

// agentvTurns writes the turns of a conversation.
func (p *promptfoo) agentvTurns(t *test, c *testCase, vars source.Value) {
	for _, v := range c.turns {
		before := len(p.pending)
		e := p.entry(v, "turn")
		one := turn{text: p.content(e.get("input"))}
		one.expected = p.reference(e.get("expected_output"))
		if !blank(one.expected) {
			p.carry(e.part("expected_output"))
		}
		inner := *c
		inner.asserted, inner.defaults = e.list("assert", "assertions"), nil
		one.assertions, _ = p.assertions(&inner, vars)
		e.rest()
		one.assertions = append(one.assertions, p.takenSince(before)...)
		t.turns = append(t.turns, one)
	}
}

// agentvAssertion reads the assertions that AgentV and suites have in common, and judges with prompts of their own.
func (p *promptfoo) agentvAssertion(e *entry, kind string) ([]any, float64) {
	if kind == "script" {
		return p.script(e)
	}
	if !p.knows(e.Value) {
		p.unsupported(e.Value, e.what, "suites have no such assertion")
		return nil, 1
	}
	written := pairs{{"type", strings.ReplaceAll(kind, "-", "_")}}
	for _, f := range e.Fields {
		switch f.Name {
		case "type":
		case "metric":
			written = written.with("name", f.Value)
		default:
			written = append(written, pair{f.Name, f.Value})
		}
	}
	found, _ := p.check(e.Value, e.what, written)
	return found, 1
}

// script returns a program that grades. It runs in the folder of the file that names it.
func (p *promptfoo) script(e *entry) ([]any, float64) {
	from, err := filepath.Rel(absolute(p.out), absolute(p.beside(e.text("cwd"))))
	if err != nil {
		from = absolute(p.beside(e.text("cwd")))
	}
	written := pairs{{"type", "code_grader"}, {"cwd", filepath.ToSlash(from)}}
	for _, f := range e.Fields {
		switch f.Name {
		case "type", "cwd":
		case "metric":
			written = written.with("name", f.Value)
		default:
			written = append(written, pair{f.Name, f.Value})
		}
	}
	found, _ := p.check(e.Value, e.what, written)
	return found, 1
}

// judged returns an llm-rubric that has a prompt as a judge with it; ok is false for one without.
func (p *promptfoo) judged(e *entry) (found []any, ok bool) {
	prompt := e.text("prompt")
	if prompt == "" {
		return nil, false
	}
	if path, named := strings.CutPrefix(prompt, "file://"); named {
		prompt = path
		if from, err := filepath.Rel(absolute(p.out), absolute(p.beside(path))); err == nil && !filepath.IsAbs(path) {
			prompt = filepath.ToSlash(from)
		}
		if !strings.HasPrefix(prompt, "../") && !filepath.IsAbs(prompt) {
			prompt = "./" + prompt
		}
	}
	keys := pairs{{"type", "judge"}, {"prompt", raw(prompt)}}.with("name", e.text("metric"))
	for _, name := range []string{"weight", "required", "min_score", "threshold", "negate"} {
		keys = keys.with(name, e.get(name))
	}
	e.drop("the judge is that of the configuration", "provider")
	if value := e.text("value"); value != "" {
		keys = keys.with("criteria", value)
	}
	if names := e.unread(); len(names) > 0 {
		p.unsupported(e.Value, e.what, "suites have no counterpart of its key %s", strings.Join(names, ", "))
		return nil, true
	}
	found, _ = p.check(e.Value, e.what, keys)
	return found, true
}

// raw returns a text whose placeholders are those of a judge's prompt.
func raw(s string) written { return written(s) }

func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}
