package remote

import (
	"context"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/fleet/client"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Options says how a run of a server is followed.
type Options struct {
	// Stop, once closed, cancels the run at the server.
	Stop <-chan struct{}
	// Note is told what the user should know meanwhile.
	Note func(said string)
	// Submitted is told the id of the run as soon as the server has it. follow is false where nobody waits for its end.
	Submitted func(id string) (follow bool, err error)
	// Event gets the events of the run.
	Event func(client.Event)
}

// Run has a server hold a run, and returns it as it has ended; an empty one that nobody waits for. An error of a run
// that has an id goes on at the server.
func Run(ctx context.Context, server *client.Client, spec runspec.Spec, h Options) (client.Run, error) {
	run, err := server.Submit(ctx, spec)
	if err != nil {
		return client.Run{}, err
	}
	defer cancelOn(ctx, h.Stop, server, run.ID, h.Note)()
	if follow, err := h.Submitted(run.ID); !follow || err != nil {
		return client.Run{}, err
	}
	ended, err := server.Follow(ctx, run.ID, h.Event)
	if err != nil {
		return client.Run{ID: run.ID}, err
	}
	return ended, nil
}

// cancelOn cancels a run on a server once stop is closed. The returned function ends the watch; a cancellation under
// way is waited for.
func cancelOn(ctx context.Context, stop <-chan struct{}, server *client.Client, id string,
	note func(string)) (done func()) {
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-over:
			select {
			case <-stop: // both: the signal came first
			default:
				return
			}
		case <-stop:
		}
		if _, err := server.Cancel(ctx, id); err != nil && !strings.Contains(err.Error(), context.Canceled.Error()) {
			note(err.Error())
		}
	}()
	return func() {
		close(over)
		<-watched
	}
}
