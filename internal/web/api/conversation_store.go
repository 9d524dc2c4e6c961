package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// ConversationStore stores conversations: a *store.Fleet for all servers that share it, or a
// *store.MemoryConversations for one process.
type ConversationStore interface {
	CreateConversation(ctx context.Context, c store.Conversation, room store.ConversationLimit) error
	LeaseConversation(ctx context.Context, id, holder string, ttl, idle time.Duration) (store.Conversation, error)
	RenewConversation(ctx context.Context, id, holder string, ttl time.Duration) error
	FreeConversation(ctx context.Context, id, holder string, changed *store.Conversation) error
	DeleteConversation(ctx context.Context, id, holder string) error
	Conversation(ctx context.Context, id string, idle time.Duration) (store.Conversation, error)
}

const (
	// leaseTime is how long a server that has died blocks a conversation, renewEvery how often a live one renews.
	leaseTime  = 10 * time.Second
	renewEvery = 3 * time.Second
	// writeWithin bounds a write that must happen although its caller has gone.
	writeWithin = 10 * time.Second
)

// Bounds of one conversation's texts, and what is counted for a turn besides them.
const (
	maxConversation = maxContext
	turnOverhead    = 1 << 10
)

// conversation is a conversation of a caller, as it is read for a turn.
type conversation struct {
	id      string
	ref     string // the flow as the caller named it
	flow    *flow.Flow
	seed    flow.Seed
	session *flow.Session
	sent    *sentMessage // nil when the last message had no key
	// begun is when the conversation was created, used when its last turn ended.
	begun, used time.Time
	// bytes is the size of the conversation without sent, first its size at the beginning.
	bytes, first int
	// full is true when the store has no room for a longer conversation.
	full  bool
	lease *conversationLease // nil without a turn
}

// conversationManager stores the conversations of callers, of each of which one turn is taken at a time. A conversation
// is read when its turn begins, and written when the turn has ended. Errors are of kind *Problem.
type conversationManager struct {
	store  ConversationStore
	server *Flows
	bounds store.ConversationLimit
}

// conversationLease is the right to take a turn.
type conversationLease struct {
	holder string
	stop   context.CancelCauseFunc
	done   chan struct{} // closed when it is not renewed any more
}

// storedConversation is what the store has of a conversation.
type storedConversation struct {
	Flow  string       `json:"flow"`
	Seed  flow.Seed    `json:"seed"`
	State flow.Context `json:"state"`
	Done  bool         `json:"done,omitempty"`
	Begun time.Time    `json:"begun"`
	First int          `json:"first"`
	Sent  *sentMessage `json:"sent,omitempty"`
}

// sentMessage is the last message of a conversation that was sent with an Idempotency-Key, and its answer.
type sentMessage struct {
	Key     string `json:"key"`
	Hash    string `json:"hash"` // of the message, SHA-256
	TraceID string `json:"trace_id"`
	Reply   string `json:"reply"` // a replyView in JSON
}

// errTurnEnded and errLeaseLost are the causes of the end of a turn's context.
var (
	errTurnEnded = errors.New("the turn has ended")
	errLeaseLost = errors.New("another server has taken the conversation")
)

func (m *conversationManager) add(ctx context.Context, c *conversation, bytes int) error {
	c.begun, c.first = m.server.Now(), turnOverhead+bytes
	c.bytes = c.first
	kept, err := m.encode(c)
	if err == nil {
		err = m.store.CreateConversation(ctx, kept, m.bounds)
	}
	switch {
	case errors.Is(err, store.ErrExists):
		return newProblem(http.StatusConflict, codeExists, fmt.Sprintf("there is a conversation %q already", c.id),
			"choose another conversation_id, leave it out, or delete that one").at("/conversation_id")
	case errors.Is(err, store.ErrTooLarge):
		return newProblem(http.StatusInsufficientStorage, codeFull, "the server has no room for another conversation",
			"delete those that have ended")
	}
	return m.problem(c.id, err)
}

func (m *conversationManager) encode(c *conversation) (store.Conversation, error) {
	data, err := json.Marshal(storedConversation{
		c.ref, c.seed, c.session.Context(), c.session.Completed(), c.begun, c.first, c.sent,
	})
	size := c.bytes
	if c.sent != nil {
		size += len(c.sent.Reply)
	}
	return store.Conversation{ID: c.id, Data: data, Size: size}, err
}

// decode returns a conversation of the store, ready for its next turn.
func (m *conversationManager) decode(kept store.Conversation) (*conversation, error) {
	var of storedConversation
	if err := json.Unmarshal(kept.Data, &of); err != nil {
		return nil, err
	}
	f, err := m.server.Library.Find(of.Flow)
	if err != nil {
		return nil, err
	}
	session, err := m.server.Engine.Resume(f, of.State, of.Done)
	if err != nil {
		return nil, err
	}
	bytes := kept.Size
	if of.Sent != nil {
		bytes -= len(of.Sent.Reply)
	}
	return &conversation{
		id: kept.ID, ref: of.Flow, flow: f, seed: of.Seed, session: session, begun: of.Begun, used: kept.UsedAt,
		bytes: bytes, first: of.First, full: kept.Full, sent: of.Sent,
	}, nil
}

