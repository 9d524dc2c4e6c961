package importer

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"rehearse/internal/source"
)

// maxCombinations bounds the tests that lists of values make of one.
const maxCombinations = 10_000

// readTest makes tests of one: one for each prompt and each combination of listed values.
func (p *promptfoo) readTest(v source.Value) {
	*p.read++
	e := p.entry(v, "test")
	id := p.named(e)
	c := p.caseOf(e)
	c.id = id
	all := combinations(c.vars)
	if all == nil {
		p.lose(e.Line, "vars", "their lists make more than %d tests", maxCombinations)
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
	id           string
	line         int
	vars         source.Value
	asserted     []source.Value
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
	c.asserted = slices.Concat(p.shared, p.defaults.list("assert", "assertions"), e.list("assert", "assertions"))
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
	}
	e.rest()
	return c
}

// variables returns variables with the content of the files that they name.
func (p *promptfoo) variables(v source.Value) source.Value {
	v = p.included(v)
	if v.Kind != source.Map {
		if v.Kind != source.Null {
			p.lose(v.Line, "vars", "expected a mapping, got %s", v.Kind)
		}
		return source.Value{Kind: source.Map}
	}
	v.Fields = slices.Clone(v.Fields)
	for i, f := range v.Fields {
		if f.Value.Kind == source.String && strings.HasPrefix(f.Value.Scalar, "file://") {
			text, _ := p.fileText(f.Value, "vars."+f.Name)
			v.Fields[i].Value.Scalar = text
		}
	}
	return v
}

// over returns a mapping with the entries of another on top.
func over(base, top source.Value) source.Value {
	base.Fields = slices.Clone(base.Fields)
	for _, f := range top.Fields {
		if at := slices.IndexFunc(base.Fields, func(g source.Field) bool { return g.Name == f.Name }); at >= 0 {
			base.Fields[at] = f
		} else {
			base.Fields = append(base.Fields, f)
		}
	}
	return source.Value{Kind: source.Map, Line: max(base.Line, top.Line), Fields: base.Fields}
}

// combinations returns the variables once for each combination of the elements of lists. Lists of messages and conversations stay whole.
// It is nil when there are too many.
func combinations(vars source.Value) []source.Value {
	all := []source.Value{vars}
	for i, f := range vars.Fields {
		if f.Value.Kind != source.List || f.Name == "_conversation" || isChat(f.Value) || len(f.Value.Items) == 0 {
			continue
		}
		var more []source.Value
		if len(all)*len(f.Value.Items) > maxCombinations {
			return nil
		}
		for _, one := range all {
			for _, item := range f.Value.Items {
				chosen := one
				chosen.Fields = slices.Clone(one.Fields)
				chosen.Fields[i].Value = item
				more = append(more, chosen)
			}
		}
		all = more
	}
	return all
}

