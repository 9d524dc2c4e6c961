package importer

import (
	"path/filepath"
	"slices"
	"strings"

	"rehearse/internal/source"
)

// Suites of AgentV 5.x have the parts of promptfoo's, conversations with turns and criteria in words besides. Its targets are files of their own.

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
			criteria = criteria || a.Kind == source.String
		}
		if has(t, "turns") || has(vars, "expected_output") || criteria || has(t, "id") && has(vars, "input") {
			return true
		}
	}
	return false
}

// isTargets reports whether a document lists targets and nothing else.
func isTargets(root source.Value) bool {
	list := listOfTargets(root)
	one := first(list)
	return !has(root, "tests") && !has(root, "prompts") && list.Kind == source.List && (has(one, "name") && (has(one, "provider") || has(one, "use_target")) || has(one, "id") && has(one, "label") && !has(one, "messages"))
}

// listOfTargets returns the targets of a document, which a list of them may be itself.
func listOfTargets(root source.Value) source.Value {
	for _, name := range []string{"targets", "providers"} {
		if list, ok := root.Get(name); ok {
			return list
		}
	}
	return root
}

func readAgentV(r *reader, root source.Value) {
	if isTargets(root) {
		readTargets(r, root)
		return
	}
	top := r.entry(root, "")
	top.keep("description", "name", "$schema")
	p := &promptfoo{reader: r, kind: "agentv", read: new(int)}
	for _, v := range top.list("providers", "provider", "target", "targets") {
		if v.Kind == source.String && !strings.Contains(v.Scalar, ":") {
			r.wanted = append(r.wanted, Loss{r.file, max(v.Line, 1), v.Scalar, "import the file that defines it, too"})
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
	p.defaults = r.entry(r.included(top.get("default_test", "defaultTest")), "default_test")
	p.readTests(top.list("tests"))
	p.defaults.rest()
	top.rest()
}

// agentvKeys reads the keys of a test that promptfoo does not have.
func (p *promptfoo) agentvKeys(c *testCase, e *entry) {
	c.turns = e.list("turns")
	e.keep("mode", "description")
	for _, name := range []string{"aggregation", "on_turn_failure", "window_size", "depends_on", "tags"} {
		if v := e.get(name); !empty(v) && (c.turns != nil || name == "depends_on" || name == "tags") {
			c.more = append(c.more, pair{name, v})
		}
	}
	if v, ok := c.vars.Get("expected_output"); ok {
		c.expected = p.reference(v)
		if text, isText := c.expected.(string); isText { // assertions name it, too
			named := source.Field{Name: "expected_output", Value: source.Value{Kind: source.String, Scalar: text, Line: v.Line}, Line: v.Line}
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
		e := p.entry(v, "turn")
		one := turn{text: p.content(e.get("input"))}
		one.expected = p.reference(e.get("expected_output"))
		inner := *c
		inner.asserted = e.list("assert", "assertions")
		one.assertions, _ = p.assertions(&inner, vars)
		e.rest()
		t.turns = append(t.turns, one)
	}
}

// agentvAssertion reads the assertions that AgentV and suites have in common, and judges with prompts of their own.
func (p *promptfoo) agentvAssertion(c *testCase, e *entry, kind string) ([]any, float64) {
	written := pairs{{"type", strings.ReplaceAll(kind, "-", "_")}}
	if kind == "script" {
		return p.script(e)
	}
	for _, f := range e.Fields {
		switch f.Name {
		case "type":
		case "metric":
			written = written.with("name", f.Value)
		default:
			written = append(written, pair{f.Name, f.Value})
		}
	}
	found, ok := p.check(e.Line, e.what, written)
	if !ok {
		return nil, 1
	}
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
	found, _ := p.check(e.Line, e.what, written)
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
	e.rest()
	found, _ = p.check(e.Line, e.what, keys)
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

// readTargets reads the targets of a project.
func readTargets(r *reader, root source.Value) {
	if root.Kind == source.Map {
		top := r.entry(root, "")
		top.keep("targets")
		if !has(root, "targets") {
			top.keep("providers")
		}
		top.rest()
	}
	for _, v := range listOfTargets(root).Items {
		if len(r.targets) >= maxTargets {
			r.lose(v.Line, "targets", "there are more than %d", maxTargets)
			return
		}
		r.agentvTarget(v)
	}
}

// agentvTarget makes a target, and returns its name; it is empty when there is none.
func (r *reader) agentvTarget(v source.Value) string {
	if config, ok := v.Get("config"); ok && config.Kind == source.Map { // version 5 has its keys there
		config.Fields = slices.DeleteFunc(slices.Clone(config.Fields), func(f source.Field) bool { return has(v, f.Name) })
		v.Fields = slices.Concat(slices.DeleteFunc(slices.Clone(v.Fields), func(f source.Field) bool { return f.Name == "config" }), config.Fields)
	}
	e := r.entry(v, "target")
	e.keep("runtime")
	name := e.text("name", "label", "id")
	provider := e.text("provider", "id")
	e.what = "target " + name
	if use := e.text("use_target"); use != "" {
		r.lose(v.Line, e.what, "it stands for another target: name that one with --target")
		return ""
	}
	var keys pairs
	known := providersByName()[provider]
	switch {
	case provider == "cli":
		keys = r.cliTarget(e)
	case known != "":
		model := e.text("model", "deployment")
		if model == "" {
			r.lose(v.Line, e.what, "it names no model")
			return ""
		}
		keys = pairs{{"provider", known}, {"model", environmentIn(model)}}
		keys = keys.with("base_url", environmentIn(e.text("base_url", "endpoint"))).with("api_version", environmentIn(e.text("version", "api_version")))
		if key := e.text("api_key"); key != "" {
			if variable := variableOf(key); variable != "" {
				keys = append(keys, pair{"api_key_env", variable})
			} else {
				r.lose(e.lineOf("api_key"), e.name("api_key"), "keys of providers come from the environment: name the variable in api_key_env")
			}
		}
		for _, key := range []string{"temperature", "seed", "top_p"} {
			keys = keys.with(key, e.get(key))
		}
		keys = keys.with("max_tokens", e.get("max_tokens", "max_output_tokens"))
		switch api := e.text("api_format"); api {
		case "responses":
			keys = append(keys, pair{"api", api})
		case "", "chat":
		default:
			r.lose(e.lineOf("api_format"), e.name("api_format"), "it is chat or responses")
		}
	default:
		r.lose(v.Line, e.what, "the provider %s drives no chat agent that a target could be", provider)
		return ""
	}
	if keys == nil {
		return ""
	}
	e.drop("the judge is that of the configuration", "grader_target", "judge_target")
	e.rest()
	return r.target(name, keys)
}

// variableOf returns the variable that a text names and nothing else.
func variableOf(s string) string {
	name, ok := strings.CutPrefix(environmentIn(strings.TrimSpace(s)), "${{ ")
	if name, rest, _ := strings.Cut(name, " }}"); ok && rest == "" {
		return strings.TrimSpace(name)
	}
	return ""
}

// cliTarget returns a program that is started for each turn.
func (r *reader) cliTarget(e *entry) pairs {
	command := environmentIn(e.text("command"))
	if strings.TrimSpace(command) == "" || strings.Contains(command, "{OUTPUT_FILE}") || strings.Contains(command, "{FILES}") || strings.Contains(command, "{PROMPT_FILE}") {
		r.lose(e.lineOf("command"), e.name("command"), "a program gets the message and answers on its standard output, without files")
		return nil
	}
	command = strings.NewReplacer("{PROMPT}", "{{message}}", "{EVAL_ID}", "{{test_id}}").Replace(command)
	return pairs{{"kind", "command"}, {"command", command}, {"process", "turn"}}.with("cwd", e.text("cwd"))
}
