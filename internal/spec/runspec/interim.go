package runspec

import "time"

// Interim makes a replay the look of a watch that a server keeps: the sessions whose last event lies in its period,
// which days need not bound, without those of earlier looks. Only the server itself asks for one, so that its agents
// are those of the server's own configuration.
type Interim struct {
	// Watch is the name of the watch in the store of the server.
	Watch string `json:"watch"`
	// Since is when the watch begins, Until the end of the period; sessions end at or after the one and before the
	// other.
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Settings is the hash of what decides the figures of the watch. Whoever opens other agents than these holds
	// nothing.
	Settings string `json:"settings"`
}

// IsInterim reports whether a run is the look of a watch.
func (s *Spec) IsInterim() bool { return s.Replay != nil && s.Replay.Interim != nil }
