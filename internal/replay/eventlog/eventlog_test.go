package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/replay/eventlog"
)

// log is a store of events that may be away, and may do something before it answers.
type log struct {
	mu     sync.Mutex
	events []replay.Event
	away   bool
	before func()
	erased []string
}

func (l *log) Add(_ context.Context, events []replay.Event) ([]bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return nil, errors.New("the log is away")
	}
	if l.before != nil {
		l.before()
	}
	for _, e := range events {
		known := false
		for _, k := range l.events {
			if known = known || k.ID == e.ID; k.ID == e.ID && string(k.Payload) != string(e.Payload) {
				panic("the same event says something else")
			}
		}
		if !known {
			l.events = append(l.events, e)
		}
	}
	return make([]bool, len(events)), nil
}

func (l *log) EraseSession(_ context.Context, flow, session string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erased = append(l.erased, flow+" "+session)
	return nil
}

// messageEvent lists what was logged, each event in a few words.
func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, e := range l.events {
		words := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(e.Type, "conversation_"), "message_"),
			"user_")
		if strings.Contains(string(e.Payload), `"sender":"user"`) {
			words = "user"
		} else if e.Type == replay.Message {
			words = "bot"
		}
		all = append(all, words)
	}
	return strings.Join(all, " ")
}

// house is a register with the texts of its sessions.
type house struct{ *sessionindex.Memory }

// Recorded implements eventlog.Sessions.
func (h house) Recorded(ctx context.Context, row sessionindex.Row) (*sitebot.Session, error) {
	k, err := h.Session(ctx, row.Site, row.Session)
	if err != nil || k == nil {
		return nil, err
	}
	s := &sitebot.Session{Row: k.Row}
	for n := 1; n <= k.Row.Turns; n++ {
		t := sitebot.SessionTurn{Number: n, Input: fmt.Sprint("question ", n), Response: fmt.Sprint("answer ", n)}
		for i := range k.Turns {
			if k.Turns[i].Number == n {
				t.Note, t.Route, t.At = &k.Turns[i], k.Turns[i].Route, k.Turns[i].At
			}
		}
		s.Turns = append(s.Turns, t)
	}
	return s, nil
}

// turn saves a turn.
func (h house) turn(t *testing.T, session string, n int, changes ...func(*sessionindex.Entry)) {
	t.Helper()
	now := time.Now().UTC()
	e := sessionindex.Entry{
		Site: "tea.example", Session: session, At: now, Turns: n, Route: "ANSWER",
		Turn: &sessionindex.Turn{
			Number: n, Checkpoint: fmt.Sprint(n), Route: "ANSWER", Started: now.Add(-time.Second), At: now,
			Latency: 1000, Tokens: 9, Person: "p1",
		},
	}
	if n > 1 {
		e.Turn.Before = "ANSWER"
	}
	for _, change := range changes {
		change(&e)
	}
	r := graph.Record{ID: fmt.Sprint(n), Turn: n, Source: graph.SourceTurn, Values: []byte(`{}`)}
	if n > 1 {
		r.Parent = fmt.Sprint(n - 1)
	}
	if err := h.SaveTurn(t.Context(), sessionindex.Thread(e.Site, session), r, nil, e); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, l *log) (house, func() *eventlog.EventLog, *[]string) {
	h := house{sessionindex.NewMemory(graph.MemoryLimits{TTL: 24 * time.Hour})}
	trouble := &[]string{}
	return h, func() *eventlog.EventLog {
		return eventlog.New(eventlog.Config{Register: h, Sessions: h, Log: l, Now: time.Now, Trouble: func(err error) {
			*trouble = append(*trouble, err.Error())
		}})
	}, trouble
}

func TestJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		h, keep, _ := open(t, l)
		j := keep()
		defer func() { j.Close() }()
		want := func(what, wanted string) {
			t.Helper()
			synctest.Wait()
			if got := l.text(); got != wanted {
				t.Errorf("%s: %q, want %q", what, got, wanted)
			}
		}
		h.turn(t, "a", 1)
		time.Sleep(time.Second)
		want("within a second", "started user bot")
		e := l.events[2]
		if e.SessionID != "a" || e.FlowID != "tea.example" || e.UnitID != "p1" ||
			string(e.Context) != `{"current_state":"START","flow_id":"tea.example","session_id":"a"}` ||
			string(e.Metrics) != `{"latency_ms":1000,"token_count":9,"turn_number":1}` ||
			string(e.Payload) !=
				`{"message_text":"answer 1","next_state":"ANSWER","sender":"bot","state_transition":true}` {
			t.Errorf("%+v %s %s %s", e, e.Context, e.Metrics, e.Payload)
		}
		h.turn(t, "a", 2)
		time.Sleep(time.Second)
		want("once each", "started user bot user bot")
		time.Sleep(eventlog.Idle - 2*time.Second)
		want("still there", "started user bot user bot")
		time.Sleep(3 * time.Second)
		want("after half an hour", "started user bot user bot dropped_off")
		time.Sleep(3 * time.Hour)
		want("once", "started user bot user bot dropped_off")

		// Who converts has not left.
		l.events = nil
		h.turn(t, "b", 1, func(e *sessionindex.Entry) {
			e.Converted, e.Turn.Converted, e.Turn.Values = true, true, map[string]string{"email": "a@x.example"}
		})
		time.Sleep(2 * time.Hour)
		want("converted", "started user bot flow_completed")
		if p := string(l.events[3].Payload); p !=
			`{"completion_reason":"converted","data_collected":{"email":"a@x.example"},"final_state":"ANSWER"}` {
			t.Error(p)
		}
	})
}

