package chatsession

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Saving says how a talk becomes a test.
type Saving struct {
	// File is the suite; it is made if it is missing.
	File string
	// Now is the time in the test's id.
	Now time.Time
	// InputsOnly leaves out what the agent answered.
	InputsOnly bool
	// Options are those to read the suite with.
	Options suite.Options
	// Mask hides secrets in what was said; nil hides nothing.
	Mask func(string) string
}

// Save adds a conversation to a suite: as a test with a turn for each message, and returns the test's id. The other
// tests of the suite stay as they are written. A suite that would not be valid is not written.
func Save(system string, turns []Turn, s Saving) (id string, err error) {
	if len(turns) == 0 {
		return "", source.Invalid("there is nothing to save: no message was answered")
	}
	file, mode := s.File, fs.FileMode(0o600)
	if actual, err := filepath.EvalSymlinks(file); err == nil {
		file = actual
	}
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		data = []byte("name: " + suiteName(file) + "\n")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return "", fmt.Errorf("save the conversation: %w", err)
		}
	case err != nil:
		return "", fmt.Errorf("save the conversation: %w", err)
	default:
		if info, err := os.Stat(file); err == nil {
			mode = info.Mode().Perm()
		}
	}
	if id, err = freeID(file, data, "chat-"+s.Now.UTC().Format("20060102-150405")); err != nil {
		return "", err
	}
	said := Message{ID: id, Turns: turns}
	if system != "" {
		said.Earlier = []chat.Message{chat.NewMessage(chat.System, system)}
	}
	if data, err = source.AppendYAML(file, data, "tests", test(said, s)); err != nil {
		return "", fmt.Errorf("save the conversation: %w", source.AsInvalid(err))
	}
	// The new file stands beside the old one, so that the paths in it lead to the same files.
	temp := filepath.Join(filepath.Dir(file), fmt.Sprintf(".%x.%s", rand.Uint64(), filepath.Base(file)))
	if err := os.WriteFile(temp, data, mode); err != nil {
		return "", errors.Join(fmt.Errorf("save the conversation: %w", err), os.Remove(temp))
	}
	s.Options.Kinds = grader.New(grader.Config{})
	if _, err := suite.Load(temp, s.Options); err != nil {
		renamed := strings.ReplaceAll(err.Error(), temp, s.File)
		return "", errors.Join(source.Invalid("the suite would not be valid with the conversation:\n%s", renamed),
			os.Remove(temp))
	}
	return id, os.Rename(temp, file)
}

// Message is a conversation with the id of its test. Earlier are the messages before its first turn.
type Message struct {
	ID      string
	Earlier []chat.Message
	Turns   []Turn
}

// Written returns conversations as a suite with a test for each; assertions, if not Null, grade every test. Empty
// messages, which a test cannot have, are left out, and a comment names them.
func Written(name string, assertions source.Value, all []Message, s Saving) ([]byte, error) {
	var written bytes.Buffer
	var whole mapping
	whole.add("name", source.Text(name))
	if assertions.Kind != source.Null {
		var strict mapping // as the run that had these assertions
		strict.add("strict", source.Value{Kind: source.Bool, Scalar: "true"})
		whole.add("execution", source.Value(strict))
		whole.add("assertions", assertions)
	}
	tests := source.Value{Kind: source.List}
	for _, said := range all {
		left := said.leaveOutBlank()
		if len(said.Turns) == 0 {
			return nil, source.Invalid("there is nothing to save: no message was answered")
		}
		if len(left) > 0 {
			fmt.Fprintf(&written, "# %s: a test cannot have an empty message; %s left out\n",
				text.OneLine(said.ID, 100), turnsNamed(left))
		}
		tests.Items = append(tests.Items, test(said, s))
	}
	whole.add("tests", tests)
	written.Write(source.Value(whole).YAML())
	return written.Bytes(), nil
}

// suiteName returns the name of a suite in a file.
func suiteName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	return strings.TrimSpace(string(source.Text(name).YAML()))
}

