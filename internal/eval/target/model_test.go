package target_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/eval/target/targettest"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// parrot repeats the last message and remembers what it was sent.
type parrot struct {
	mu                sync.Mutex
	classifierRequest []llm.Request
}

func (p *parrot) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.classifierRequest = append(p.classifierRequest, r)
	last := r.Messages[len(r.Messages)-1].Content.Text
	if last == "fail" {
		return chat.Reply{}, errors.New("as asked")
	}
	return chat.Reply{Text: fmt.Sprintf("%s (%d)", last, len(r.Messages))}, ctx.Err()
}

func TestModel(t *testing.T) { targettest.Run(t, &target.Model{Model: &parrot{}}) }

// TestModelIsSentTheConversation holds that a request is the conversation so far, with the configured parameters and
// nothing else.
func TestModelIsSentTheConversation(t *testing.T) {
	p := &parrot{}
	m := &target.Model{Model: p, Parameters: llm.Request{Temperature: new(0.5)}}
	s, err := m.Open(t.Context(), runner.Opening{Test: &suite.Test{Input: []chat.Message{
		chat.NewMessage(chat.System, "S"),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "fail", "two"} {
		if _, err := s.Send(t.Context(), chat.Content{Text: text}); (err != nil) != (text == "fail") {
			t.Fatalf("Send(%q): %v", text, err)
		}
	}
	want := llm.Request{Temperature: new(0.5), Messages: []chat.Message{
		chat.NewMessage(chat.System, "S"), chat.NewMessage(chat.User, "one"),
		chat.NewMessage(chat.Assistant, "one (2)"), chat.NewMessage(chat.User, "two"),
	}}
	if diff := cmp.Diff(want, p.classifierRequest[2], cmpopts.IgnoreFields(llm.Request{}, "Conversation")); diff != "" {
		t.Errorf("request mismatch (-want +got):\n%s", diff)
	}
}