// A process that dies between the events and the mark leaves work that makes the same events again; one that dies
// before leaves all.
func TestJournalAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		h, keep, trouble := open(t, l)
		h.turn(t, "a", 1)
		rows, err := h.Pending(t.Context(), time.Now(), 10)
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		s, _ := h.Recorded(t.Context(), rows[0])
		told, err := eventlog.Events(s, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Add(t.Context(), told); err != nil { // and no mark
			t.Fatal(err)
		}
		j := keep()
		time.Sleep(time.Second)
		if got := l.text(); got != "started user bot" {
			t.Errorf("after a crash: %q", got)
		}
		// The log is away, is told of once, and has everything when it is back.
		l.mu.Lock()
		l.away = true
		l.mu.Unlock()
		h.turn(t, "a", 2)
		time.Sleep(10 * time.Second)
		l.mu.Lock()
		l.away = false
		l.mu.Unlock()
		time.Sleep(time.Second)
		if got := l.text(); got != "started user bot user bot" || len(*trouble) != 1 {
			t.Errorf("%q, trouble %q", got, *trouble)
		}
		h.turn(t, "a", 3)
		j.Close()
		if got := l.text(); got != "started user bot user bot user bot" {
			t.Errorf("what was left at the end: %q", got)
		}
	})
}

// A session that is erased while it is logged leaves no events.
func TestJournalOfTheErased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		h, keep, _ := open(t, l)
		h.turn(t, "a", 1)
		l.before = func() { _ = h.Erase(t.Context(), "tea.example:a", "tea.example", "a") }
		j := keep()
		time.Sleep(time.Second)
		j.Close()
		if len(l.erased) != 1 || l.erased[0] != "tea.example a" {
			t.Errorf("erased %v", l.erased)
		}
	})
}

// TestEventsOfCopied checks that turns that an earlier version copied from another session are not logged again.
func TestEventsOfCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		h, keep, _ := open(t, l)
		copied := sessionindex.Entry{
			Site: "tea.example", Session: "a", At: time.Now(), Turns: 1,
			Turn: &sessionindex.Turn{Number: 1, Copied: true},
		}
		if err := h.SaveTurn(t.Context(), "tea.example:a", graph.Record{ID: "1", Source: graph.SourceFork},
			nil, copied); err != nil {
			t.Fatal(err)
		}
		h.turn(t, "a", 2)
		j := keep()
		time.Sleep(time.Second)
		j.Close()
		if got := l.text(); got != "started user bot" || !strings.Contains(string(l.events[1].Payload), "question 2") {
			t.Errorf("%q", got)
		}
	})
}

// What was injected was not said by a visitor, and is not logged; an export has it.
func TestEventsOfInjected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		h, keep, _ := open(t, l)
		put := sessionindex.Entry{Site: "tea.example", Session: "a", At: time.Now(), Turns: 1}
		if err := h.SaveTurn(t.Context(), "tea.example:a", graph.Record{ID: "1", Source: graph.SourceUpdate},
			nil, put); err != nil {
			t.Fatal(err)
		}
		h.turn(t, "a", 2)
		j := keep()
		time.Sleep(time.Second)
		j.Close()
		if got := l.text(); got != "started user bot" || !strings.Contains(string(l.events[1].Payload), "question 2") {
			t.Errorf("%q", got)
		}
		s, _ := h.Recorded(t.Context(), sessionindex.Row{Site: "tea.example", Session: "a"})
		told, err := eventlog.Events(s, time.Now().Add(time.Hour))
		if err != nil || len(told) != 6 || told[5].Type != replay.DroppedOff ||
			!strings.Contains(string(told[1].Payload), "question 1") {
			t.Errorf("%+v, %v", told, err)
		}
	})
}
