package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// ConversationStore keeps conversations for all servers that share it. *store.Fleet is one.
type ConversationStore interface {
	CreateConversation(ctx context.Context, c store.Conversation, room store.ConversationLimit) error
	LeaseConversation(ctx context.Context, id, holder string, ttl, idle time.Duration) (store.Conversation, error)
	RenewConversation(ctx context.Context, id, holder string, ttl time.Duration) error
	FreeConversation(ctx context.Context, id, holder string, changed *store.Conversation) error
	DeleteConversation(ctx context.Context, id, holder string) error
	Conversation(ctx context.Context, id string, idle time.Duration) (store.Conversation, error)
}

const (
	// holdFor is how long a conversation stays held by a server that has died, holdAgain how often one that lives says
	// so.
	holdFor   = 10 * time.Second
	holdAgain = 3 * time.Second
	// writeWithin bounds a write that must happen although its caller has gone.
	writeWithin = 10 * time.Second
)

// storeKeeper keeps conversations in a store. A conversation is read when its turn begins, and written when the turn
// has ended.
type storeKeeper struct {
	store  ConversationStore
	server *Flows
	bounds store.ConversationLimit
}

// conversationLease is a held conversation.
type conversationLease struct {
	holder string
	stop   context.CancelCauseFunc
	done   chan struct{} // closed when it is not renewed any more
}

// keptConversation is what the store has of a conversation.
type keptConversation struct {
	Flow  string       `json:"flow"`
	Seed  flow.Seed    `json:"seed"`
	State flow.Context `json:"state"`
	Done  bool         `json:"done,omitempty"`
	Begun time.Time    `json:"begun"`
	First int          `json:"first"`
}

// errTurnEnded and errHoldLost are why the context of a turn has ended.
var (
	errTurnEnded = errors.New("the turn has ended")
	errHoldLost  = errors.New("another server has taken the conversation")
)

func (k *storeKeeper) add(ctx context.Context, c *conversation, bytes int) error {
	c.begun, c.first = k.server.Now(), turnOverhead+bytes
	c.bytes = c.first
	kept, err := k.kept(c)
	if err == nil {
		err = k.store.CreateConversation(ctx, kept, k.bounds)
	}
	switch {
	case errors.Is(err, store.ErrExists):
		return takenID(c.id)
	case errors.Is(err, store.ErrTooLarge):
		return newProblem(http.StatusInsufficientStorage, codeFull, "the server has no room for another conversation",
			"delete those that have ended")
	}
	return k.problem(c.id, err)
}

// kept is a conversation as the store keeps it.
func (k *storeKeeper) kept(c *conversation) (store.Conversation, error) {
	data, err := json.Marshal(keptConversation{
		c.ref, c.seed, c.session.Context(), c.session.Completed(), c.begun, c.first,
	})
	return store.Conversation{ID: c.id, Data: data, Size: c.bytes}, err
}

// opened is a conversation of the store, ready for its next turn.
func (k *storeKeeper) opened(kept store.Conversation) (*conversation, error) {
	var of keptConversation
	if err := json.Unmarshal(kept.Data, &of); err != nil {
		return nil, err
	}
	f, err := k.server.Library.Find(of.Flow)
	if err != nil {
		return nil, err
	}
	session, err := k.server.Engine.Resume(f, of.State, of.Done)
	if err != nil {
		return nil, err
	}
	return &conversation{
		id: kept.ID, ref: of.Flow, flow: f, seed: of.Seed, session: session, begun: of.Begun, used: kept.UsedAt,
		bytes: kept.Size, first: of.First, state: of.State, done: of.Done,
	}, nil
}

func (k *storeKeeper) hold(ctx context.Context, id string) (*conversation, context.Context, error) {
	holder := rand.Text()
	kept, err := k.store.LeaseConversation(ctx, id, holder, holdFor, k.bounds.Idle)
	if err != nil {
		return nil, nil, k.problem(id, err)
	}
	c, err := k.opened(kept)
	if err != nil {
		k.free(ctx, id, holder)
		return nil, nil, k.problem(id, err)
	}
	turn, stop := context.WithCancelCause(ctx)
	c.lease = &conversationLease{holder: holder, stop: stop, done: make(chan struct{})}
	go k.renew(turn, id, c.lease)
	return c, turn, nil
}

// renew holds a conversation until its turn ends. It ends the turn when it is lost.
func (k *storeKeeper) renew(turn context.Context, id string, l *conversationLease) {
	defer close(l.done)
	tick := time.NewTicker(holdAgain)
	defer tick.Stop()
	until := time.Now().Add(holdFor)
	for {
		select {
		case <-turn.Done():
			return
		case <-tick.C:
		}
		asked := time.Now()
		err := k.store.RenewConversation(turn, id, l.holder, holdFor)
		switch {
		case err == nil:
			until = asked.Add(holdFor)
		case errors.Is(err, store.ErrLeaseLost), time.Now().After(until):
			l.stop(errHoldLost)
			return
		}
	}
}

func (k *storeKeeper) room(c *conversation) error {
	if c.bytes > maxConversation {
		return tooLong()
	}
	return nil
}

func (k *storeKeeper) release(ctx context.Context, c *conversation, bytes int) error {
	c.end()
	c.bytes += bytes
	kept, err := k.kept(c)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWithin)
		defer cancel()
		err = k.store.FreeConversation(ctx, c.id, c.lease.holder, &kept)
	}
	return k.problem(c.id, err)
}

// end stops the renewals of a held conversation.
func (c *conversation) end() {
	c.lease.stop(errTurnEnded)
	<-c.lease.done
}

func (k *storeKeeper) unchanged(ctx context.Context, c *conversation) {
	c.end()
	k.free(ctx, c.id, c.lease.holder)
}

// free lets a conversation go. One that cannot be freed is free when its time is over.
func (k *storeKeeper) free(ctx context.Context, id, holder string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWithin)
	defer cancel()
	if err := k.store.FreeConversation(ctx, id, holder, nil); err != nil && !errors.Is(err, store.ErrLeaseLost) {
		k.server.Log.Warn("cannot let a conversation go", "conversation", clean(id), "error", err)
	}
}

func (k *storeKeeper) look(ctx context.Context, id string) (conversation, error) {
	kept, err := k.store.Conversation(ctx, id, k.bounds.Idle)
	if err != nil {
		return conversation{}, k.problem(id, err)
	}
	c, err := k.opened(kept)
	if err != nil {
		return conversation{}, k.problem(id, err)
	}
	return *c, nil
}

func (k *storeKeeper) remove(ctx context.Context, id string) error {
	holder := rand.Text()
	_, err := k.store.LeaseConversation(ctx, id, holder, holdFor, k.bounds.Idle)
	if err == nil {
		err = k.store.DeleteConversation(ctx, id, holder)
	}
	return k.problem(id, err)
}

func holdLost() *Problem {
	return newProblem(http.StatusTooManyRequests, codeBusy, errHoldLost.Error(), "say the message again").
		after(time.Second)
}

// problem makes an error of the store one for callers. The store's own words are for the log.
func (k *storeKeeper) problem(id string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrUnknown):
		return unknownConversation(id, k.bounds.Idle)
	case errors.Is(err, store.ErrBusy):
		return busy()
	case errors.Is(err, store.ErrLeaseLost):
		return holdLost()
	case errors.Is(err, store.ErrTooLarge):
		return tooLong()
	case store.IsUnavailable(err):
		k.server.Log.Warn("the store of conversations is away", "error", err)
		return unavailable()
	}
	return err
}
