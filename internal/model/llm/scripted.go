package llm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// Cast is implemented by models that can play several: As returns the one called name.
// Both share what they count. A server passes the name that a request asks for.
type Cast interface {
	As(name string) Model
}

var (
	_ Model    = (*Scripted)(nil)
	_ Streamer = (*Scripted)(nil)
	_ Cast     = (*Scripted)(nil)
	_ Streamer = role{}
)

// Scripted is a model played from a file of rules (LoadScript). The same requests in the same order get the same
// answers. It is safe for concurrent use; only rules on `call` and limited faults depend on what was asked before.
type Scripted struct {
	// name is what the rules' `model` patterns see when a request names no other.
	name      string
	file      string
	rules     []rule
	fallback  *answer
	constants *constants
	mu        sync.Mutex
	calls     map[string]int
	faults    map[faultKey]int
}

// rule answers the requests that its conditions match.
type rule struct {
	when   condition
	answer answer
}

// As returns the model called name, as seen by the rules' `model` patterns.
func (s *Scripted) As(name string) Model { return role{s, name} }

type role struct {
	script *Scripted
	name   string
}

func (r role) Generate(ctx context.Context, q Request) (chat.Reply, error) {
	return r.script.play(ctx, r.name, q, nil)
}

func (r role) Stream(ctx context.Context, q Request, token func(string)) (chat.Reply, error) {
	return r.script.play(ctx, r.name, q, token)
}

// Name returns the name that the script gives itself, or that of its file.
func (s *Scripted) Name() string { return s.name }

// Generate answers as the first rule that matches says.
func (s *Scripted) Generate(ctx context.Context, r Request) (chat.Reply, error) {
	return s.play(ctx, s.name, r, nil)
}

// Stream is Generate with the text given word by word. An answer that is cut gives some words before it fails.
func (s *Scripted) Stream(ctx context.Context, r Request, token func(string)) (chat.Reply, error) {
	return s.play(ctx, s.name, r, token)
}

// play answers; token is nil for a reply that is not streamed.
func (s *Scripted) play(ctx context.Context, name string, r Request, token func(string)) (chat.Reply, error) {
	start := time.Now()
	v := newScene(name, &r, s.constants)
	s.mu.Lock()
	s.calls[name]++
	v.call = s.calls[name]
	s.mu.Unlock()
	chosen, broken, err := s.choose(v, r)
	if err != nil {
		return chat.Reply{}, err
	}
	if chosen == nil {
		return chat.Reply{}, s.fail(name, &Error{
			Fault: Refused, Message: fmt.Sprintf("no rule matches the user message %q", clip(v.user)),
			Hint: "add a rule or a default to " + s.file,
		})
	}
	if err := Sleep(ctx, chosen.delay); err != nil {
		return chat.Reply{}, err
	}
	if broken {
		return chat.Reply{}, s.breakOff(ctx, name, chosen.fault, token)
	}
	reply, failure := chosen.render(v)
	if failure != nil {
		failure.Fault = Refused
		failure.Message = fmt.Sprintf("the rule at %s:%d cannot answer: %s", s.file, chosen.line, failure.Message)
		return chat.Reply{}, s.fail(name, failure)
	}
	if token != nil {
		if err := giveWords(ctx, reply.Text, token); err != nil {
			return chat.Reply{}, err
		}
	}
	reply.Usage.InputTokens, reply.Latency, reply.Attempts = v.words(), time.Since(start), 1
	reply.FinishReason = ended(reply)
	return reply, nil
}

// choose returns the first answer that matches and whether it is due to break.
// A fault that ran out leaves the request to the rule's answer or, if there is none, to the next rules.
func (s *Scripted) choose(v *scene, r Request) (*answer, bool, error) {
	for i := range s.rules {
		if !s.rules[i].when.matches(v) {
			continue
		}
		a := &s.rules[i].answer
		if broken, err := s.due(i, v.model, a.fault, r); err != nil || broken || a.says() {
			return a, broken, err
		}
	}
	if s.fallback == nil {
		return nil, false, nil
	}
	v.groups = []string{v.user}
	broken, err := s.due(-1, v.model, s.fallback.fault, r)
	if !broken && !s.fallback.says() {
		return nil, false, err
	}
	return s.fallback, broken, err
}

func (s *Scripted) fail(name string, e *Error) *Error {
	e.Model, e.At, e.Attempts = "scripted:"+name, s.file, 1
	return e
}
