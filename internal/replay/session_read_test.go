package replay_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// logged makes events of rows "TIME TYPE JSON of the payload", of one session id.
func logged(t *testing.T, id string, rows ...string) iter.Seq2[replay.Event, error] {
	t.Helper()
	var lines []string
	for i, row := range rows {
		fields := strings.SplitN(row, " ", 3)
		kind := map[string]string{
			"start": replay.Started, "says": replay.Message, "done": replay.Completed, "gone": replay.DroppedOff,
		}[fields[1]]
		flow := ""
		if i == 0 {
			flow = `,"flow_id":"f"`
		}
		lines = append(lines, fmt.Sprintf(`{"event_id":"%s-%d","event_type":"%s","context":{"session_id":"%s"%s},`+
			`"payload":%s,"timestamp":"2026-03-%s:00Z"}`, id, i, kind, id, flow, fields[2], fields[0]))
	}
	return replay.ReadJSONL(strings.NewReader(strings.Join(lines, "\n")), func(r replay.Reject) { t.Error(r) })
}

// grouped describes the sessions of events and their faults.
func grouped(t *testing.T, events iter.Seq2[replay.Event, error], gap time.Duration) (all []string) {
	t.Helper()
	var faults replay.Faults
	for s, err := range replay.Sessions(events, gap, &faults) {
		if err != nil {
			t.Fatal(err)
		}
		line := s.ID + " " + s.FlowID + " " + s.Outcome() + ":"
		for _, m := range s.Messages {
			line += " " + m.Text
		}
		all = append(all, line)
	}
	for _, f := range faults.List() {
		all = append(all, fmt.Sprint(f.Kind, " ", f.Count))
	}
	return all
}

func userSays(text string) string { return `says {"sender":"user","message_text":"` + text + `"}` }

func TestSessionIDUsedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		gap  time.Duration
		rows []string
		want []string
	}{
		"a day after an end": {
			rows: []string{
				"01T10:00 " + userSays("a"), "01T10:01 done {}", "02T10:01 " + userSays("b"), "02T10:02 gone {}",
				"09T10:00 start {}", "09T10:00 " + userSays("c"),
			},
			want: []string{
				"s f completed: a", "s@2026-03-02T10:01:00.000000Z f dropped: b",
				"s@2026-03-09T10:00:00.000000Z f unknown: c",
			},
		},
		"within a day": {
			rows: []string{"01T10:00 " + userSays("a"), "01T10:01 done {}", "02T10:00 " + userSays("b")},
			want: []string{"s f completed: a b", "after_end 1"},
		},
		"without an end": {
			rows: []string{"01T10:00 " + userSays("a"), "09T10:01 " + userSays("b"), "09T10:02 done {}"},
			want: []string{"s f completed: a b"},
		},
		"an end begins nothing": {
			rows: []string{"01T10:00 " + userSays("a"), "01T10:30 gone {}", "05T10:00 done {}"},
			want: []string{"s f completed: a", "both_ends 1"},
		},
		"the gap counts from the last end": {
			rows: []string{
				"01T10:00 " + userSays("a"), "01T10:01 gone {}", "02T09:00 " + userSays("b"), "02T09:01 done {}",
				"03T09:00 " + userSays("c"),
			},
			want: []string{"s f completed: a b c", "after_end 2", "both_ends 1"},
		},
		"an own gap": {
			gap:  time.Hour,
			rows: []string{"01T10:00 " + userSays("a"), "01T10:01 done {}", "01T11:01 " + userSays("b")},
			want: []string{"s f completed: a", "s@2026-03-01T11:01:00.000000Z f unknown: b"},
		},
		"no gap": {
			gap:  replay.NoSessionGap,
			rows: []string{"01T10:00 " + userSays("a"), "01T10:01 done {}", "20T11:01 " + userSays("b")},
			want: []string{"s f completed: a b", "after_end 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, grouped(t, logged(t, "s", tc.rows...), tc.gap)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestLoggedID checks that the ids of sessions lead back to the ids in the log, also of an id that looks like a part's.
func TestLoggedID(t *testing.T) {
	for _, id := range []string{"s", "s@", "@2026-03-01T10:00:00.000000Z", "a@b", "s@2026-03-01T10:00:00.000000Z"} {
		rows := []string{"01T10:00 " + userSays("a"), "01T10:01 done {}", "05T10:00 " + userSays("b")}
		seen := map[string]bool{}
		for s, err := range replay.Sessions(logged(t, id, rows...), 0, &replay.Faults{}) {
			if err != nil || replay.LoggedID(s.ID) != id || seen[s.ID] {
				t.Errorf("%s: %s leads to %s, %v", id, s.ID, replay.LoggedID(s.ID), err)
			}
			seen[s.ID] = true
		}
		if len(seen) != 2 {
			t.Errorf("%s: %v", id, seen)
		}
	}
}

func TestRedeliveredMessages(t *testing.T) {
	from := func(sender, id, text string) string {
		return fmt.Sprintf(`says {"sender":"%s","message_id":%s,"message_text":"%s"}`, sender, id, text)
	}
	got := grouped(t, logged(t, "s",
		"01T10:00 "+from("user", `"m1"`, "a"), "01T10:00 "+from("human", `"m1"`, "a"),
		"01T10:01 "+from("bot", `"m1"`, "b"), // the id of what it answers
		"01T10:02 "+from("user", "2", "c"), "01T10:03 "+from("user", `""`, "d"), "01T10:03 "+from("user", `""`, "d"),
		"01T10:04 "+from("user", "null", "e"), "01T10:04 "+from("user", "null", "e"), "01T10:05 done {}",
		"04T10:02 "+from("user", "2", "c")), 0)
	if want := []string{"s f completed: a b c d d e e", "redelivered 2"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestRolesOfMessages(t *testing.T) {
	var stored []string
	events := func(yield func(replay.Event, error) bool) {
		for e, err := range logged(t, "s", "01T10:00 "+userSays("a"),
			`01T10:01 says {"sender":"waiter","message_text":"b"}`,
			`01T10:02 says {"role":"chef","content":"c"}`, `01T10:03 says {"sender":"tool","message_text":"d"}`,
			`01T10:04 says {"sender":" Assistant","message_text":"e"}`) {
			stored = append(stored, string(e.Payload))
			if !yield(e, err) {
				return
			}
		}
	}
	if got, want := grouped(t, events, 0), []string{
		"s f unknown: a e", "unknown_sender 3"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if want := []string{
		`{"message_text":"b","role":"waiter","sender":"other"}`, `{"content":"c","role":"chef","sender":"other"}`,
		`{"sender":"tool","message_text":"d"}`,
	}; !slices.Equal(stored[1:4], want) {
		t.Errorf("stored %q", stored)
	}
}

// TestNamesAndObjectsOfDatabases reads events as a database's JSON has them: numbers for ids, and objects in texts.
func TestNamesAndObjectsOfDatabases(t *testing.T) {
	e, err := replay.ParseEvent([]byte(`{"event_id":17,"event_type":"message_sent","unit_id":4,` +
		`"context":"{\"session_id\":9,\"flow_id\":\"f\"}","payload":"{\"sender\":\"user\"}","metrics":"none",` +
		`"timestamp":"2026-03-01T10:00:00"}`))
	if err != nil || e.ID != "17" || e.UnitID != "4" || e.SessionID != "9" || e.FlowID != "f" ||
		string(e.Payload) != `{"sender":"user"}` || string(e.Metrics) != `"none"` {
		t.Errorf("%+v, %v", e, err)
	}
}
