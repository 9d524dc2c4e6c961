package store_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/storetest"
)

func TestEvents(t *testing.T) {
	storetest.RunEvents(t, func(t *testing.T) replay.Events {
		s := open(t, newFile(t))
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		return s.Events()
	})
}

func TestEventsAdd(t *testing.T) {
	storetest.RunEventsAdd(t, func(t *testing.T) *store.Events { return fresh(t).Events() })
}

// messages are so many events in sessions of twenty, from a number on. No two runs of them are in the order in which
// they are read.
func messages(from, n int) iter.Seq2[replay.Event, error] {
	const text = "I am looking for a place to eat in the city, could you help me find one please? It should not be " +
		"too expensive."
	start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	return func(yield func(replay.Event, error) bool) {
		for i := from; i < from+n; i++ {
			session := fmt.Sprintf("session-%08x", uint32(i/20)*2654435761)
			flow := fmt.Sprintf("flow_%d", i/20%24)
			e := replay.Event{
				ID: fmt.Sprintf("%s#%04d", session, i%20), Type: replay.Message, UnitType: "user",
				UnitID: fmt.Sprintf("user-%d", i/20%5000), Experiments: json.RawMessage(`[]`),
				Context: fmt.Appendf(nil,
					`{"session_id":"%s","flow_id":"%s","flow_version":"1.0.0","current_state":"state_%d"}`,
					session, flow, i%20),
				Metrics: fmt.Appendf(nil, `{"turn_number":%d,"latency_ms":%d}`, i%20/2, i*7919%3000),
				Payload: fmt.Appendf(nil, `{"sender":"user","message_text":"%s","message_length":80,"state_transition":true,"next_state":"state_%d"}`, text[:20+i%90], i%20+1),
				Time:    start.Add(time.Duration(i) * time.Second), SessionID: session, FlowID: flow,
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// count counts events, and wants to read them all.
func count(t testing.TB, events replay.Events, f replay.Filter) (n int) {
	t.Helper()
	for _, err := range events.Each(t.Context(), f) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestEventsOutliveClose(t *testing.T) {
	path := newFile(t)
	one, two := open(t, path), open(t, path)
	var wg sync.WaitGroup
	total := 0
	var mu sync.Mutex
	for i, s := range []*store.Store{one, two} { // as two processes would
		wg.Go(func() {
			added, _, err := s.Events().Put(t.Context(), messages(i*1_000, 2_000))
			if err != nil {
				t.Errorf("Put: %v", err)
			}
			mu.Lock()
			total += added
			mu.Unlock()
		})
	}
	wg.Wait()
	for _, s := range []*store.Store{one, two} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	again := open(t, path)
	if n := count(t, again.Events(), replay.Filter{}); n != 3_000 || total != n {
		t.Errorf("%d events, %d told; want 3000", n, total)
	}
	again.Close()
	_, _, err := again.Events().Put(t.Context(), messages(0, 1))
	if want := "write events to store " + path + ": it is closed"; err == nil || err.Error() != want {
		t.Errorf("Put after Close: %v, want %s", err, want)
	}
	for _, err = range again.Events().Each(t.Context(), replay.Filter{}) {
		if want := "read events from store " + path + ": it is closed"; err == nil || err.Error() != want {
			t.Errorf("Each after Close: %v, want %s", err, want)
		}
	}
}

// pageFilters are of every kind that pages are read by.
var pageFilters = []replay.Filter{
	{},
	{FlowID: "flow_3"},
	{From: time.Date(2025, 1, 1, 1, 0, 0, 0, time.UTC), To: time.Date(2025, 1, 1, 2, 0, 0, 0, time.UTC)},
	{
		FlowID: "flow_3", From: time.Date(2025, 1, 1, 1, 0, 0, 0, time.UTC),
		Types: []string{replay.Message, replay.Completed},
	},
}

// TestEventsPagesNeedNoSort holds that a page is a piece of an index, or reading all would take the square of the time.
func TestEventsPagesNeedNoSort(t *testing.T) {
	path := newFile(t)
	s := open(t, path)
	defer s.Close()
	if _, _, err := s.Events().Put(t.Context(), messages(0, 3_000)); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, analyze := range []string{"", "ANALYZE"} {
		if _, err := db.Exec(analyze); err != nil {
			t.Fatal(err)
		}
		for _, f := range pageFilters {
			query, args := s.Events().PageOf(f)
			plan := planOf(t, db, query, args)
			index := "INDEX events_in_session ((session_id,timestamp)>(?,?))"
			if f.FlowID != "" {
				index = "INDEX events_in_flow (flow_id=? AND (session_id,timestamp)>(?,?))"
			}
			if !strings.Contains(plan, index) || strings.Contains(plan, "ORDER BY") {
				t.Errorf("%+v (%s):\n%s", f, analyze, plan)
			}
		}
	}
}

func planOf(t *testing.T, db *sql.DB, query string, args []any) string {
	rows, err := db.Query("EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&plan, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
