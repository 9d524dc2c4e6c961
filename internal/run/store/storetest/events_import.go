package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// eventsImported counts what becomes of events: what was new, known, or in conflict with what is kept.
func eventsImported(t *testing.T, events replay.Events) {
	importer, ok := events.(interface {
		Import(ctx context.Context, events iter.Seq2[replay.Event, error]) (replay.Imported, error)
	})
	if !ok {
		t.Fatal("the store does not say what became of events")
	}
	changed := func(id string, change func(e *replay.Event)) replay.Event {
		e := sampleEvent(id, "a", "f", eventTime)
		change(&e)
		return e
	}
	var conflicts []replay.Event
	var named []string
	for i := range 30 {
		conflicts = append(conflicts, changed("1", func(e *replay.Event) {
			e.Payload = json.RawMessage(fmt.Sprintf(`{"other":%d}`, i))
		}))
	}
	for i := range 30 {
		id := fmt.Sprintf("many %02d", i)
		if i < 20 {
			named = append(named, id)
		}
		conflicts = append(conflicts, changed(id, func(*replay.Event) {}),
			changed(id, func(e *replay.Event) { e.Type = "another" }))
	}
	for _, step := range []struct {
		name string
		put  []replay.Event
		want replay.Imported
	}{
		{"nothing", nil, replay.Imported{}},
		{
			"new ones",
			[]replay.Event{
				sampleEvent("1", "a", "f", eventTime), sampleEvent("2", "a", "f", eventTime),
				sampleEvent("3", "b", "f", eventTime),
			},
			replay.Imported{Added: 3, Sessions: 2},
		},
		{"the same again", []replay.Event{
			sampleEvent("1", "a", "f", eventTime), sampleEvent("2", "a", "f", eventTime),
		}, replay.Imported{Known: 2}},
		{
			"a new one of a known session, and one of a new one, twice",
			[]replay.Event{
				sampleEvent("4", "a", "f", eventTime), sampleEvent("5", "c", "f", eventTime),
				sampleEvent("5", "c", "f", eventTime),
			},
			replay.Imported{Added: 2, Known: 1, Sessions: 1},
		},
		{"the same in other words", []replay.Event{changed("1", func(e *replay.Event) {
			e.Payload, e.Time = json.RawMessage(`{"message_text": "Hello" , "sender":"user"}`),
				e.Time.In(time.FixedZone("", 3600)).Add(time.Nanosecond)
		})}, replay.Imported{Known: 1}},
		{"other contents", []replay.Event{
			changed("1", func(e *replay.Event) { e.Type = "another" }),
			changed("1", func(e *replay.Event) { e.Time = e.Time.Add(time.Microsecond) }),
			changed("2", func(e *replay.Event) { e.UnitID = "another" }),
			changed("2", func(e *replay.Event) { e.Metrics = nil }), changed("3", func(*replay.Event) {}),
		}, replay.Imported{Conflicting: 5, Conflicts: []string{"1", "2", "3"}}},
		{"many of one, and many", conflicts, replay.Imported{
			Added: 30, Conflicting: 60, Conflicts: append([]string{"1"}, named[:19]...),
		}},
	} {
		got, err := importer.Import(t.Context(), given(step.put...))
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}
