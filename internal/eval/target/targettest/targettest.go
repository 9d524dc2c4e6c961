// Package targettest tests the contract that every target must fulfil.
package targettest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Run tests that a target fulfils the contract of runner.Target and runner.Session.
// The target must answer a message with a text that contains the message, and fail on a message that contains "fail".
func Run(t *testing.T, target runner.Target) {
	t.Helper()
	opening := runner.Opening{Test: &suite.Test{
		ID: "contract", Input: []chat.Message{chat.NewMessage(chat.System, "S")},
	}}
	open := func(t *testing.T) runner.Session {
		t.Helper()
		s, err := target.Open(t.Context(), opening)
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		return s
	}
	say := func(t *testing.T, s runner.Session, text string) {
		t.Helper()
		reply, err := s.Send(t.Context(), chat.Content{Text: text})
		if err != nil || !strings.Contains(reply.Text, text) {
			t.Fatalf("Send(%q) = %q, %v", text, reply.Text, err)
		}
	}
	t.Run("a conversation goes on", func(t *testing.T) {
		s := open(t)
		say(t, s, "one")
		say(t, s, "two")
	})
	t.Run("an error leaves the conversation as it was", func(t *testing.T) {
		s := open(t)
		say(t, s, "one")
		if _, err := s.Send(t.Context(), chat.Content{Text: "fail"}); err == nil {
			t.Fatal("the failure is not reported")
		}
		say(t, s, "two")
	})
	t.Run("sessions do not see each other", func(t *testing.T) {
		var all sync.WaitGroup
		for range 8 {
			s := open(t)
			all.Go(func() {
				for _, text := range []string{"one", "two", "three"} {
					if _, err := s.Send(t.Context(), chat.Content{Text: text}); err != nil {
						t.Errorf("Send: %v", err)
					}
				}
			})
		}
		all.Wait()
	})
	t.Run("a cancelled context ends the call", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := open(t).Send(ctx, chat.Content{Text: "one"}); err == nil {
			t.Error("Send went on")
		}
	})
}