// lease gives the next turn of a conversation to one caller, who ends it with release or unchanged. The turn is to be
// taken in the context that it returns, which ends when another server has taken the conversation.
func (m *conversationManager) lease(ctx context.Context, id string) (*conversation, context.Context, error) {
	holder := rand.Text()
	kept, err := m.store.LeaseConversation(ctx, id, holder, leaseTime, m.bounds.Idle)
	if err != nil {
		return nil, nil, m.problem(id, err)
	}
	c, err := m.decode(kept)
	if err != nil {
		m.free(ctx, id, holder)
		return nil, nil, m.problem(id, err)
	}
	turn, stop := context.WithCancelCause(ctx)
	c.lease = &conversationLease{holder: holder, stop: stop, done: make(chan struct{})}
	go m.renew(turn, id, c.lease)
	return c, turn, nil
}

// renew renews the lease of a conversation until its turn ends, and ends the turn when the lease is lost.
func (m *conversationManager) renew(turn context.Context, id string, l *conversationLease) {
	defer close(l.done)
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	until := time.Now().Add(leaseTime)
	for {
		select {
		case <-turn.Done():
			return
		case <-tick.C:
		}
		asked := time.Now()
		err := m.store.RenewConversation(turn, id, l.holder, leaseTime)
		switch {
		case err == nil:
			until = asked.Add(leaseTime)
		case errors.Is(err, store.ErrLeaseLost), time.Now().After(until):
			l.stop(errLeaseLost)
			return
		}
	}
}

// room returns an error when there is no room for another turn.
func (c *conversation) room() error {
	switch {
	case c.bytes > maxConversation:
		return tooLong()
	case c.full:
		return newProblem(http.StatusInsufficientStorage, codeFull, "the server has no room for longer conversations",
			"delete those that have ended")
	}
	return nil
}

// release ends a turn, by which the conversation has grown by bytes, and writes its new state.
func (m *conversationManager) release(ctx context.Context, c *conversation, bytes int) error {
	c.end()
	c.bytes += bytes
	kept, err := m.encode(c)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWithin)
		defer cancel()
		err = m.store.FreeConversation(ctx, c.id, c.lease.holder, &kept)
	}
	return m.problem(c.id, err)
}

// end stops the renewals of the lease.
func (c *conversation) end() {
	c.lease.stop(errTurnEnded)
	<-c.lease.done
}

// unchanged ends a turn that has changed nothing.
func (m *conversationManager) unchanged(ctx context.Context, c *conversation) {
	c.end()
	m.free(ctx, c.id, c.lease.holder)
}

// free ends a lease. One that cannot be ended ends when its time is over.
func (m *conversationManager) free(ctx context.Context, id, holder string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWithin)
	defer cancel()
	if err := m.store.FreeConversation(ctx, id, holder, nil); err != nil && !errors.Is(err, store.ErrLeaseLost) {
		m.server.Log.Warn("cannot end the lease of a conversation", "conversation", clean(id), "error", err)
	}
}

// look returns the state of a conversation, without a turn that is under way.
func (m *conversationManager) look(ctx context.Context, id string) (*conversation, error) {
	kept, err := m.store.Conversation(ctx, id, m.bounds.Idle)
	if err != nil {
		return nil, m.problem(id, err)
	}
	c, err := m.decode(kept)
	return c, m.problem(id, err)
}

func (m *conversationManager) remove(ctx context.Context, id string) error {
	holder := rand.Text()
	_, err := m.store.LeaseConversation(ctx, id, holder, leaseTime, m.bounds.Idle)
	if err == nil {
		err = m.store.DeleteConversation(ctx, id, holder)
	}
	return m.problem(id, err)
}

func leaseLost() *Problem {
	return newProblem(http.StatusTooManyRequests, codeBusy, errLeaseLost.Error(), "send the message again").
		after(time.Second)
}

// problem makes an error of the store one for callers. The store's own words are for the log.
func (m *conversationManager) problem(id string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrUnknown):
		return unknownConversation(id, m.bounds.Idle)
	case errors.Is(err, store.ErrBusy):
		return busy()
	case errors.Is(err, store.ErrLeaseLost):
		return leaseLost()
	case errors.Is(err, store.ErrTooLarge):
		return tooLong()
	case store.IsUnavailable(err):
		m.server.Log.Warn("the store of conversations is away", "error", err)
		return unavailable()
	}
	return err
}

// busy is the problem that another caller takes a turn.
func busy() *Problem {
	return newProblem(http.StatusTooManyRequests, codeBusy, "a turn of this conversation is under way",
		"wait for its answer").after(time.Second)
}

// unknownConversation is the problem that there is none of that id.
func unknownConversation(id string, idle time.Duration) *Problem {
	return newProblem(http.StatusNotFound, codeNotFound, fmt.Sprintf("there is no conversation %q", clean(id)),
		"begin one with POST /api/v1/conversations; the server drops those that are silent for "+idle.String())
}

func tooLong() *Problem {
	return newProblem(http.StatusInsufficientStorage, codeFull, "the conversation is longer than 4 MB",
		"reset it, or begin another one")
}
