// Package user plays the user of a conversation by a model: what the model is told, what of its words reaches the
// agent, and what it must not do.
package user

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// maxAsked is how often the model is asked for one message.
const maxAsked = 2

// maxMessage is the largest message that is looked at, in bytes.
const maxMessage = 100_000

// Model is who plays the user.
type Model struct {
	llm.Model
	// Name is what records call it, PROVIDER:MODEL.
	Name string
	// Seed is the configured one; nil without one.
	Seed *int
}

// ModelOf returns a configured model that plays the user, with the parameters of its configuration.
func ModelOf(model llm.Model, m config.Model) Model {
	named := m
	if m.Provider == "scripted" {
		named.Name = filepath.Base(m.Name)
	}
	return Model{Model: llm.WithParameters(model, llm.ParametersOf(m)), Name: named.String(), Seed: m.Seed}
}

// Simulated is a user whose messages a model writes. It serves one conversation. It implements runner.User and
// runner.Accountant.
type Simulated struct {
	user   *suite.User
	model  Model
	system string
	rules  rules

	mu      sync.Mutex // Account may be called while a call that was given up goes on
	opened  bool
	account result.User
	// endedIn is the turn in whose message the model ended the talk; 0 while it has not.
	endedIn int
}

// New returns the user of one conversation of a test, played by the model.
func New(u *suite.User, m Model) *Simulated {
	seed := u.Seed
	if seed == nil {
		seed = m.Seed
	}
	return &Simulated{
		user: u, model: m, system: instructions(u), rules: rulesOf(u),
		account: result.User{Model: m.Name, Seed: seed, Faults: []result.UserFault{}},
	}
}

// Next returns the opening, or what the model says next. The error names what was wrong with the model's last words, or
// why it cannot be asked.
func (s *Simulated) Next(ctx context.Context, t runner.UserScript) (runner.Line, error) {
	if !s.opened && s.user.Opening != "" {
		s.opened = true
		return runner.Line{Message: chat.Content{Text: s.user.Opening}}, nil
	}
	s.opened = true
	messages := exchanged(s.system, t.Messages)
	for asked := 1; ; asked++ {
		reply, err := s.ask(ctx, messages)
		if err != nil {
			return runner.Line{}, err
		}
		said, end := cutEnd(reply.Text)
		code, why := s.rules.broken(said, end, t.Messages)
		if code == "" {
			s.hear(t, said, end)
			return runner.Line{Message: chat.Content{Text: said}, End: end}, nil
		}
		s.fault(code, t.Turn, why)
		if asked == maxAsked {
			return runner.Line{}, &runner.UserInvalidError{Code: code, Turn: t.Turn, Why: why}
		}
	}
}

// ask asks the model and adds the call to the account. What a call that brought no message has cost may not be known.
func (s *Simulated) ask(ctx context.Context, messages []chat.Message) (chat.Reply, error) {
	reply, err := s.model.Generate(ctx, llm.Request{
		Messages: messages, Seed: s.user.Seed, Temperature: s.user.Temperature,
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account.Calls++
	s.account.Usage, s.account.Cost = s.account.Usage.Add(reply.Usage), s.account.Cost.Add(reply.Cost)
	if err != nil {
		if llm.Worked(err) {
			s.account.Usage.Unknown, s.account.Cost.Unknown = true, true
		}
		return reply, fmt.Errorf("ask the simulated user: %w", err)
	}
	if len(reply.Text) > maxMessage {
		return reply, fmt.Errorf("ask the simulated user: its message is longer than %d bytes", maxMessage)
	}
	return reply, nil
}

// hear notes the faults of a message that goes on to the agent.
func (s *Simulated) hear(t runner.UserScript, said string, end bool) {
	if said != "" && repeated(said, t.Messages) {
		s.fault(Repeats, t.Turn, fmt.Sprintf("says again %q", excerpt(said)))
	}
	if !end {
		return
	}
	s.mu.Lock()
	s.endedIn = t.Turn
	s.mu.Unlock()
	if replies := t.Turn - 1; replies < 2 {
		s.fault(StopsEarly, t.Turn, fmt.Sprintf("ends the talk after %s of the agent", plural(replies)))
	}
}

func plural(replies int) string {
	if replies == 1 {
		return "1 reply"
	}
	return fmt.Sprintf("%d replies", replies)
}

func (s *Simulated) fault(code string, turn int, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account.Faults = append(s.account.Faults, result.UserFault{Code: code, Turn: turn, Message: message})
}

// Account implements runner.Accountant.
func (s *Simulated) Account(end result.UserEnd, said []chat.Content) result.User {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.account
	u.Faults = append([]result.UserFault{}, u.Faults...)
	if n := len(u.Faults); end == result.EndUser && len(s.user.StopWhen) > 0 &&
		(n == 0 || u.Faults[n-1].Code != StopsEarly) {
		u.Faults = append(u.Faults, result.UserFault{
			Code: StopsEarly, Turn: s.endedIn, Message: "ends the talk although no assertion of stop has come true",
		})
	}
	u.Quality = quality(s.user, said, u.Faults)
	return u
}

// excerpt returns the beginning of a text from outside, fit for a sentence.
func excerpt(s string) string { return text.OneLine(s, 120) }
