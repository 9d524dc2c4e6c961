package target

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/process"
	"github.com/rehearse-dev/rehearse/internal/base/shell"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// CommandConfig is a program as a target.
type CommandConfig struct {
	// Words are the program and its arguments, Env what its environment has besides; all are templates.
	Words []string
	Dir   string
	Env   map[string]string
	// Process is conversation, turn or shared.
	Process string
	// Text is true of a program that is spoken with in plain text. At most one of the three says where a reply ends.
	Text          bool
	Until, Prompt string
	Quiet         time.Duration
	// Definition is the mapping that decides what is sent and how the answer is read.
	Definition any
	Bounds     `json:"-"`

	// picks is true where it is said what is where in an answer.
	picks    bool
	words    []*template.Template
	env      map[string]*template.Template
	body     *template.Template
	answer   answered
	document source.Value
}

func commandKind() Kind {
	return Kind{
		Name: "command", Doc: "a program, spoken with in lines of JSON or text", Short: "cmd:PROGRAM ARG…",
		read: readCommand, stands: func(text string) (map[string]any, bool) {
			line, ok := strings.CutPrefix(text, "cmd:")
			return map[string]any{"command": line}, ok
		},
	}
}

// commandKeys are the keys of a target of the kind command.
type commandKeys struct {
	kindKeys
	boundsKeys
	answeredKeys
	Command source.Node   `key:"command" schema:"texts"`
	Dir     string        `key:"cwd"`
	Env     source.Node   `key:"env" schema:"environment"`
	Process string        `key:"process" enum:"conversation,shared,turn"`
	Mode    string        `key:"mode" enum:"json,text"`
	Until   source.Node   `key:"until" schema:"text"`
	Prompt  source.Node   `key:"prompt" schema:"text"`
	Quiet   time.Duration `key:"quiet"`
	Body    source.Node   `key:"body" doc:"a mapping or list is sent as JSON; a text as it is"`
}

func readCommand(n source.Node, at config.Location) config.Target {
	c := CommandConfig{Dir: at.Path("."), document: n.Value, Definition: definition(n.Value), picks: n.Has("answer")}
	scope := scopeOf(n, at)
	var k commandKeys
	source.Decode(n, &k)
	k.kindKeys.check()
	c.Bounds, c.answer = k.bounds(), k.answered()
	if k.Command.Kind != source.Null {
		c.Words = shell.Command(k.Command)
		for _, word := range c.Words {
			at := k.Command.With(source.Value{
				Kind: source.String, Line: k.Command.Line, Column: k.Command.Column, Scalar: word,
			})
			c.words = append(c.words, template.ReadText(at, scope))
		}
	}
	if n.Has("cwd") {
		c.Dir = at.Path(k.Dir)
	}
	if n.Has("env") {
		c.readEnv(k.Env, scope)
	}
	c.Process = cmp.Or(k.Process, perConversation)
	c.Text, c.Quiet = k.Mode == "text", k.Quiet
	if n.Has("until") {
		c.Until = ending(k.Until)
	}
	if n.Has("prompt") {
		c.Prompt = ending(k.Prompt)
	}
	if n.Has("body") {
		c.body = template.ReadBody(k.Body, scope)
	}
	if !n.Has("command") {
		n.Report("add `command:`, such as python3 agent.py", "a command target needs a program")
	}
	c.check(n)
	if c.body == nil && !c.Text && c.Process != perTurn {
		c.body, _ = template.Of(map[string]any{
			"message": "{{message}}", "conversation_id": "{{conversation_id}}", "turn": "{{turn}}",
		}, scope)
	}
	return config.Target{Kind: "command", Options: c}
}

// ending reads the text that ends a reply.
func ending(n source.Node) string {
	s := n.Text()
	if s == "" {
		n.Report("write the text that the program prints there", "an empty text ends nothing")
	}
	return s
}

func (c *CommandConfig) readEnv(n source.Node, scope template.Scope) {
	c.Env, c.env = map[string]string{}, map[string]*template.Template{}
	for name, value := range n.Entries() {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			value.Report("write NAME: value", "%q is no name of a variable", name)
			continue
		}
		c.Env[name], c.env[name] = value.Text(), template.ReadText(value, scope)
	}
}

