package pages

import (
	"context"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// replayedRun are the sessions of a replay as lists have them.
type replayedRun struct {
	sessions []replayedSession
	metrics  map[string]replay.MetricReport
	// headline and belief are those of the report that the sessions give.
	headline, belief string
	seen             time.Time
}

// replayedRuns keeps the sessions of replays that were looked at. It is safe for concurrent use; the zero value is
// empty.
type replayedRuns struct {
	mu         sync.Mutex
	cacheTimes map[string]*replayedRun
}

// maxReplayedRuns bounds how many replays are kept, maxReplayed the sessions of one.
const (
	maxReplayedRuns = 8
	maxReplayed     = 100_000
)

// of reads the sessions of a replay, unless they were read since it was last seen.
func (c *replayedRuns) of(ctx context.Context, store *Stored, run replay.Run) (*replayedRun, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept := c.cacheTimes[run.ID]; kept != nil && kept.seen.Equal(run.Seen) && !run.Ended.IsZero() {
		return kept, nil
	}
	read := &replayedRun{seen: run.Seen, metrics: map[string]replay.MetricReport{}}
	tally := &replay.Tally{}
	for outcome, err := range store.Replays.Outcomes(ctx, run.ID) {
		if err != nil {
			return nil, err
		}
		if len(read.sessions) == maxReplayed {
			break
		}
		pair, err := outcome.Pair()
		if err != nil {
			return nil, err
		}
		tally.Add(pair.Times()...)
		read.sessions = append(read.sessions, replayedSessionOf(run.ID, pair))
	}
	if len(read.sessions) > 0 {
		// Without the rules of the run the lists hold all the same, and the headline only where the default ones give
		// what is stored.
		rules, ok := run.StoredRules()
		if !ok {
			rules = replay.DefaultRules()
		}
		report, err := tally.Report(replay.Report{
			Run: replay.Run{Mode: run.Mode, Gate: run.Gate}, Fidelity: run.StoredFidelity(),
		}, rules)
		if err != nil {
			return nil, err
		}
		read.list(report.Lists)
		read.headline, read.belief = headlineOf(run, report), report.Reliability
		for _, m := range report.Metrics {
			read.metrics[m.Name] = m
		}
	}
	if c.cacheTimes == nil || len(c.cacheTimes) >= maxReplayedRuns {
		c.cacheTimes = map[string]*replayedRun{}
	}
	c.cacheTimes[run.ID] = read
	return read, nil
}

func replayedSessionOf(run string, p *replay.Pair) replayedSession {
	s := replayedSession{
		ID: p.SessionID, Outcome: p.Outcome, Dropped: text.OneLine(p.Dropped, 400),
		Address:  "/replays/" + frame.Segment(run) + "/sessions/" + frame.Segment(p.SessionID),
		Diverges: divergesAt(p.Variation(replay.Candidate)), Baseline: endOf(p.Variation(replay.Baseline)),
		Compared: endOf(p.Variation(replay.Candidate)),
	}
	if observed := p.Variation(replay.Observed); observed != nil {
		s.Turns = len(observed.Turns)
	}
	return s
}

// divergesAt returns the turn in which a lane first leaves the log's path; 0 where it does not, or where that is not
// known.
func divergesAt(l *replay.Variation) int {
	if l == nil || l.Metrics == nil || l.Metrics.FirstDivergence == nil || l.NoStates {
		return 0
	}
	return *l.Metrics.FirstDivergence
}

// endOf says how a lane ended.
func endOf(l *replay.Variation) string {
	switch {
	case l == nil || l.Error != "" || l.Endless:
		return ""
	case l.Completed:
		return "completed"
	case l.Censored:
		return "censored"
	}
	return "not completed"
}
