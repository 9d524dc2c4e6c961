package pages

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// sessionSummary is a session as a list has it.
type sessionSummary struct {
	ID, Flow, Unit, Outcome string
	Turns                   int
	Started                 time.Time
	// Live is true of one that a chatbot holds.
	Live bool
}

func summaryOf(s *replay.Session) sessionSummary {
	outcome := outcomeUnknown
	switch s.Outcome() {
	case replay.EndCompleted:
		outcome = outcomeCompleted
	case replay.EndDropped:
		outcome = outcomeDropped
	}
	return sessionSummary{
		ID: s.ID, Flow: s.FlowID, Unit: s.UnitID, Outcome: outcome, Turns: s.Turns(), Started: s.Started,
	}
}

// How sessions ended, as lists have it.
const (
	outcomeCompleted = "completed"
	outcomeDropped   = "dropped"
	outcomeUnknown   = "unknown"
)

// maxSessions bounds how many sessions are listed.
const maxSessions = 200_000

// A list is used again for keepSessions, and for keepFactor times what it took to read it: so pages that are opened all
// the time keep a store busy for a twentieth of the time at most.
const (
	keepSessions = 3 * time.Second
	keepFactor   = 20
)

// cacheTimes says how long something that was read is used again.
type cacheTimes struct{ began, until time.Time }

func cacheTimesOf(began, ended time.Time) cacheTimes {
	return cacheTimes{began, ended.Add(max(keepSessions, keepFactor*ended.Sub(began)))}
}

// holds reports whether what was read still counts.
func (k cacheTimes) holds(now time.Time) bool { return !now.Before(k.began) && now.Before(k.until) }

// loggedList is the sessions of a log, the newest first.
type loggedList struct {
	all []sessionSummary
	// more is true where there are others.
	more bool
	cacheTimes
}

// sessionLists keeps the list of all sessions for a while. It is safe for concurrent use; the zero value is empty.
type sessionLists struct {
	mu   sync.Mutex
	last loggedList
	// digests are those of the sessions of last, which were made before it was read; nil where there are none.
	digests map[string]uint64
}

// list returns the sessions of a log as they were a while ago at most.
func (l *sessionLists) list(ctx context.Context, s *Stored, now func() time.Time) (loggedList, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	began := now()
	if l.last.holds(began) {
		return l.last, nil
	}
	digests, err := digestsOf(ctx, s)
	if err != nil {
		return loggedList{}, err
	}
	read, ok, err := l.grown(ctx, s, digests)
	if err == nil && !ok {
		read, err = readLogged(ctx, s)
	}
	if err != nil {
		return loggedList{}, err
	}
	slices.SortFunc(read.all, newestFirst)
	read.cacheTimes = cacheTimesOf(began, now())
	l.last, l.digests = read, digests
	return read, nil
}

// digestsOf returns what tells whether sessions have changed; nil for a log that cannot say it.
func digestsOf(ctx context.Context, s *Stored) (map[string]uint64, error) {
	log, ok := s.Sessions.(interface {
		Digests(ctx context.Context, most int) (map[string]uint64, error)
	})
	if !ok {
		return nil, nil
	}
	return log.Digests(ctx, maxSessions)
}

// readLogged reads all sessions of a log.
func readLogged(ctx context.Context, s *Stored) (read loggedList, err error) {
	events := s.Sessions.EachFrom(ctx, replay.Filter{Types: listedTypes}, "")
	for session, err := range replay.Sessions(events, 0, &replay.Faults{}) {
		if err != nil {
			return loggedList{}, err
		}
		if read.more = len(read.all) == maxSessions; read.more {
			break
		}
		read.all = append(read.all, summaryOf(session))
	}
	return read, nil
}

// maxChanged is how many sessions that have changed are read one by one. Where more have, reading all of them is
// quicker.
const maxChanged = 500

// grown returns the list that was read last with the sessions that have changed since read again; ok is false where all
// must be read. l.mu is held.
func (l *sessionLists) grown(ctx context.Context, s *Stored,
	digests map[string]uint64) (read loggedList, ok bool, err error) {
	if l.digests == nil || digests == nil {
		return read, false, nil
	}
	var changed []string
	for id, digest := range digests {
		if before, known := l.digests[id]; !known || before != digest {
			if changed = append(changed, id); len(changed) > maxChanged {
				return read, false, nil
			}
		}
	}
	for _, summary := range l.last.all {
		logged := replay.LoggedID(summary.ID)
		if digest, there := digests[logged]; there && digest == l.digests[logged] {
			read.all = append(read.all, summary)
		}
	}
	for _, id := range changed {
		for session, err := range sessionsOf(ctx, s, id, listedTypes...) {
			if err != nil {
				return read, false, err
			}
			read.all = append(read.all, summaryOf(session))
		}
	}
	return read, true, nil
}

// listedTypes are the types of events that a list of sessions needs.
var listedTypes = []string{replay.Started, replay.Message, replay.Completed, replay.DroppedOff}
