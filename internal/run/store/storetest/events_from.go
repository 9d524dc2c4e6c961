package storetest

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// eventsFrom reads the sessions from one on, which is there or not.
func eventsFrom(t *testing.T, events replay.Events) {
	paged, ok := events.(interface {
		EachFrom(ctx context.Context, f replay.Filter, session string) iter.Seq2[replay.Event, error]
	})
	if !ok {
		t.Fatal("the store cannot begin at a session")
	}
	var put []replay.Event
	for _, session := range []string{"a", "b", "b\u00e9", "c"} {
		for i, id := range []string{"1", "2"} {
			put = append(put, sampleEvent(session+id, session, "f", eventTime.AddDate(i*3000, 0, 0)))
		}
	}
	putEvents(t, events, 8, 4, put...)
	for _, c := range []struct {
		from string
		want []string
	}{
		{"", []string{"a1", "a2", "b1", "b2", "b\u00e91", "b\u00e92", "c1", "c2"}},
		{"a", []string{"a1", "a2", "b1", "b2", "b\u00e91", "b\u00e92", "c1", "c2"}},
		{"aa", []string{"b1", "b2", "b\u00e91", "b\u00e92", "c1", "c2"}},
		{"b", []string{"b1", "b2", "b\u00e91", "b\u00e92", "c1", "c2"}},
		{"c", []string{"c1", "c2"}},
		{"d", nil},
	} {
		var ids []string
		for e, err := range paged.EachFrom(t.Context(), replay.Filter{}, c.from) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, e.ID)
		}
		if !slices.Equal(ids, c.want) {
			t.Errorf("from %q: %q, want %q", c.from, ids, c.want)
		}
	}
}
