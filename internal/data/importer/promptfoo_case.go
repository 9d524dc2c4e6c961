package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// readTest makes tests of one: one for each prompt and each combination of listed values.
func (p *promptfoo) readTest(v source.Value) {
	*p.read++
	e := p.entry(v, "test")
	id := p.named(e)
	c := p.caseOf(e)
	c.id, c.original = id, v
	if c.original.Kind != source.Map {
		c.original = one("test", v)
	}
	c.unsupported = p.taken()
	all := combinations(c.vars)
	if all == nil {
		p.placeholder(c.original, id, "the lists of its vars make more than %d tests", maxCombinations)
		return
	}
	prompts := p.prompts
	if len(prompts) == 0 {
		prompts = []prompt{{text: "{{prompt}}", line: e.Line}}
		if p.kind == "agentv" {
			prompts[0].text = "{{input}}"
		}
	}
	for _, vars := range all {
		for i, one := range prompts {
			name := c.id
			if len(prompts) > 1 {
				if one.label == "" {
					one.label = fmt.Sprintf("prompt-%d", i+1)
				}
				name += "/" + one.label
			}
			p.hold(c, name, fmt.Sprint(i), one, vars)
		}
	}
}

// testCase is a test over the defaults.
type testCase struct {
	id   string
	line int
	// original is the test in the file, and unsupported are the checks that reading it found.
	original    source.Value
	unsupported []any
	vars        source.Value
	// defaults are the assertions of every test, asserted its own.
	defaults, asserted []source.Value
	skipDefaults       bool
	// transform is true if the assertions look at the result of one; rubricPrompt if a prompt of the test decides what
	// a judge looks for.
	transform    bool
	rubricPrompt bool
	conversation string
	joins        bool
	threshold    float64
	metadata     pairs
	target       string
	turns        []source.Value
	more         pairs
	expected     any
	simulated    *entry
}

func (p *promptfoo) caseOf(e *entry) *testCase {
	c := &testCase{line: e.Line, simulated: p.simulated, threshold: -1}
	c.vars = over(p.variables(p.defaults.get("vars")), p.variables(e.get("vars")))
	c.defaults = slices.Concat(p.shared, p.defaults.list("assert", "assertions"))
	c.asserted = e.list("assert", "assertions")
	p.options(c, p.defaults.get("options"), "defaultTest.options")
	p.options(c, e.get("options"), e.name("options"))
	if n, ok := p.defaults.number("threshold"); ok {
		c.threshold = n
	}
	if n, ok := e.number("threshold"); ok {
		c.threshold = n
	}
	metadata := over(p.defaults.get("metadata"), e.get("metadata"))
	if id, ok := metadata.Get("conversationId"); ok {
		c.conversation, c.joins = id.Scalar, true
	}
	for _, f := range metadata.Fields {
		if f.Name != "conversationId" {
			c.metadata = c.metadata.with(f.Name, f.Value)
		}
	}
	if provider := e.get("provider"); provider.Kind != source.Null {
		if named := p.provider(provider); named.simulated != nil {
			c.simulated = named.simulated
		} else {
			c.target = named.name
		}
	}
	if provider := p.defaults.get("provider"); provider.Kind != source.Null && c.simulated == nil {
		c.simulated = p.provider(provider).simulated
	}
	if p.kind == "agentv" {
		p.agentvKeys(c, e)
	} else {
		e.drop("the test runs with every prompt and provider", "prompts", "providers")
	}
	e.rest()
	return c
}

// options reads the options of a test or of all tests that change what checks look at.
func (p *promptfoo) options(c *testCase, v source.Value, what string) {
	e := p.settings(v, what)
	c.transform = c.transform || !empty(e.get("transform", "postprocess"))
	c.rubricPrompt = c.rubricPrompt || !empty(e.get("rubricPrompt"))
	if v := e.get("factuality"); !empty(v) {
		p.unsupported(e.part("factuality"), e.name("factuality"), "suites have no scores for kinds of agreement")
	}
	e.rest()
}

// hold makes a test of a case, or a turn of the conversation before it.
func (p *promptfoo) hold(c *testCase, id, promptKey string, one prompt, vars source.Value) {
	if p.full() {
		return
	}
	spoken, loops, err := p.messages(c, one, vars)
	if err != nil {
		p.taken()
		p.placeholder(c.original, id, "%v", err)
		return
	}
	t := &test{id: id, metadata: c.metadata.with("vars", p.unused(vars, one.text, c)), more: c.more}
	if sent := p.sentVars(vars); len(sent) > 0 {
		t.more = append(slices.Clip(t.more), pair{"vars", sent})
	}
	if c.target != "" {
		t.execution = t.execution.with("target", c.target)
	}
	t.input = append(t.input, earlier(vars)...)
	var asked *turn
	if n := len(spoken); n > 0 && spoken[n-1].role == "user" && c.simulated == nil && c.turns == nil {
		asked, spoken = &turn{text: spoken[n-1].text}, spoken[:n-1]
	}
	if c.turns != nil {
		spoken = slices.DeleteFunc(spoken, func(m message) bool { return blank(m.text) })
	}
	t.input = append(spoken, t.input...)
	checks, least := p.assertions(c, vars)
	checks = append(checks, c.unsupported...)
	t.skipShared = c.skipDefaults
	t.execution = append(t.execution, p.passing(c, least)...)
	switch {
	case c.simulated != nil:
		t.user, t.whole = p.user(c.simulated, vars), checks
		t.input = p.systemOnly(c, t.input)
	case c.turns != nil:
		t.whole, t.conversation = checks, true
		p.agentvTurns(t, c, vars)
	case asked != nil:
		asked.expected, asked.assertions = c.expected, append(checks, p.taken()...)
		t.turns = []turn{*asked}
	}
	if asked != nil && (c.joins || loops && !has(vars, "_conversation")) {
		key := promptKey + "\x00" + c.conversation + "\x00" + c.target
		if blank(asked.text) {
			p.placeholder(c.original, id, "it has no message of a user with a text")
			return
		}
		if before := p.last[key]; before != nil {
			before.turns = append(before.turns, *asked)
			p.size += size(asked.text) + size(asked.expected) + size(asked.assertions)
			before.conversation = true
			before.execution = stricter(before.execution, t.execution)
			return
		}
		if c.conversation != "" {
			t.id = strings.Replace(t.id, c.id, c.conversation, 1)
		}
		p.remember(key, c.conversation, t)
	} else {
		p.last = nil
	}
	p.add(c.original, t)
}

// remember keeps the conversation that following tests go on with; those of another conversation are over.
func (p *promptfoo) remember(key, conversation string, t *test) {
	if p.last == nil || p.key != conversation {
		p.last = map[string]*test{}
	}
	p.last[key], p.key = t, conversation
}
