package replay

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// fidelitySessions is how many sessions a simulated user is tried in, at most.
const fidelitySessions = 200

// fidelity has the simulated user talk to the logged bot, from the first message, and says how like the real users it
// is. Sessions are those of the run, the ones of lowest rank. A session in which the user's model fails is left out;
// when it fails in all, so does the run.
func (e *Evaluation) fidelity(ctx context.Context, chosen map[string]bool) (*Fidelity, error) {
	sample := stats.NewSample(Seed, fidelitySessions)
	if err := e.replayable(ctx, chosen, func(s *Session) { sample.Add(s.ID) }); err != nil {
		return nil, err
	}
	tried := map[string]bool{}
	for _, id := range sample.IDs() {
		tried[id] = true
	}
	var mu sync.Mutex
	var of likeness
	var failed error
	group, trying := errgroup.WithContext(ctx)
	group.SetLimit(max(e.Workers, 1))
	err := e.replayable(ctx, tried, func(s *Session) {
		group.Go(func() error {
			said, err := e.Replayer.talk(trying, s)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case trying.Err() != nil:
				return trying.Err()
			case err != nil:
				failed = fmt.Errorf("the simulated user: %w", err)
				return nil
			}
			of.add(s, said)
			return nil
		})
	})
	if ended := group.Wait(); err == nil {
		err = ended
	}
	switch {
	case err != nil:
		return nil, err
	case of.sessions == 0 && failed != nil:
		return nil, failed
	case of.sessions == 0:
		return nil, nil
	}
	return of.fidelity(e.Rules.MinFidelity), nil
}

// replayable calls f for each session of the run that is among the chosen ones and in which the user says something.
func (e *Evaluation) replayable(ctx context.Context, chosen map[string]bool, f func(*Session)) error {
	for s, err := range e.chosen(ctx, &LogToFigures{}, &Faults{}) {
		if err != nil {
			return err
		}
		if s.Turns() > 0 && (chosen == nil || chosen[s.ID]) {
			f(s)
		}
	}
	return nil
}

// talk has the simulated user talk to the bot as it was logged, which answers in the order of the log whatever is said.
// It returns the user's messages with what the bot said after each.
func (r *Replayer) talk(ctx context.Context, s *Session) ([]VariationTurn, error) {
	observed := observe(s).Turns
	var turns []VariationTurn
	scene := Scene{
		Session: s, Observed: observed, Agent: r.Candidate, State: observed[0].Before,
		LastReply: s.lastReplyBefore(s.places()[0]),
	}
	for len(turns) < r.maxSimulated(len(observed)) {
		scene.Turns = turns
		said, ok, err := r.User.Next(ctx, scene)
		if err != nil || !ok {
			return turns, err
		}
		at := min(len(turns), len(observed)-1)
		turns = append(turns, VariationTurn{User: said, Bot: observed[at].Bot, State: observed[at].State})
		if len(turns) >= len(observed) && s.Completed {
			return turns, nil
		}
		scene.State, scene.LastReply = observed[at].State, observed[at].Bot
	}
	return turns, nil
}

// likeness adds up what simulated and real users say.
type likeness struct {
	sessions                  int
	real, simulated           [messageKinds]float64 // messages of each kind
	realTurns, simulatedTurns float64
	wanted, given             float64 // logged values, or messages, and those that the simulated user says, too
	ends                      int
}

func (l *likeness) add(s *Session, said []VariationTurn) {
	observed := observe(s).Turns
	l.sessions++
	l.realTurns += float64(len(observed))
	l.simulatedTurns += float64(len(said))
	if difference := len(said) - len(observed); difference >= -1 && difference <= 1 {
		l.ends++
	}
	asked := s.lastReplyBefore(s.places()[0])
	count := func(turns []VariationTurn, kinds *[messageKinds]float64) (words []string) {
		before := asked
		for i := range turns {
			kinds[kindOf(i, turns[i].User, before)]++
			words = append(words, turns[i].User)
			before = turns[i].Bot
		}
		return words
	}
	real, simulated := count(observed, &l.real), count(said, &l.simulated)
	wanted, given := valuesGiven(s.Data, real, simulated)
	if wanted == 0 {
		wanted, given = len(real), 0
		for _, message := range real {
			if counterpart(message, simulated) {
				given++
			}
		}
	}
	l.wanted, l.given = l.wanted+float64(wanted), l.given+float64(given)
}

// valuesGiven counts the logged values that the real user said, and those of them that the simulated one says, too.
func valuesGiven(data map[string]any, real, simulated []string) (wanted, given int) {
	was, is := normalValue(strings.Join(real, " ")), normalValue(strings.Join(simulated, " "))
	for _, value := range data {
		text := normalValue(value)
		if text == "" || !strings.Contains(was, text) {
			continue
		}
		if wanted++; strings.Contains(is, text) {
			given++
		}
	}
	return wanted, given
}

func (l *likeness) fidelity(floor float64) *Fidelity {
	f := &Fidelity{
		Minimum: floor, Sessions: l.sessions, Fields: l.given / l.wanted, End: float64(l.ends) / float64(l.sessions),
	}
	distance := 0.0
	for kind := range l.real {
		distance += math.Abs(l.real[kind]/l.realTurns-share(l.simulated[kind], l.simulatedTurns)) / 2
	}
	f.Kinds = max(1-distance, 0)
	if l.simulatedTurns == 0 { // who says nothing is like nobody
		f.Kinds = 0
	}
	f.Length = min(l.realTurns, l.simulatedTurns) / max(l.realTurns, l.simulatedTurns)
	f.Overall = min(f.Kinds, f.Fields, f.Length, f.End)
	return f
}

func share(n, all float64) float64 { return n / max(all, 1) }
