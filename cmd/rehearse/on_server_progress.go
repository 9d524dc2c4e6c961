package main

import (
	"context"

	"github.com/rehearse-dev/rehearse/internal/fleet/client"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// serverProgress shows how far a run on a server is.
type serverProgress struct {
	*progress
	tests int
	begun bool
	now   orchestrator.Progress
}

// printEvent counts finished conversations. Tests with trials have a result of trial 0 for all of them.
func (p *serverProgress) printEvent(e client.Event) {
	if !p.begun {
		p.begun = true
		p.Begin(result.Run{}, p.tests)
	}
	switch {
	case e.Progress != nil:
		p.now.InFlight = e.Progress.Running
	case e.Result != nil && e.Result.Trial == 0:
		t := &p.now.Totals
		t.Tests++
		switch e.Result.Verdict {
		case result.Pass:
			t.Passed++
		case result.Fail:
			t.Failed++
		case result.Error:
			t.Errors++
		case result.Ungraded:
			t.Ungraded++
		}
	}
	p.Observe(p.now)
}

func (p *serverProgress) end() {
	if p.begun {
		p.End()
	}
}

// cancelling returns a context and a stop channel for a run on a server: the first signal closes stop, a second one
// cancels the context.
func (e *Env) cancelling(ctx context.Context,
	note func(string)) (working context.Context, stop <-chan struct{}, release func()) {
	working, cancel := context.WithCancel(ctx)
	stopping, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-working.Done():
			return
		case <-e.Signals:
		}
		note("cancelling the run on the server; press Ctrl-C again to leave it")
		close(stopping)
		select {
		case <-working.Done():
		case <-e.Signals:
			cancel()
		}
	}()
	return working, stopping, func() {
		cancel()
		<-watched
	}
}