// hold makes a test of a case, or a turn of the conversation before it.
func (p *promptfoo) hold(c *testCase, id, promptKey string, one prompt, vars source.Value) {
	if p.full() {
		return
	}
	spoken, loops, ok := p.messages(c, one, vars)
	if !ok {
		return
	}
	t := &test{id: id, metadata: c.metadata.with("vars", p.unused(vars, one.text, c)), more: c.more}
	if sent := p.sentVars(vars); len(sent) > 0 {
		t.more = append(slices.Clip(t.more), pair{"vars", sent})
	}
	if c.target != "" {
		t.execution = t.execution.with("target", c.target)
	}
	for _, said := range earlier(vars) {
		t.input = append(t.input, said)
	}
	var asked *turn
	if n := len(spoken); n > 0 && spoken[n-1].role == "user" && c.simulated == nil && c.turns == nil {
		asked, spoken = &turn{text: spoken[n-1].text}, spoken[:n-1]
	}
	if c.turns != nil {
		spoken = slices.DeleteFunc(spoken, func(m message) bool { return blank(m.text) })
	}
	t.input = append(spoken, t.input...)
	checks, least := p.assertions(c, vars)
	t.execution = append(t.execution, p.passing(c, least)...)
	switch {
	case c.simulated != nil:
		t.user, t.whole = p.user(c.simulated, vars), checks
		t.input = p.systemOnly(c, t.input)
	case c.turns != nil:
		t.whole, t.conversation = checks, true
		p.agentvTurns(t, c, vars)
	case asked != nil:
		asked.expected, asked.assertions = c.expected, checks
		t.turns = []turn{*asked}
	}
	if asked != nil && (c.joins || loops && !has(vars, "_conversation")) {
		key := promptKey + "\x00" + c.conversation + "\x00" + c.target
		if blank(asked.text) {
			p.lose(c.line, "test "+c.id, "it has no message of a user with a text")
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
	p.add(c.line, t)
}

// remember keeps the conversation that following tests go on with; those of another conversation are over.
func (p *promptfoo) remember(key, conversation string, t *test) {
	if p.last == nil || p.key != conversation {
		p.last = map[string]*test{}
	}
	p.last[key], p.key = t, conversation
}

// messages renders a prompt into messages, of which the last one is the user's. loops is true when it repeats what was said before.
func (p *promptfoo) messages(c *testCase, one prompt, vars source.Value) (all []message, loops, ok bool) {
	template := talkLoop.ReplaceAllString(one.text, "")
	loops = template != one.text
	if only := templateTag.FindStringSubmatch(template); only != nil && only[0] == strings.TrimSpace(template) {
		if v, found := at(vars, strings.TrimSpace(only[1])); found && isChat(v) {
			return p.spoken(c, v.Items, source.Value{}, false), loops, true
		}
	}
	template = withoutGaps(template, loops)
	if chat, err := chatOf(template); err == nil {
		return p.spoken(c, chat, vars, true), loops, true
	}
	inJSON := strings.HasPrefix(template, "[") || strings.HasPrefix(template, "{\"")
	text, missing, err := render(template, vars, inJSON)
	if err != nil {
		p.lose(one.line, "test "+c.id, "%v, which is not filled in", err)
		return nil, loops, false
	}
	p.missing(c, missing)
	if chat, err := chatOf(plain(text)); err == nil {
		return p.spoken(c, chat, source.Value{}, false), loops, true
	}
	if inJSON { // no messages after all
		if text, _, err = render(template, vars, false); err != nil {
			return nil, loops, false
		}
	}
	return []message{{"user", text}}, loops, true
}

// withoutGaps closes the gap that a loop leaves in a list.
func withoutGaps(template string, loops bool) string {
	template = strings.TrimSpace(template)
	if !loops || !strings.HasPrefix(template, "[") {
		return template
	}
	for _, gap := range []string{`,`, `[`} {
		parts := strings.Split(template, gap)
		for i := 0; i+1 < len(parts); i++ {
			if rest := strings.TrimLeft(parts[i+1], " \n\t\r"); gap == "[" && strings.HasPrefix(rest, ",") {
				parts[i+1] = rest[1:]
			} else if gap == "," && rest == "" && i+2 < len(parts) {
				parts = slices.Delete(parts, i+1, i+2)
				i--
			}
		}
		template = strings.Join(parts, gap)
	}
	return template
}

// spoken returns messages of a list; templates in them are filled in when render is asked for.
func (p *promptfoo) spoken(c *testCase, list []source.Value, vars source.Value, fill bool) (all []message) {
	for _, v := range list {
		e := p.entry(v, "message")
		role := e.text("role")
		said := p.content(e.get("content"))
		e.rest()
		if text, isText := said.(string); fill && isText {
			filled, missing, err := render(text, vars, false)
			if err != nil {
				p.lose(c.line, "a message of "+role, "%v, which is not filled in", err)
				continue
			}
			p.missing(c, missing)
			said = filled
		}
		switch role {
		case "developer":
			role = "system"
		case "system", "user", "assistant":
		default:
			p.lose(c.line, "a message of "+role, "suites have messages of system, user and assistant")
			continue
		}
		all = append(all, message{role, said})
	}
	return all
}

// missing lists variables that a test does not have.
func (p *promptfoo) missing(c *testCase, names []string) {
	if c.turns != nil {
		return // the turns say what the user says
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		p.lose(c.line, "{{"+name+"}}", "the test has no such variable: nothing stands in its place")
	}
}

// earlier returns what vars._conversation says was said before.
func earlier(vars source.Value) (all []message) {
	said, _ := vars.Get("_conversation")
	for _, v := range said.Items {
		if input, ok := v.Get("input"); ok {
			all = append(all, message{"user", scalarText(input)})
		}
		if output, ok := v.Get("output"); ok {
			all = append(all, message{"assistant", scalarText(output)})
		}
	}
	return all
}

func scalarText(v source.Value) string {
	if v.Kind == source.List || v.Kind == source.Map {
		return toJSON(v)
	}
	return v.Scalar
}

// systemOnly returns the system messages; what a prompt of a test with a simulated user says else is its system prompt, too.
func (p *promptfoo) systemOnly(c *testCase, all []message) (system []message) {
	for _, m := range all {
		if m.role == "user" {
			m.role = "system"
		}
		if m.role == "system" {
			system = append(system, m)
		} else {
			p.lose(c.line, "a message of "+m.role, "a simulated user begins the conversation")
		}
	}
	return system
}

// unused returns the variables that neither the prompt nor an assertion names; they are kept as metadata.
func (p *promptfoo) unused(vars source.Value, template string, c *testCase) source.Value {
	used := append(names(template), "_conversation", "instructions")
	for _, v := range c.asserted {
		used = append(used, names(toJSON(v))...)
	}
	v := source.Value{Kind: source.Map}
	for _, f := range vars.Fields {
		if !slices.Contains(used, f.Name) && !p.sent[f.Name] {
			v.Fields = append(v.Fields, f)
		}
	}
	return v
}

// sentVars returns the variables that a target sends. One that the test does not have is empty, as in the tool.
func (p *promptfoo) sentVars(vars source.Value) (sent pairs) {
	for _, name := range slices.Sorted(maps.Keys(p.sent)) {
		v, ok := vars.Get(name)
		if !ok {
			v = source.Text("")
		}
		sent = append(sent, pair{name, v})
	}
	return sent
}

// user returns the simulated user of a test.
func (p *promptfoo) user(e *entry, vars source.Value) pairs {
	config := p.entry(e.get("config"), "config")
	goal := any(config.text("instructions"))
	if text, missing, err := render(plain(goal), vars, false); err != nil {
		p.lose(config.Line, "instructions", "%v, which is not filled in", err)
	} else {
		goal = text
		p.missing(&testCase{line: config.Line}, missing)
	}
	if v, ok := vars.Get("instructions"); ok && blank(goal) {
		goal = scalarText(v)
	}
	user := pairs{}
	if blank(goal) {
		goal = "Talk to the agent as a user of it would."
	}
	user = append(user, pair{"goal", goal})
	if n, ok := config.number("maxTurns"); ok {
		if n < 1 || n > 100 || n != math.Trunc(n) {
			p.lose(config.Line, "maxTurns", "it is no whole number from 1 to 100")
		} else {
			user = append(user, pair{"max_turns", int(n)})
		}
	}
	config.rest()
	e.keep("id", "label")
	e.rest()
	return user
}
