package sitebot

import (
	"errors"
	"sync"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Use is what the model calls of one turn took, over all its nodes and background tasks, failed calls included.
// The zero value says that no model was asked.
type Use struct {
	// Attempts counts the tries of all calls, retries included.
	Attempts int
	Usage    chat.Usage
	Cost     chat.Cost
	// Guess is how many tokens, of four characters, the calls took whose count is not known: those that were given up,
	// too.
	Guess int
}

// meter adds up the model calls of a turn, which run side by side. The zero value is ready to use.
type meter struct {
	mu  sync.Mutex
	use Use
	// replied is true once a model has replied.
	replied bool
}

// count adds one call, which has ended with a reply or an error.
func (m *meter) count(reply chat.Reply, err error) {
	attempts := reply.Attempts
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		attempts = failed.Attempts
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.use.Attempts += max(1, attempts)
	m.use.Usage = m.use.Usage.Add(reply.Usage)
	m.use.Cost = m.use.Cost.Add(reply.Cost)
	if llm.Worked(err) {
		m.use.Usage.Unknown, m.use.Cost.Unknown = true, true
	}
	m.replied = m.replied || err == nil
}

// guess adds what a call took whose count is not known, by the characters of what was asked and said. Else whoever
// leaves before the end of each answer would use a site's budget up unseen.
func (m *meter) guess(asked llm.Request, said string, reply chat.Reply, err error) {
	if !reply.Usage.Unknown && !llm.Worked(err) {
		return
	}
	characters := utf8.RuneCountInString(said)
	for _, message := range asked.Messages {
		characters += utf8.RuneCountInString(message.Content.String())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.use.Guess += (characters + 3) / 4
}

// hasReply reports whether a model has replied.
func (m *meter) hasReply() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.replied
}

// total returns what was counted so far.
func (m *meter) total() Use {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.use
}
