package storetest

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// eventsBehind reads the sessions behind one, which is there or not.
func eventsBehind(t *testing.T, events replay.Events) {
	paged, ok := events.(interface {
		EachAfter(ctx context.Context, f replay.Filter, session string) iter.Seq2[replay.Event, error]
	})
	if !ok {
		t.Fatal("the store cannot begin behind a session")
	}
	var put []replay.Event
	for _, session := range []string{"a", "b", "b\u00e9", "c"} {
		for i, id := range []string{"1", "2"} {
			put = append(put, sampleEvent(session+id, session, "f", eventTime.AddDate(i*3000, 0, 0)))
		}
	}
	putEvents(t, events, 8, 4, put...)
	for _, c := range []struct {
		after string
		want  []string
	}{
		{"", []string{"a1", "a2", "b1", "b2", "b\u00e91", "b\u00e92", "c1", "c2"}},
		{"a", []string{"b1", "b2", "b\u00e91", "b\u00e92", "c1", "c2"}},
		{"aa", []string{"b1", "b2", "b\u00e91", "b\u00e92", "c1", "c2"}},
		{"b", []string{"b\u00e91", "b\u00e92", "c1", "c2"}},
		{"c", nil},
	} {
		var ids []string
		for e, err := range paged.EachAfter(t.Context(), replay.Filter{}, c.after) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, e.ID)
		}
		if !slices.Equal(ids, c.want) {
			t.Errorf("behind %q: %q, want %q", c.after, ids, c.want)
		}
	}
}
