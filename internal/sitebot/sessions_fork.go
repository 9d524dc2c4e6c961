package sitebot

import (
	"context"
	"crypto/rand"
	"errors"

	"rehearse/graph"
)

// From says where a fork begins: behind a turn, which counts from 1, or at a checkpoint.
type From struct {
	Turn       int
	Checkpoint string
}

// Fork makes a new session that begins where another one was, and returns its id; an empty one is made. The error is an *Error.
func (b *Bot) Fork(ctx context.Context, siteName, session string, from From, into string) (string, error) {
	name, k, err := b.kept(ctx, siteName, session)
	if err != nil {
		return "", err
	}
	if into == "" {
		into = rand.Text()
	}
	if err := usableSession(into); err != nil {
		return "", err
	}
	thread, target := Thread(name, session), Thread(name, into)
	if from.Checkpoint == "" {
		if from.Checkpoint, err = b.checkpointAfter(ctx, thread, session, from.Turn); err != nil {
			return "", err
		}
	}
	unlock, err := b.lock(ctx, target)
	if err != nil {
		return "", err
	}
	defer unlock()
	if thread == target {
		return "", &Error{Fault: StateExists, Message: "a session cannot be forked into itself", Hint: "name another session"}
	}
	if _, err := b.graph.Fork(context.WithValue(ctx, forkKey{}, k), thread, from.Checkpoint, target); err != nil {
		return "", forkError(err, session, into)
	}
	own := update{sessionColumn.Set(into)}
	if _, err := b.graph.UpdateState(ctx, target, own, graph.UpdateOptions{Merge: true}); err != nil {
		return "", &Error{Fault: StoreFailed, Message: "the session cannot be written", Err: err}
	}
	return into, nil
}

func forkError(err error, session, into string) error {
	switch {
	case errors.Is(err, graph.ErrHasState), errors.Is(err, graph.ErrConflict):
		return &Error{Fault: StateExists, Message: "there is a session " + clipped(into) + " already", Hint: "name another one, or none"}
	case errors.Is(err, graph.ErrNoCheckpoint):
		return fault(UnknownTurn, "`rehearse sessions history` lists checkpoints", "the session %q has no such checkpoint", session)
	}
	return &Error{Fault: StoreFailed, Message: "the session cannot be forked", Err: err}
}

// checkpointAfter finds the checkpoint of a session with which a turn had ended: the first whose state has so many.
func (b *Bot) checkpointAfter(ctx context.Context, thread, session string, turn int) (string, error) {
	chain, err := b.Checkpoints.Load(ctx, thread, "")
	if err != nil {
		return "", &Error{Fault: StoreFailed, Message: "the session cannot be read", Err: err}
	}
	if len(chain) == 0 {
		return "", fault(UnknownSession, "", "there is no session %q", session)
	}
	for _, r := range chain {
		at, err := b.graph.At(ctx, thread, r.ID)
		if err != nil {
			return "", &Error{Fault: StoreFailed, Message: "the session cannot be read", Err: err}
		}
		if at.State.TurnNumber == turn && turn > 0 {
			return r.ID, nil
		}
	}
	return "", fault(UnknownTurn, "turns count from 1; one that was injected with others has no checkpoint of its own", "the session has no checkpoint after turn %d", turn)
}

// History returns the checkpoints of a session without their states, the oldest first. The error is an *Error.
func (b *Bot) History(ctx context.Context, siteName, session string) ([]graph.Record, error) {
	found, err := b.Sites.Find(siteName)
	if err != nil {
		return nil, &Error{Fault: UnknownSite, Message: err.Error()}
	}
	records, err := b.graph.History(ctx, Thread(found.Name, session))
	switch {
	case err != nil:
		return nil, &Error{Fault: StoreFailed, Message: "the session cannot be read", Err: err}
	case len(records) == 0:
		return nil, fault(UnknownSession, "`rehearse sessions list` lists them", "there is no session %q", session)
	}
	return records, nil
}
