package replay

import "context"

// User is a simulated user, who goes on where the log does not fit any more. Implementations are safe for concurrent use.
type User interface {
	// Next returns the next message, or false when the user has nothing more to say.
	Next(ctx context.Context, s Scene) (said string, ok bool, err error)
}

// Scene is what a simulated user knows.
type Scene struct {
	// Session is what really happened, Observed its turns.
	Session  *Session
	Observed []LaneTurn
	// Turns are those of the lane so far.
	Turns []LaneTurn
	// State is where the agent stands, Asked what it said last.
	State, Asked string
	Agent        Agent
}

// Recalled is a simulated user without a model. Asked something, they say what the real user said when they were asked that, else the
// next thing that they have not said yet; with nothing left they hang up. It invents nothing. The zero value is ready.
type Recalled struct{}

var _ User = Recalled{}

// Next looks for the message of the log that fits best.
func (Recalled) Next(_ context.Context, s Scene) (said string, ok bool, err error) {
	left := s.unsaid()
	asks := s.Agent.Asks(s.State)
	for _, fits := range []func(*LaneTurn) bool{
		func(t *LaneTurn) bool { return t.Before == s.State },
		func(t *LaneTurn) bool { return asks != "" && s.Agent.Asks(t.Before) == asks },
		func(*LaneTurn) bool { return true },
	} {
		for _, t := range left {
			if fits(t) {
				return t.User, true, nil
			}
		}
	}
	return "", false, nil
}

// unsaid returns the logged turns whose message was not said in the lane; a message said twice has to be used twice.
func (s Scene) unsaid() []*LaneTurn {
	said := map[string]int{}
	for i := range s.Turns {
		said[s.Turns[i].User]++
	}
	var left []*LaneTurn
	for i := range s.Observed {
		t := &s.Observed[i]
		if said[t.User] > 0 {
			said[t.User]--
			continue
		}
		left = append(left, t)
	}
	return left
}