// check reports settings that contradict each other.
func (c *CommandConfig) check(n source.Node) {
	turns := c.Process == perTurn
	var ends []string
	for _, key := range []string{"until", "prompt", "quiet"} {
		if n.Has(key) {
			ends = append(ends, key)
		}
	}
	switch {
	case len(ends) > 1:
		n.Field(ends[1]).Report("keep one of them", "%s and %s both say where a reply ends", ends[0], ends[1])
	case len(ends) == 1 && turns:
		n.Field(ends[0]).Report("remove it", "with `process: turn` all of the output is the reply")
	case len(ends) == 1 && !c.Text:
		n.Field(ends[0]).Report("add `mode: text`, or remove it", "`%s` says where a reply of plain text ends", ends[0])
	}
	if n.Has("mode") && turns {
		n.Field("mode").Report("remove it",
			"with `process: turn` all of the output is the reply, which is JSON where `answer` has a path")
	}
	if c.Text && c.Process == forAll {
		n.Field("mode").Report("remove it: a shared process is spoken with in lines of JSON",
			"plain text does not say which conversation it belongs to")
	}
	for _, key := range []string{"answer", "stream", "session"} {
		if n.Has(key) && (c.Text || turns && key == "stream") {
			n.Field(key).Report("remove it", "a reply of plain text is all that the program writes")
		}
	}
	if n.Has("session") && c.answer.Session != nil && !c.body.Uses("session_id") {
		n.Field("session").Report(`add "{{session_id}}" to `+"`body`", "the session id is sent back nowhere")
	}
	if c.Text && n.Has("body") && !turns {
		n.Field("body").Report("remove it, or `mode: text`", "in `mode: text` the message is sent as it is")
	}
	if turns {
		return
	}
	unplaced := []string{"message", "messages", "messages_parts", "turn", "history", "session_id"}
	hint := "put it into `body`, or add `process: turn`"
	if c.Process == forAll {
		unplaced = append(unplaced, "conversation_id", "test_id", "trial", "system", "mcp_url")
		hint = "put it into `body`, or choose another `process`"
	}
	stray := func(key string, t *template.Template) {
		for _, name := range t.Names() {
			if slices.Contains(unplaced, name) || c.Process == forAll && strings.HasPrefix(name, "vars.") {
				n.Field(key).Report(hint, "{{%s}} has no value when the program is started", name)
			}
		}
	}
	for _, word := range c.words {
		stray("command", word)
	}
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		stray("env", c.env[name])
	}
}

// at is what errors call the program.
func (c CommandConfig) at() string { return text.OneLine(strings.Join(c.Words, " "), 100) }

func (c CommandConfig) open(_ config.Model, p Parts) (runner.Target, error) {
	bounds := c.settled(p)
	if p.NoCommands {
		return refusing{errNoCommands}, nil
	}
	program := Program{Words: c.words, Dir: p.Files.OnDisk(c.Dir), Env: c.env}
	if p.Environ != nil {
		program.Environ = p.Environ(c.document)
	}
	t := &spoken{
		kind: "command", at: c.at(), warn: p.Warn, conversation: p.conversationID, Bounds: bounds,
		wrap: p.limited(c.limits("command"), c.at()), message: c.message, answer: c.answer, apart: c.Process == perTurn,
	}
	t.answer.form = c.form()
	switch c.Process {
	case perTurn:
		onInput := c.onInput()
		t.begin = func(_ context.Context, now func() *template.Values) (wire, error) {
			return &turnProcess{command: func() (process.Command, error) {
				return program.command(now())
			}, onInput: onInput, most: bounds.MaxBytes}, nil
		}
	case forAll:
		command, err := program.command(&template.Values{})
		if err != nil {
			return nil, err
		}
		all := &process.Shared{Command: command, Most: bounds.MaxBytes, Owner: ownerOf}
		p.Closing(all.Close)
		t.begin = func(_ context.Context, now func() *template.Values) (wire, error) {
			id := now().ConversationID
			return sharedProcess{all.Join(id), id}, nil
		}
	default:
		d := dialogue{c.Text, c.Until, c.Prompt, c.Quiet}
		t.begin = func(_ context.Context, now func() *template.Values) (wire, error) {
			command, err := program.command(now())
			if err != nil {
				return nil, err
			}
			return startOwn(command, d, bounds.MaxBytes)
		}
	}
	return t, nil
}

// form returns what an event of the program is.
func (c CommandConfig) form() form {
	switch {
	case c.Process == perTurn && c.picks:
		return wholeJSON
	case c.Process == perTurn || c.Text:
		return plainText
	}
	return jsonLines
}

// onInput reports whether a program of one turn reads the message from its standard input.
func (c CommandConfig) onInput() bool {
	return c.body != nil || !slices.ContainsFunc(c.words, func(t *template.Template) bool {
		return t.Uses("message", "messages", "messages_parts")
	})
}

// message returns what the program is sent for a turn.
func (c CommandConfig) message(v *template.Values) ([]byte, error) {
	if c.body == nil {
		return []byte(v.Message), nil
	}
	data, _, err := c.body.JSON(v)
	return data, err
}

func (c CommandConfig) asks(context.Context, config.Model, Parts) (Dependencies, error) {
	return Dependencies{Server: c.at(), Priced: c.priced(&c.answer.Spec)}, nil
}

func (CommandConfig) complete() bool { return true }

// placeholders returns all placeholders of what is sent.
func (c CommandConfig) placeholders() []string {
	names := namesOf(slices.Concat(c.words, slices.Collect(maps.Values(c.env)), []*template.Template{c.body}))
	if c.body == nil {
		names = append(names, "message")
	}
	return names
}

// refusing is a target with which no conversation can be held here. Others of the same run can.
type refusing struct{ err error }

// Open returns the error.
func (r refusing) Open(context.Context, runner.Opening) (runner.Session, error) { return nil, r.err }

// errNoCommands says that a program would have to be started where none may be.
var errNoCommands = errors.New(
	"it starts a program, which is refused here: start the server and its workers with --allow-commands")
