package sitebot

import (
	"context"
	"errors"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

func TestMeter(t *testing.T) {
	counted := chat.Reply{Usage: chat.Usage{InputTokens: 10, OutputTokens: 2}, Cost: chat.Cost{USD: 0.5}, Attempts: 2}
	m := meter{}
	if m.hasReply() || m.total() != (Use{}) {
		t.Errorf("at the start: %+v", m.total())
	}
	m.count(chat.Reply{}, &llm.Error{Attempts: 3})
	m.count(chat.Reply{}, errors.New("elsewhere"))
	if m.hasReply() || m.total() != (Use{Attempts: 4}) {
		t.Errorf("after two failures: %+v", m.total())
	}
	m.count(counted, nil)
	m.count(counted, errors.New("the reader has left")) // what came is paid for
	if want := (Use{8, chat.Usage{InputTokens: 20, OutputTokens: 4}, chat.Cost{USD: 1}, 0}); !m.hasReply() ||
		m.total() != want {
		t.Errorf("after two replies: %+v, want %+v", m.total(), want)
	}
	m.count(chat.Reply{Text: "hi", Usage: chat.Usage{Unknown: true}, Cost: chat.Cost{Unknown: true}}, nil)
	if want := (Use{
		9, chat.Usage{InputTokens: 20, OutputTokens: 4, Unknown: true}, chat.Cost{USD: 1, Unknown: true}, 0,
	}); m.total() != want {
		t.Errorf("after a reply without a count: %+v, want %+v", m.total(), want)
	}
}

// What a failed call cost is unknown where the model may have worked for it, and nothing where it has not.
func TestMeterOfFailures(t *testing.T) {
	for err, unknown := range map[error]bool{
		&llm.Error{Fault: llm.TimedOut}: true, &llm.Error{Fault: llm.Malformed}: true, context.Canceled: true,
		context.DeadlineExceeded: true, &llm.Error{Fault: llm.Unreachable}: false,
		&llm.Error{Fault: llm.RateLimited}: false, errors.New("elsewhere"): false,
	} {
		m := meter{}
		m.count(chat.Reply{}, err)
		if got := m.total(); got.Usage.Unknown != unknown || got.Cost.Unknown != unknown {
			t.Errorf("%v: %+v", err, got)
		}
	}
}

// A call without a count is guessed by its characters, one that was given up too; one that no model has worked for is
// not.
func TestMeterGuesses(t *testing.T) {
	asked := llm.Request{Messages: []chat.Message{
		chat.NewMessage(chat.System, "12345678"), chat.NewMessage(chat.User, "éééé"),
	}}
	for _, tc := range []struct {
		usage chat.Usage
		err   error
		want  int
	}{
		{chat.Usage{InputTokens: 9}, nil, 0},
		{chat.Usage{Unknown: true}, nil, 4},
		{chat.Usage{}, context.Canceled, 4},
		{chat.Usage{}, &llm.Error{Fault: llm.Unreachable}, 0},
	} {
		m := meter{}
		m.guess(asked, "abc", chat.Reply{Usage: tc.usage}, tc.err)
		if got := m.total().Guess; got != tc.want {
			t.Errorf("%+v, %v: %d, want %d", tc.usage, tc.err, got, tc.want)
		}
	}
}
