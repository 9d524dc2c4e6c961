package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ohler55/ojg/jp"

	"github.com/rehearse-dev/rehearse/internal/base/jsonpath"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Pick says where in an answer a value is. A nil pick finds nothing.
type Pick struct {
	// Path is the path as it is written; $ when none is.
	Path string
	expr jp.Expr
	// pathless is true of a pick that has only conditions.
	pathless bool
	// events are the names of the events that are looked at; nil means all.
	events []string
	when   []condition
	join   string
	// or is taken when nothing is found; nil means that it is missing.
	or any
}

// condition is a path and the value that must be there.
type condition struct {
	expr jp.Expr
	want any
}

// pickKeys are the keys of what locates a value, and under which conditions.
type pickKeys struct {
	Path  source.Node `key:"path" schema:"text"`
	Event []string    `key:"event"`
	If    source.Node `key:"if" schema:"object" doc:"values by their paths"`
}

// pickWhenKeys are all keys of a pick.
type pickWhenKeys struct {
	pickKeys
	Join string `key:"join"`
	Or   any    `key:"or"`
}

// DecodeNode reads a path, or {path, event, if, join, or}.
func (p *Pick) DecodeNode(n source.Node) {
	*p = Pick{Path: "$", expr: jp.Expr{jp.Root('$')}}
	if n.Kind != source.Map {
		p.path(n)
		return
	}
	var keys pickWhenKeys
	source.Decode(n, &keys)
	p.take(keys.pickKeys)
	p.join = keys.Join
	if n.Has("or") {
		p.or = plainValue(n.Field("or").Value)
	}
	if len(n.Fields) == 0 {
		n.Report("write a path, such as $.reply", "the pick is empty")
	}
}

// ReadPick reads a path, or {path, event, if, join, or}.
func ReadPick(n source.Node) *Pick {
	p := &Pick{}
	p.DecodeNode(n)
	return p
}

// take takes the keys of the place and the conditions.
func (p *Pick) take(k pickKeys) {
	p.pathless = k.Path.Kind == source.Null
	if !p.pathless {
		p.path(k.Path)
	}
	p.events = k.Event
	if k.If.Kind != source.Null {
		for path, want := range k.If.Entries() {
			p.when = append(p.when, condition{parsed(want, path), plainValue(want.Value)})
		}
	}
}

func (p *Pick) path(n source.Node) {
	p.Path = n.Text()
	if p.Path != "" || n.Kind == source.String {
		p.expr = parsed(n, p.Path)
	}
}

// parsed compiles a path; a bad one is reported at n.
func parsed(n source.Node, path string) jp.Expr {
	expr, err := jsonpath.Parse(path)
	if err != nil {
		n.Report(jsonpath.Hint, "%q is not a JSONPath: %v", path, err)
	}
	return expr
}

// pathAt reads a path within a value.
func pathAt(n source.Node) jp.Expr { return parsed(n, n.Text()) }

// plainValue returns a value of a document in the form of decoded answers.
func plainValue(v source.Value) any {
	decoded, err := decode(encode(v.Any()))
	if err != nil { // what was encoded can be decoded
		return nil
	}
	return decoded
}

// one returns a pick of a path that is known to be good.
func one(path string) *Pick {
	expr, err := jsonpath.Parse(path)
	if err != nil {
		panic(err)
	}
	return &Pick{Path: path, expr: expr}
}

// event is what picks are asked of: a whole answer, or one event of a stream.
type event struct {
	name string
	doc  any
}

// applies reports whether the pick looks at an event: its name is right, and every condition holds.
func (p *Pick) applies(e event) bool {
	if p.events != nil && !slices.Contains(p.events, e.name) {
		return false
	}
	for _, c := range p.when {
		if !slices.ContainsFunc(jsonpath.Values(c.expr, e.doc), func(v any) bool { return same(v, c.want) }) {
			return false
		}
	}
	return true
}

// conditional reports whether the pick looks at some events only.
func (p *Pick) conditional() bool { return p.events != nil || len(p.when) > 0 }

