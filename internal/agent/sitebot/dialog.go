package sitebot

import (
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/marker"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/value"
)

// addressIn returns the address that a message gives, or nothing.
func addressIn(message string) string {
	found, _ := value.In(message, site.Negates).Email()
	return found.Value
}

// observe returns the dialog after an answer: what it has asked for, and what the visitor's message gave.
// It is the only place where markers become state; finalize uses it too where the extractor did not run.
func observe(s *State, response string) Dialog {
	d := s.Dialog
	marks := marker.Of(response)
	turn := s.SkillTurn()
	if d.CapturedEmail == nil && gatingStep(s) == captureStep {
		if address := addressIn(s.Input); address != "" {
			d.CapturedEmail = &address
		}
	}
	d.EmailRequestedLastTurn, d.DemoProposedLastTurn = &marks.Email, &marks.Demo
	if marks.Email {
		d.EmailRequestedEver = true
		d.RequestTurn = &turn
		d.RequestCount++
	}
	if marks.Demo {
		d.DemoProposedEver = true
		d.ProposedTurn = &turn
	}
	return d
}

// step is the state of content gating: idle, asked, cooling down, captured or closed.
type step int

const (
	idleStep step = iota
	captureStep
	coolStep
	doneStep
)

// gatingStep derives the step from what was asked when. In the turn after the request the address is expected.
func gatingStep(s *State) step {
	d := s.Dialog
	switch {
	case d.CapturedEmail != nil:
		return doneStep
	case d.RequestTurn == nil:
		return idleStep
	}
	switch since := s.SkillTurn() - *d.RequestTurn; {
	case since == 1:
		return captureStep
	case d.RequestCount >= maxAsks:
		return doneStep
	case since < emailRest:
		return coolStep
	}
	return idleStep
}