// freeID returns the id, with a number behind it where a test of the file has it already.
func freeID(file string, data []byte, id string) (string, error) {
	root, err := source.ParseYAML(file, data)
	if err != nil {
		return "", fmt.Errorf("save the conversation: %w", source.AsInvalid(err))
	}
	taken := map[string]bool{}
	tests, _ := root.Get("tests")
	for _, t := range tests.Items {
		of, _ := t.Get("id")
		taken[of.Scalar] = true
	}
	free := id
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s-%d", id, n)
	}
	return free, nil
}

// test writes a conversation as a test of a suite.
func test(said Message, s Saving) source.Value {
	var t mapping
	t.add("id", source.Text(said.ID))
	t.add("mode", source.Text("conversation"))
	if len(said.Earlier) > 0 {
		input := source.Value{Kind: source.List}
		for _, m := range said.Earlier {
			var one mapping
			one.add("role", source.Text(string(m.Role)))
			one.add("content", s.text(m.Content.String()))
			input.Items = append(input.Items, source.Value(one))
		}
		t.add("input", input)
	}
	list := source.Value{Kind: source.List}
	for _, turn := range said.Turns {
		list.Items = append(list.Items, s.turn(turn))
	}
	t.add("turns", list)
	return source.Value(t)
}

func (s Saving) turn(turn Turn) source.Value {
	var v mapping
	v.add("input", s.text(turn.Message))
	if s.InputsOnly {
		return source.Value(v)
	}
	assertions := source.Value{Kind: source.List}
	if strings.TrimSpace(turn.Reply.Text) != "" {
		var like mapping // needs no model, so that the suite runs at once
		like.add("type", source.Text("similar"))
		like.add("method", source.Text("lexical"))
		like.add("value", s.text(turn.Reply.Text))
		assertions.Items = append(assertions.Items, source.Value(like))
	}
	if len(turn.Reply.ToolCalls) > 0 {
		assertions.Items = append(assertions.Items, s.calls(turn))
	}
	if turn.Reply.Node != "" {
		var node mapping
		node.add("type", source.Text("next_node"))
		node.add("value", s.text(turn.Reply.Node))
		assertions.Items = append(assertions.Items, source.Value(node))
	}
	if len(assertions.Items) > 0 {
		v.add("assertions", assertions)
	}
	return source.Value(v)
}

// calls asserts that the calls of a turn are made again, whatever others are made.
func (s Saving) calls(turn Turn) source.Value {
	var a mapping
	a.add("type", source.Text("tool_calls"))
	a.add("match", source.Text("superset"))
	list := source.Value{Kind: source.List}
	for _, call := range turn.Reply.ToolCalls {
		var c mapping
		c.add("name", s.text(call.Name))
		if args, err := source.ParseJSON("", call.Args, 1); err == nil && args.Kind == source.Map {
			c.add("args", s.masked(args))
		}
		list.Items = append(list.Items, source.Value(c))
	}
	a.add("calls", list)
	return source.Value(a)
}

// masked returns a value whose texts are written for a suite.
func (s Saving) masked(v source.Value) source.Value {
	if v.Kind == source.String {
		return s.text(v.Scalar)
	}
	for i := range v.Items {
		v.Items[i] = s.masked(v.Items[i])
	}
	for i := range v.Fields {
		v.Fields[i].Value = s.masked(v.Fields[i].Value)
	}
	return v
}

// text writes a text for a suite, where {{ begins a placeholder.
func (s Saving) text(text string) source.Value {
	if s.Mask != nil {
		text = s.Mask(text)
	}
	return source.Text(strings.ReplaceAll(text, "{{", `\{{`))
}

// mapping is a value to which entries are added.
type mapping source.Value

func (m *mapping) add(name string, v source.Value) {
	m.Kind = source.Map
	m.Fields = append(m.Fields, source.Field{Name: name, Value: v})
}
