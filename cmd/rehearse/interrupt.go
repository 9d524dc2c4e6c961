package main

import (
	"context"
	"fmt"
	"time"
)

// interruptible returns a context and a stop channel for a run. The first signal closes stop, so that conversations in flight finish;
// after the grace period, or at a second signal, the context is cancelled. release ends the watch.
func (w *wiring) interruptible(ctx context.Context, progress *progress) (working context.Context, stop <-chan struct{}, release func()) {
	working, cancel := context.WithCancel(ctx)
	stopping, finished, watched := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-finished:
			return
		case <-w.env.Signals:
		}
		close(stopping)
		progress.note(fmt.Sprintf("finishing what is in flight (at most %s); press Ctrl-C again to stop at once", w.flags.grace))
		grace := time.NewTimer(w.flags.grace)
		defer grace.Stop()
		select {
		case <-finished:
		case <-w.env.Signals:
			cancel()
		case <-grace.C:
			cancel()
		}
	}()
	return working, stopping, func() {
		close(finished)
		<-watched
		cancel()
	}
}
