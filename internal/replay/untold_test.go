package replay_test

import (
	"context"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// reticent is an agent that does not tell all.
type reticent struct {
	*scripted
	states, completion, data bool
}

func (a reticent) Reports() (states, completion, data bool) { return a.states, a.completion, a.data }

func (a reticent) Open(ctx context.Context, at replay.Moment) (replay.Conversation, error) {
	c, err := a.scripted.Open(ctx, at)
	return reticentTalk{c, a}, err
}

type reticentTalk struct {
	replay.Conversation
	agent reticent
}

func (c reticentTalk) State() string {
	if !c.agent.states {
		return ""
	}
	return c.Conversation.State()
}

func (c reticentTalk) Send(ctx context.Context, text string) (replay.Answer, error) {
	a, err := c.Conversation.Send(ctx, text)
	if !c.agent.states {
		a.State = ""
	}
	a.Completed = a.Completed && c.agent.completion
	return a, err
}

// TestUntoldIsNotCounted holds that the report neither counts a session as on the log's path nor as not completed where
// nobody told.
func TestUntoldIsNotCounted(t *testing.T) {
	s := talked("s", "hello book → where", "where Rome → when", "when May → bye")
	r := &replay.Replayer{
		Candidate: reticent{scripted: &scripted{moves: booking}}, Baseline: &scripted{moves: booking},
		Mode: replay.Recorded,
	}
	pair, err := r.Replay(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	replay.Measure(s, pair, replay.Measuring{})
	var tally replay.Tally
	tally.Add(pair)
	report, err := tally.Report(replay.Report{Baseline: &replay.Replayed{}}, replay.DefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Divergences) != 0 || report.Outcomes[replay.Candidate] != (replay.Ends{}) ||
		len(report.Lists.Lost)+len(report.Lists.Regressed) != 0 {
		t.Errorf("divergences %v, outcomes %v, lists %v", report.Divergences, report.Outcomes, report.Lists)
	}
}

// TestUntold holds that what an agent does not tell is not measured: it is neither right nor wrong.
func TestUntold(t *testing.T) {
	for _, mode := range []replay.Mode{replay.Recorded, replay.Forced} {
		for _, tells := range []struct {
			states, completion, data bool
		}{{true, true, true}, {true, false, false}, {false, true, true}, {false, false, false}} {
			s := talked("s", "hello book → where", "where Rome → when", "when May → bye")
			r := &replay.Replayer{
				Candidate: reticent{&scripted{moves: booking}, tells.states, tells.completion, tells.data}, Mode: mode,
			}
			s.Data = map[string]any{"city": "Rome"}
			pair, err := r.Replay(t.Context(), s)
			if err != nil || pair.Dropped != "" {
				t.Fatal(err, pair.Dropped)
			}
			replay.Measure(s, pair, replay.Measuring{})
			lane := pair.Variation(replay.Candidate)
			m := lane.Metrics
			if has := m.StateProgression != nil; has != tells.states || has != (m.Sequence != nil) ||
				has != (lane.Alignment != nil) || has != (m.OnSupport.StateProgression != nil) {
				t.Errorf("%s, %+v: state metrics %+v, alignment %v", mode, tells, m, lane.Alignment)
			}
			if has := m.CompletionMatch != nil; has != tells.completion ||
				has != (m.OnSupport.CompletionMatch != nil) || has != (m.Completed != nil) ||
				has != (m.CompletedOnPath != nil) || has != (m.CompletedOffPath != nil) || !has && m.EndedEarly != nil {
				t.Errorf("%s, %+v: ends %+v", mode, tells, m)
			}
			if has := m.DataAccuracy != nil; has != tells.data || has != (m.NormalAccuracy != nil) ||
				has != (m.OnSupport.DataAccuracy != nil) {
				t.Errorf("%s, %+v: data %+v", mode, tells, m)
			}
			if m.FirstDivergence != nil {
				t.Errorf("%s, %+v: it diverges at turn %d", mode, tells, *m.FirstDivergence)
			}
			if *m.SupportCoverage != 1 || *m.TurnCountRatio != 1 {
				t.Errorf("%s, %+v: coverage %v of an agent that says the same words, ratio %v", mode, tells,
					*m.SupportCoverage, *m.TurnCountRatio)
			}
		}
	}
}
