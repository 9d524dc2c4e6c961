package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// beginConversation is POST /api/v1/conversations.
func (s *Flows) beginConversation(w http.ResponseWriter, r *http.Request) {
	body, err := readJSONBody(w, r)
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	var c *conversation
	err = limited(r.Context(), func() error {
		c, err = s.newConversation(body, idsOf(r))
		return err
	})
	if err == nil {
		err = s.conversations.add(r.Context(), c, len(body))
	}
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	setID(w, conversationHeader, c.id)
	w.Header().Set("Location", "/api/v1/conversations/"+url.PathEscape(c.id))
	writeBody(w, http.StatusCreated, "application/json", opening(c))
}

// say is POST /api/v1/conversations/{conversation_id}/messages: one turn.
func (s *Flows) say(w http.ResponseWriter, r *http.Request) {
	body, err := readJSONBody(w, r)
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	message, err := readMessage(body)
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	key, err := idempotencyKey(r)
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	id := conversationID(r)
	r, span := flowTurn(r, id, "")
	s.answer(w, r, func(ctx context.Context, sink func(flow.Event)) (_ any, err error) {
		defer func() { spanEnded(span, err) }()
		sent, err := s.converse(ctx, id, key, message, sink)
		if err != nil {
			return nil, err
		}
		setID(w, conversationHeader, id)
		setID(w, traceHeader, sent.TraceID)
		return json.RawMessage(sent.Reply), nil
	})
}

// messageKey describes the header of sentMessage.
var messageKey = parameter{
	"Idempotency-Key",
	"a key of the message: when the last message is sent again with it, the answer is the same, without another " +
		"turn; another message is 422 idempotency_mismatch",
}

// converse takes the next turn of a conversation. It releases the conversation before the answer is sent, or a fast
// client would find it busy.
func (s *Flows) converse(ctx context.Context, id, key, message string, sink func(flow.Event)) (*sentMessage, error) {
	c, turn, err := s.conversations.lease(ctx, id)
	if err != nil {
		return nil, err
	}
	ended := false
	defer func() {
		if !ended { // the turn failed, or broke the program
			s.conversations.unchanged(ctx, c)
		}
	}()
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(message)))
	if key != "" && c.sent != nil && c.sent.Key == key {
		if c.sent.Hash != hash {
			return nil, newProblem(http.StatusUnprocessableEntity, codeMismatch,
				"the Idempotency-Key was used for another message", "send a new key, or the same message as before")
		}
		return c.sent, nil
	}
	result, err := s.takeTurn(turn, c, message, sink)
	if err != nil {
		if errors.Is(context.Cause(turn), errLeaseLost) {
			err = leaseLost()
		}
		return nil, err
	}
	reply, err := encode(replyOf(c, result))
	if err != nil {
		return nil, err
	}
	sent := &sentMessage{Key: key, Hash: hash, TraceID: result.TraceID, Reply: string(reply)}
	if c.sent = nil; key != "" {
		c.sent = sent
	}
	ended = true
	return sent, s.conversations.release(ctx, c, turnOverhead+len(message)+len(result.AssistantMessage))
}

func (s *Flows) takeTurn(ctx context.Context, c *conversation, message string,
	sink func(flow.Event)) (*flow.Result, error) {
	if err := c.room(); err != nil {
		return nil, err
	}
	before, started := c.session.Context(), time.Now()
	result, err := c.session.Send(ctx, message, flow.Options{Sink: sink, TraceID: trace.IDOf(ctx)})
	s.logTurn(ctx, c.flow.ID, &before, started, result, err)
	return result, err
}

// showConversation is GET /api/v1/conversations/{conversation_id}.
func (s *Flows) showConversation(w http.ResponseWriter, r *http.Request) {
	c, err := s.conversations.look(r.Context(), conversationID(r))
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	writeBody(w, http.StatusOK, "application/json", transcript(c))
}

// resetConversation is POST /api/v1/conversations/{conversation_id}/reset: back to how the conversation began.
func (s *Flows) resetConversation(w http.ResponseWriter, r *http.Request) {
	c, _, err := s.conversations.lease(r.Context(), conversationID(r))
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	fresh, err := s.Engine.Begin(c.flow, c.seed)
	if err != nil { // it could begin before, unless its flow has changed
		s.conversations.unchanged(r.Context(), c)
		writeProblem(w, problemOf(err))
		return
	}
	c.session, c.sent = fresh, nil
	if err := s.conversations.release(r.Context(), c, c.first-c.bytes); err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	writeBody(w, http.StatusOK, "application/json", opening(c))
}

// conversationID returns the ID in the path of a request. For text that no ID can be, which a store might change into
// one, it is empty: no conversation has that.
func conversationID(r *http.Request) string {
	if id := r.PathValue("conversation_id"); clean(id) == id {
		return id
	}
	return ""
}

// endConversation is DELETE /api/v1/conversations/{conversation_id}.
func (s *Flows) endConversation(w http.ResponseWriter, r *http.Request) {
	if err := s.conversations.remove(r.Context(), conversationID(r)); err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// maxMessage bounds a user's message in characters, as the schema of execution contexts does.
const maxMessage = 32_000

func readMessage(body []byte) (string, error) {
	var asked struct {
		Message *string `json:"message"`
	}
	if err := decodeStrictly(body, &asked); err != nil {
		return "", err
	}
	switch {
	case asked.Message == nil, *asked.Message == "":
		return "", newProblem(http.StatusBadRequest, codeInvalid, "there is no message", `send {"message": "…"}`).
			at("/message")
	case utf8.RuneCountInString(*asked.Message) > maxMessage:
		return "", newProblem(http.StatusBadRequest, codeInvalid,
			"the message is longer than "+strconv.Itoa(maxMessage)+" characters", "shorten it").at("/message")
	}
	return *asked.Message, nil
}
