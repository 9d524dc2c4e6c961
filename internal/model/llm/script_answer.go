package llm

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// answer is what a rule does: one of reply, calls, json and Verdicts (reply and calls may come together), or a fault.
type answer struct {
	Delay    time.Duration `key:"delay"`
	Fault    *fault        `key:"fault"`
	Verdicts *[]verdict    `key:"verdicts"`
	line     int
	reply    *text
	calls    []scriptedCall
	json     *tree
}

type scriptedCall struct {
	name string
	args tree
}

// templateKeys are the keys of an answer whose texts refer to the conditions of its rule.
type templateKeys struct {
	Reply source.Node `key:"reply"`
	JSON  source.Node `key:"json"`
	Calls *[]struct {
		Name string      `key:"name" required:"a tool call needs a name" notblank:"true" doc:"the name of a tool"`
		Args source.Node `key:"args"`
	} `key:"tool_calls"`
}

// DecodeNode reads the default answer.
func (a *answer) DecodeNode(n source.Node) {
	keys := struct {
		*answer
		templateKeys
	}{answer: a}
	source.Decode(n, &keys)
	a.compile(n, keys.templateKeys, captures{nil, "user"})
}

// compile reads the templates, and reports answers that exclude each other.
func (a *answer) compile(n source.Node, keys templateKeys, from captures) {
	if a.line = n.Line; n.Kind != source.Map {
		return
	}
	if n.Has("reply") {
		a.reply = new(readText(keys.Reply, from))
	}
	if n.Has("json") {
		a.json = new(readTree(keys.JSON, from))
	}
	if keys.Calls != nil {
		a.calls = []scriptedCall{}
		for _, call := range *keys.Calls {
			args := tree{[]part{{raw: "{}"}}}
			if call.Args.Kind != source.Null {
				args = readTree(call.Args, from)
			}
			a.calls = append(a.calls, scriptedCall{call.Name, args})
		}
	}
	kinds := 0
	for _, has := range []bool{a.reply != nil || a.calls != nil, a.json != nil, a.Verdicts != nil} {
		if has {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		n.Report("keep one; only reply and tool_calls go together", "more than one answer")
	case kinds == 0 && a.Fault == nil:
		n.Report("add reply, tool_calls, json, verdicts or fault", "there is no answer")
	case kinds > 0 && a.Fault != nil && a.Fault.Times == 0:
		n.Report("limit the fault with times, or remove the answer",
			"the fault always strikes, so the answer beside it is never given")
	}
}

// hasReply reports whether there is something to answer besides a fault.
func (a *answer) hasReply() bool {
	return a.reply != nil || a.calls != nil || a.json != nil || a.Verdicts != nil
}

// render returns the reply; the error has no model yet.
func (a *answer) render(v *scene) (chat.Reply, *Error) {
	var reply chat.Reply
	switch {
	case a.Verdicts != nil:
		answer, err := judge(*a.Verdicts, v.request.Messages)
		if err != nil {
			hint := "`verdicts` answer a judge's request; narrow `when`"
			return chat.Reply{}, &Error{Message: err.Error(), Hint: hint}
		}
		reply.Text = string(answer)
	case a.json != nil:
		reply.Text = string(a.json.fill(v))
	case a.reply != nil:
		reply.Text = a.reply.fill(v)
	}
	words := countWords(reply.Text)
	for i, c := range a.calls {
		call := chat.ToolCall{ID: callID(len(v.request.Messages), i+1), Name: c.name, Args: c.args.fill(v)}
		words += 1 + countWords(string(call.Args))
		reply.ToolCalls = append(reply.ToolCalls, call)
	}
	if v.missing != "" {
		return chat.Reply{}, &Error{
			Message: fmt.Sprintf("no offered tool has a `const` for its parameter %q", v.missing),
			Hint: "narrow `when` to requests that offer it, or write the value instead of " +
				"${" + constantPrefix + v.missing + "}",
		}
	}
	reply.Usage.OutputTokens = words
	return reply, nil
}

// callID is unique within a conversation, and the same in each of its runs.
func callID(messages, number int) string {
	return "call_" + strconv.Itoa(messages) + "_" + strconv.Itoa(number)
}

// Injection is a way in which a script breaks an exchange.
type Injection string

// The injections.
const (
	InjectStatus    Injection = "status"            // an answer with Error.Status and Error.RetryAfter
	InjectTimeout   Injection = "timeout"           // no answer for as long as the caller waits
	InjectMalformed Injection = "malformed"         // an answer that is not JSON
	InjectCut       Injection = "cut_stream"        // an answer that breaks off in the middle
	InjectRefusal   Injection = "refuse_connection" // no connection
)

// DecodeNode reads an injection other than InjectStatus.
func (i *Injection) DecodeNode(n source.Node) {
	*i = Injection(n.OneOf(string(InjectTimeout), string(InjectMalformed), string(InjectCut), string(InjectRefusal)))
}

// Injected is the cause (Error.Err) of a fault that a script injects.
// A server that plays the script injects it on the wire, so that its client sees the same *Error.
type Injected struct {
	Kind Injection `key:"kind"`
	// Body is what a server sends for InjectStatus and InjectMalformed: JSON or a text.
	Body string `key:"body"`
}

// Error names the injection.
func (i *Injected) Error() string { return "injected " + string(i.Kind) }

// fault breaks the exchange, of each distinct request the first Times ones; 0 means always.
type fault struct {
	Injected
	Status     int           `key:"status" minimum:"400" maximum:"599"`
	RetryAfter time.Duration `key:"retry_after"`
	Times      int           `key:"times" minimum:"1"`
}

// DecodeNode reads a kind, or {status or kind, …}.
func (f *fault) DecodeNode(n source.Node) {
	if n.Kind == source.Map {
		type keys fault
		source.Decode(n, (*keys)(f))
		if n.Has("status") == n.Has("kind") {
			n.Report("write status: 503, or kind: timeout", "a fault needs either status or kind")
		}
	} else {
		f.Kind.DecodeNode(n)
	}
	switch {
	case f.Status != 0:
		f.Kind = InjectStatus
		f.Body = orElse(f.Body, http.StatusText(f.Status), "a scripted fault")
	case f.Kind == InjectMalformed:
		f.Body = orElse(f.Body, "<html>this is not JSON</html>")
	}
}

type faultKey struct {
	rule    int
	request [sha256.Size]byte
}

// due reports whether a fault strikes this request. It counts by the content of requests, not by their order, so that
// the retry of a request gets through however many other requests there are.
func (s *Scripted) due(rule int, model string, f *fault, r Request) (bool, error) {
	if f == nil || f.Times == 0 {
		return f != nil, nil
	}
	key, err := requestKey(model, r)
	if err != nil {
		return false, s.fail(model, &Error{Fault: Refused, Message: err.Error(), Err: err})
	}
	at := faultKey{rule, key}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults[at] >= f.Times {
		return false, nil
	}
	s.faults[at]++
	return true, nil
}

// requestKey identifies a request to a model by its content.
func requestKey(model string, r Request) ([sha256.Size]byte, error) {
	encoded, err := json.Marshal(r)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("the request cannot be written as JSON: %w", err)
	}
	return sha256.Sum256(append([]byte(model+"\n"), encoded...)), nil
}

// CutText is the text of an answer that a script cuts.
const CutText = "This answer breaks off before its end, because the script that plays this model says so."

// breakOff returns the error that an HTTP client would give for the fault. Of an answer that is cut, half of the words
// are given out.
func (s *Scripted) breakOff(ctx context.Context, name string, f *fault, token func(string)) error {
	var e *Error
	switch f.Kind {
	case InjectTimeout:
		<-ctx.Done()
		return ctx.Err()
	case InjectStatus:
		e = statusError(f.Status, f.RetryAfter, serverMessage([]byte(f.Body)))
	case InjectMalformed:
		e = &Error{Fault: Malformed, Message: clip(notJSON([]byte(f.Body)).Error())}
	case InjectCut:
		if token != nil {
			if err := giveWords(ctx, firstHalf(CutText), token); err != nil {
				return err
			}
		}
		e = &Error{Fault: Unreachable, Message: brokenOff}
	default:
		e = &Error{Fault: Unreachable, Message: "the connection was refused"}
	}
	e.Err = &f.Injected
	return s.fail(name, e)
}

func firstHalf(text string) string {
	words := strings.SplitAfter(text, " ")
	return strings.Join(words[:(len(words)+1)/2], "")
}
