// Package replay plays past conversations against a variant and a baseline and says which is better. Events become
// sessions, sessions are replayed in lanes, replays are measured and compared. It knows nothing of databases: it asks
// Events.
package replay

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"time"
)

// The types of events that make up a session; events of other types are kept and passed over.
const (
	Started    = "conversation_started"
	Message    = "message_sent"
	Completed  = "flow_completed"
	DroppedOff = "user_dropped_off"
)

// Event is one logged event (replay.md section 1). Experiments, Context, Metrics and Payload are JSON, nil where there
// was none.
type Event struct {
	ID       string `json:"event_id"`
	Type     string `json:"event_type"`
	UnitType string `json:"unit_type"`
	UnitID   string `json:"unit_id"`

	Experiments json.RawMessage `json:"experiments"`
	Context     json.RawMessage `json:"context"`
	Metrics     json.RawMessage `json:"metrics"`
	Payload     json.RawMessage `json:"payload"`

	// Time has the precision of a microsecond, which every store keeps.
	Time time.Time `json:"timestamp"`

	// SessionID and FlowID stand in Context too. An event without a session is not kept; one without a flow is of no
	// flow.
	SessionID string `json:"-"`
	FlowID    string `json:"-"`
}

// Filter chooses events. The zero value chooses all.
type Filter struct {
	FlowID string
	// From and To bound the time of events, To being excluded; zero means without a bound.
	From, To time.Time
	// EntireSessions chooses all events of the sessions that have one between From and To, wherever they lie
	// themselves.
	EntireSessions bool
	// Types are the types of events; none means all.
	Types []string
}

// Events keeps events. Implementations are safe for concurrent use.
type Events interface {
	// Put adds events as they come and returns how many were new: one whose ID is known already changes nothing, within
	// the call and before. sessions is the number of sessions among the new ones. It stops at the first error of its
	// input or the store; what was added until then may stay, as adding it again changes nothing.
	Put(ctx context.Context, events iter.Seq2[Event, error]) (added, sessions int, err error)
	// Each yields events ordered by session and time, in constant memory however many there are. Of one time they come
	// as SortTied puts them, of those without a turn number the first that arrived first.
	Each(ctx context.Context, f Filter) iter.Seq2[Event, error]
}

// Imported says what became of events that were put into a store.
type Imported struct {
	// Added were new, Known were there with the same content, Conflicting have the id of an event with another one: the
	// first is kept.
	Added, Known, Conflicting int
	// Sessions were not there before.
	Sessions int
	// Conflicts are the ids of some that are conflicting.
	Conflicts []string
}

// Lossy is a store of Events that may hold rows which Each cannot yield.
type Lossy interface {
	// Unusable counts those rows by kind, and names some of them.
	Unusable(ctx context.Context, f Filter) ([]RowFault, error)
}

// SortTied puts events of one session and one time, which come in the order in which they arrived, into their order:
// those that have a turn number by that number, in the places that they have among the others.
func SortTied(tied []Event) {
	if len(tied) < 2 {
		return
	}
	type numbered struct {
		event Event
		turn  float64
	}
	var places []int
	var events []numbered
	for i := range tied {
		var metrics struct {
			Turn *float64 `json:"turn_number"`
		}
		if json.Unmarshal(orNull(tied[i].Metrics), &metrics) == nil && metrics.Turn != nil {
			places = append(places, i)
			events = append(events, numbered{tied[i], *metrics.Turn})
		}
	}
	slices.SortStableFunc(events, func(a, b numbered) int {
		switch {
		case a.turn < b.turn:
			return -1
		case a.turn > b.turn:
			return 1
		}
		return 0
	})
	for i, at := range places {
		tied[at] = events[i].event
	}
}
