package mine_test

import (
	"cmp"
	"compress/gzip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/replay/mine"
)

// What is learned from the first half of the sessions says where the second half goes, turn by turn and given the true
// state. All examples say it better than one. The floors are what the corpus gives, less a little.
func TestPrediction(t *testing.T) {
	floors := map[string]struct{ one, all float64 }{
		"hotel_book": {0.31, 0.37}, "ride_book": {0.34, 0.37}, "weather": {0.41, 0.44},
	}
	for id, floor := range floors {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			first, second := halves(t, id)
			one, every := agreement(t, first, second, 1), agreement(t, first, second, mine.All)
			t.Logf("%d sessions, %d after: one example %.3f, all %.3f", len(first), len(second), one, every)
			if one < floor.one || every < floor.all || every <= one {
				t.Errorf("one example %.3f, all %.3f; want at least %.2f and %.2f", one, every, floor.one, floor.all)
			}
		})
	}
}

// halves are the sessions of the shipped example that began up to 16 May 2020, and those after.
func halves(t *testing.T, id string) (first, second []*replay.Session) {
	t.Helper()
	file, err := os.Open("../../../examples/replay/events.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var events []replay.Event
	for e, err := range replay.ReadJSONL(unpacked, func(r replay.Reject) { t.Error(r) }) {
		if err != nil {
			t.Fatal(err)
		}
		if e.FlowID == id {
			events = append(events, e)
		}
	}
	slices.SortFunc(events, func(a, b replay.Event) int {
		return cmp.Or(strings.Compare(a.SessionID, b.SessionID), a.Time.Compare(b.Time), strings.Compare(a.ID, b.ID))
	})
	split := time.Date(2020, 5, 17, 0, 0, 0, 0, time.UTC)
	var faults replay.Faults
	for s, err := range replay.Sessions(func(yield func(replay.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}, 0, &faults) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Started.Before(split) {
			first = append(first, s)
		} else {
			second = append(second, s)
		}
	}
	return first, second
}

// agreement is the share of users' messages after which the lexical model goes to the state that the log goes to. A
// message in a state that the flow does not have is a miss; what is said after an end is not asked.
func agreement(t *testing.T, learned, asked []*replay.Session, examples int) float64 {
	t.Helper()
	f, err := mine.Learn(all(learned...), mine.Options{ID: "f", MinCount: 2, Examples: examples})
	if err != nil {
		t.Fatal(err)
	}
	_, loaded := written(t, f)
	engine := flow.New(flow.Config{Model: llm.Lexical{}})
	turns, right := 0, 0
	for _, s := range asked {
		for _, m := range s.Messages {
			at, known := loaded.Node(m.Before)
			if !m.User || known && at.Ends() {
				continue
			}
			turns++
			if !known {
				continue
			}
			session, err := engine.Begin(loaded, flow.Seed{Node: m.Before})
			if err != nil {
				t.Fatal(err)
			}
			r, err := session.Send(t.Context(), m.Text, flow.Options{})
			if err != nil {
				t.Fatalf("%q: %v", m.Text, err)
			}
			if r.NextNodeID != nil && *r.NextNodeID == m.After {
				right++
			}
		}
	}
	return float64(right) / float64(turns)
}
