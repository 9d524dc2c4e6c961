package llm

import (
	"context"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// stateConversation is the state of a conversation that is made before its first request
// (https://platform.openai.com/docs/api-reference/conversations/create).
const stateConversation = "conversation"

// begun returns a request with the conversation that its provider keeps. One that has none yet is made.
func (c *Client) begun(ctx context.Context, r Request) (Request, error) {
	if r.Thread == nil || r.Thread.State != stateConversation || r.Thread.ID != "" {
		return r, nil
	}
	answer, err := c.endpoint.post(ctx, call{
		requestPath: c.wire.conversations, body: []byte("{}"), bare: true, values: valuesOf(ctx, r),
		conversation: conversationID(r),
	})
	if err != nil {
		return r, err
	}
	var made struct {
		ID string `json:"id"`
	}
	if err := decodeJSON(answer, &made); err != nil {
		return r, c.endpoint.malformed(err)
	}
	if made.ID == "" {
		return r, c.endpoint.fail(&Error{Fault: Malformed, Message: "the answer has no id of a conversation"})
	}
	r.Thread = &Thread{State: r.Thread.State, ID: made.ID}
	return r, nil
}

// threaded returns a reply with the id by which its conversation goes on; one that the provider does not keep has none.
func threaded(r Request, reply chat.Reply) (chat.Reply, error) {
	switch {
	case r.Thread == nil:
		reply.Thread = ""
	case r.Thread.State == stateConversation:
		reply.Thread = r.Thread.ID
	case reply.Thread == "":
		return reply, &Error{Fault: Malformed, Message: "the answer has no id, with which the next request would go on"}
	}
	return reply, nil
}

// conversationID returns the id of the conversation whose target is asked; empty where the model is not the target.
func conversationID(r Request) string {
	if r.Conversation == nil {
		return ""
	}
	return r.Conversation.ConversationID
}