// hits returns the values that the pick finds, without nulls. A nil pick finds none.
func (p *Pick) hits(e event) (found []any) {
	if p == nil || !p.applies(e) {
		return nil
	}
	for _, v := range jsonpath.Ordered(p.expr, e.doc) {
		if v != nil {
			found = append(found, v)
		}
	}
	return found
}

// text returns the joined texts of the hits. ok is false where nothing is found that can be a text.
func (p *Pick) text(e event) (text string, ok bool) {
	found := p.hits(e)
	var texts []string
	for _, v := range found {
		if s, ok := words(v); ok {
			texts = append(texts, s)
		}
	}
	return strings.Join(texts, p.joining()), len(texts) > 0
}

func (p *Pick) joining() string {
	if p == nil {
		return ""
	}
	return p.join
}

// reply returns the text of the hits as a reply. A message that the path takes by its place in a list, such as the last
// one, is none if it is the user's own: the agent repeats the talk and has added nothing.
func (p *Pick) reply(e event) (text string, ok bool) {
	if p != nil && len(p.expr) > 1 {
		parent := p.expr[:len(p.expr)-1]
		if _, placed := parent[len(parent)-1].(jp.Nth); placed &&
			slices.ContainsFunc(jsonpath.Values(parent, e.doc), fromUser) {
			return "", false
		}
	}
	return p.text(e)
}

func fromUser(message any) bool { return slices.Contains([]string{"user", "human"}, roleOf(message)) }

// instead returns the value that is taken when there is none.
func (p *Pick) instead() (v any, ok bool) {
	if p == nil || p.or == nil {
		return nil, false
	}
	return p.or, true
}

// replyInstead returns the value that is taken when there is no reply in an answer. A pick of all elements of the
// answer has one for an empty list only: any other answer is not the one that the path was written for.
func (p *Pick) replyInstead(doc any) (v any, ok bool) {
	if v, ok = p.instead(); !ok {
		return nil, false
	}
	if _, all := p.second().(jp.Wildcard); all {
		list, is := doc.([]any)
		return v, is && len(list) == 0
	}
	return v, true
}

// second returns the first step of the path below the root; nil if it has none.
func (p *Pick) second() jp.Frag {
	steps := p.expr
	if len(steps) > 0 {
		if _, root := steps[0].(jp.Root); root {
			steps = steps[1:]
		}
	}
	if len(steps) == 0 {
		return nil
	}
	return steps[0]
}

// said returns the error that an event admits at a pick of errors. Where the event fits and has no words, those of the
// pick are taken.
func (p *Pick) said(e event) error {
	wordless := true
	for _, v := range p.hits(e) {
		if err := agentError(v); err != nil {
			return err
		}
		wordless = wordless && v == ""
	}
	if v, ok := p.instead(); ok && wordless && p.conditional() && p.applies(e) {
		return agentError(v)
	}
	return nil
}

// betweenMessages separates the messages of one reply.
const betweenMessages = "\n\n"

// words returns a text, number or boolean as text, or the texts of a list. Content blocks, which have a type, are
// pieces of one message; texts and mappings without a type are messages of their own.
func words(v any) (string, bool) {
	if s, ok := scalar(v); ok {
		return s, true
	}
	list, ok := v.([]any)
	if !ok {
		return "", false
	}
	var texts []string
	between := betweenMessages
	for _, element := range list {
		switch element := element.(type) {
		case string:
			texts = append(texts, element)
		case map[string]any:
			if s, ok := element["text"].(string); ok {
				texts = append(texts, s)
			}
			if _, typed := element["type"].(string); typed {
				between = ""
			}
		}
	}
	return strings.Join(texts, between), len(texts) > 0
}

// In returns the text at the pick in a whole answer. The error says that it is not JSON, or that nothing is there.
func (p *Pick) In(body []byte) (string, error) {
	doc, err := decode(body)
	if err != nil {
		return "", notJSON(body, err)
	}
	if text, ok := p.reply(event{doc: doc}); ok {
		return text, nil
	}
	if v, ok := p.replyInstead(doc); ok {
		if text, ok := words(v); ok {
			return text, nil
		}
	}
	var keys keysOf
	keys.add(doc)
	return "", fmt.Errorf("%w %s: %v", errNothing, p.Path, &keys)
}
