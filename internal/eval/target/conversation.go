package target

import (
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// conversation is a conversation as templates see it. Sessions embed it.
type conversation struct {
	earlier
	values template.Values
	// history is what was said, with the actual replies.
	history []chat.Message
}

func newConversation(o runner.Opening, kind string) (*conversation, error) {
	if start := o.Test.Start; start.Fields != nil || start.Node != "" || start.Memory != nil {
		return nil, fmt.Errorf("test %s begins with a state, which a %s agent cannot be given", o.Test.ID, kind)
	}
	said, err := before(o.Test)
	if err != nil {
		return nil, err
	}
	return &conversation{said, template.Values{
		ConversationID: o.ConversationID, TestID: o.Test.ID, Trial: max(1, o.Trial), Vars: o.Test.Vars,
		MCPURL: o.MCPURL, Silent: true,
	}, slices.Clip(said)}, nil
}

// ConversationID implements runner.Identified.
func (t *conversation) ConversationID() string { return t.values.ConversationID }

// ask returns the values of a turn.
func (t *conversation) ask(message chat.Content) *template.Values {
	v := t.values
	v.Silent, v.Message, v.History = false, message.String(), t.history
	v.Turn++
	return &v
}

// heard keeps a turn that was answered.
func (t *conversation) heard(message chat.Content, reply chat.Reply) {
	t.values.Turn++
	t.history = append(t.history, chat.Message{Role: chat.User, Content: message}, reply.Message())
}
