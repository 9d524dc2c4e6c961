package pages_test

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/web/pages"
)

// counted counts the events that are read of a store.
type counted struct {
	*store.Events
	read int
}

func (c *counted) EachFrom(ctx context.Context, f replay.Filter, session string) iter.Seq2[replay.Event, error] {
	return func(yield func(replay.Event, error) bool) {
		for e, err := range c.Events.EachFrom(ctx, f, session) {
			if c.read++; !yield(e, err) {
				return
			}
		}
	}
}

// A list of sessions that has grown is read on from where it was, and is that of all that is logged.
func TestSessionsAreReadOn(t *testing.T) {
	kept, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	events := &counted{Events: kept.Events()}
	var day atomic.Int64
	s := newSiteOf(t, func(c *pages.Config) {
		c.Store = func(context.Context) (*pages.Stored, error) { return &pages.Stored{Sessions: events}, nil }
		c.Now = func() time.Time { return now.AddDate(0, 0, int(day.Load())) }
	})
	n := 0
	say := func(session, kind string) {
		t.Helper()
		n++
		e := replay.Event{
			ID: fmt.Sprint(n), Type: kind, SessionID: session, FlowID: "tea",
			Time: now.Add(time.Duration(n) * time.Second), Payload: []byte(`{"sender":"user","message_text":"hi"}`),
		}
		if _, err := events.Add(t.Context(), []replay.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 200 {
		say(fmt.Sprintf("s%03d", i), replay.Message)
	}
	listed := func() string {
		t.Helper()
		day.Add(1) // what was read counts no longer
		var all []string
		for _, row := range s.get(200, "/sessions?per=500").All("data-row=session") {
			all = append(all, row.Attr["data-session"]+"/"+row.Attr["data-turns"]+"/"+row.Attr["data-outcome"])
		}
		return strings.Join(all, " ")
	}
	if got := strings.Count(listed(), "/1/unknown"); got != 200 {
		t.Fatalf("%d sessions", got)
	}
	for _, step := range []struct {
		change func()
		reads  int
		want   string
	}{
		{func() {}, 0, "s199/1/unknown s198/1/unknown "},
		{
			func() { say("s050", replay.Message); say("s050", replay.Completed); say("new", replay.Message) }, 10,
			"new/1/unknown s199/1/unknown ",
		},
		{func() {
			if err := events.EraseSession(t.Context(), "tea", "new"); err != nil {
				t.Error(err)
			}
		}, 0, "s199/1/unknown s198/1/unknown "},
	} {
		step.change()
		events.read = 0
		got := listed()
		if !strings.HasPrefix(got, step.want) || events.read > step.reads {
			t.Errorf("%.60s…, want %s…; %d events were read", got, step.want, events.read)
		}
	}
	// A session id that is used again has several sessions, of which another change leaves none out.
	n += 3 * 24 * 3600
	say("s050", replay.Message)
	for range 2 {
		if got := listed(); !strings.HasPrefix(got, "s050@") || strings.Count(got, "s050") != 2 {
			t.Errorf("a session id that is used again: %.60s", got)
		}
		say("s051", replay.Message)
	}
	if err := events.EraseSession(t.Context(), "tea", "s051"); err != nil {
		t.Error(err)
	}
	if got := listed(); !strings.Contains(got, "s050/2/completed") || strings.Count(got, "/unknown") != 199 {
		t.Errorf("the session that has ended: %s", got)
	}
}

// A session is found by its id whatever letters that ends with.
func TestSessionIDs(t *testing.T) {
	kept, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	s := newSiteOf(t, func(c *pages.Config) {
		c.Store = func(context.Context) (*pages.Stored, error) { return &pages.Stored{Sessions: kept.Events()}, nil }
	})
	ids := []string{
		"café", "日本", "a", "b", "1", "🙂", "tail ", "a\uE000", "a\u0080", "..", "a/b", "a\U0010FFFF", "a\U0010FFFFb",
	}
	for i, id := range ids {
		e := replay.Event{
			ID: fmt.Sprint(i), Type: replay.Message, SessionID: id, FlowID: "tea", Time: now,
			Payload: []byte(`{"sender":"user","message_text":"hi"}`),
		}
		if _, err := kept.Events().Add(t.Context(), []replay.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	all := s.get(200, "/sessions").All("data-row=session")
	if len(all) != len(ids) {
		t.Errorf("%d sessions", len(all))
	}
	for _, row := range all {
		s.get(200, row.One("<a>").Attr["href"])
	}
}
