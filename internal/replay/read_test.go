package replay_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

func collect(events iter.Seq2[replay.Event, error]) (ids []string, err error) {
	for e, err := range events {
		if err != nil {
			return ids, err
		}
		ids = append(ids, fmt.Sprint(e.ID, " ", e.SessionID, " ", e.FlowID, " ",
			e.Time.Format("2006-01-02T15:04:05.999999Z07:00")))
	}
	return ids, nil
}

const whole = `{"event_id":"%s","event_type":"message_sent","context":{"session_id":"s","flow_id":"f"},"timestamp":"%s"}`

func TestReadJSONL(t *testing.T) {
	rows := strings.Join([]string{
		"\ufeff" + fmt.Sprintf(whole, "a", "2026-01-31T12:00:00.123456789+01:00"),
		"",
		fmt.Sprintf(whole, "b", "2026-01-31 12:00:00.5+00"),
		`{"event_id":"c","event_type":"message_sent","context":{"session_id":"s"},"timestamp":"2026-01-31T12:00:00"}`,
		`not json`,
		`[]`,
		`{"event_id":"","event_type":"x","context":{"session_id":"s"},"timestamp":"2026-01-31T12:00:00Z"}`,
		`{"event_id":"e","context":{"session_id":"s"},"timestamp":"2026-01-31T12:00:00Z"}`,
		`{"event_id":"e","event_type":"x","context":{},"timestamp":"2026-01-31T12:00:00Z"}`,
		`{"event_id":"e","event_type":"x","context":null,"timestamp":"2026-01-31T12:00:00Z"}`,
		`{"event_id":"e","event_type":"x","context":{"session_id":{}},"timestamp":"2026-01-31T12:00:00Z"}`,
		fmt.Sprintf(whole, "e", "yesterday"),
		`{"event_id":"e","event_type":"x","context":{"session_id":"s"}}`,
		strings.Repeat("x", 17<<20),
		fmt.Sprintf(whole, strings.Repeat("e", replay.MaxName+1), "2026-01-31T12:00:00Z"),
		`null`,
		strings.TrimSuffix(fmt.Sprintf(whole, "last", "2026-01-31T12:00:00Z"), "\n"),
	}, "\n")
	var rejected []string
	got, err := collect(replay.ReadJSONL(strings.NewReader(rows), func(r replay.Reject) {
		rejected = append(rejected, fmt.Sprintf("%d %.30s", r.Line, r.Reason))
	}))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{
		"a s f 2026-01-31T11:00:00.123456Z", "b s f 2026-01-31T12:00:00.5Z", "c s  2026-01-31T12:00:00Z",
		"last s f 2026-01-31T12:00:00Z",
	}, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{
		"5 it is not the JSON of an event", "6 it is not the JSON of an event", "7 it has no event_id",
		"8 it has no event_type", "9 its context has no session_id", "10 its context has no session_id",
		"11 its context cannot be read: js", `12 its timestamp "yesterday" is n`, "13 it has no timestamp",
		"14 the line is longer than 16 MB", "15 its event_id, session_id or fl", "16 it is not the JSON of an event",
	}, rejected); d != "" {
		t.Errorf("rejected (-want +got):\n%s", d)
	}
}

func TestReadCSV(t *testing.T) {
	rows := "event_id,event_type,context,payload,timestamp\n" +
		`a,message_sent,"{""session_id"":""s"",""flow_id"":""f""}",,2026-01-31T12:00:00Z` + "\n" +
		`b,message_sent,{,,2026-01-31T12:00:00Z` + "\n" +
		`c,message_sent,"{""session_id"":""s""}","[1",2026-01-31T12:00:00Z` + "\n" +
		`d,message_sent,"{""session_id"":""s""}","{""x"":""two` + "\n" + `lines""}",2026-01-31T12:00:00Z` + "\n" +
		"e\n"
	var rejected []string
	got, err := collect(replay.ReadCSV(strings.NewReader(rows), func(r replay.Reject) {
		rejected = append(rejected, fmt.Sprint(r.Line, " ", r.Reason))
	}))
	if d := cmp.Diff([]string{"a s f 2026-01-31T12:00:00Z"}, got); d != "" || err != nil {
		t.Errorf("%v, events (-want +got):\n%s", err, d)
	}
	if d := cmp.Diff([]string{
		"3 its context is not JSON", "4 its payload is not JSON", "5 its payload is not JSON", "7 it has no timestamp",
	}, rejected); d != "" {
		t.Errorf("rejected (-want +got):\n%s", d)
	}
	if _, err := collect(replay.ReadCSV(strings.NewReader("a,b\n1,2\n"), nil)); err == nil ||
		!strings.Contains(err.Error(), "event_id,event_type") {
		t.Errorf("no event_id: %v", err)
	}
}

// TestReadSpreadsheet has what a spreadsheet writes: a byte order mark before a quoted name, semicolons, and a carriage
// return at the end of lines.
func TestReadSpreadsheet(t *testing.T) {
	rows := "\ufeff\"event_id\";\"event_type\";\"context\";\"timestamp\"\r\n" +
		`"a";"message_sent";"{""session_id"":""s"",""flow_id"":""f""}";"2026-01-31 12:00:00"` + "\r\n"
	got, err := collect(replay.ReadCSV(strings.NewReader(rows), func(r replay.Reject) { t.Errorf("rejected: %+v", r) }))
	if d := cmp.Diff([]string{"a s f 2026-01-31T12:00:00Z"}, got); d != "" || err != nil {
		t.Errorf("%v, events (-want +got):\n%s", err, d)
	}
}

// A session is what its events say; what they do not say, or say twice, is counted.
func TestSessions(t *testing.T) {
	say := func(id, session, payload string) string {
		return fmt.Sprintf(`{"event_id":"%s","event_type":"message_sent","context":{"session_id":"%s","flow_id":"f","current_state":"a"},"metrics":{"latency_ms":0},"payload":%s,"timestamp":"2026-01-31T12:00:00Z"}`, id, session, payload)
	}
	rows := strings.Join([]string{
		say("1", "s", `{"sender":"user","message_text":"hi","state_transition":true,"next_state":"b"}`),
		say("2", "s", `{"sender":"bot","message_text":"hello"}`),
		say("3", "s", `{"sender":"user","message_text":null,"next_state":"c"}`),
		say("4", "s", `{"sender":"system","message_text":"x"}`),
		say("5", "s", `7`),
		strings.Replace(say("9", "s", `{"sender":"bot","message_text":"there"}`), `"latency_ms":0`,
			`"latency_ms":-5`, 1),
		`{"event_id":"6","event_type":"flow_completed","context":{"session_id":"s"},"payload":{"data_collected":{"name":"Ada"}},"timestamp":"2026-01-31T12:01:00Z"}`,
		`{"event_id":"7","event_type":"user_dropped_off","context":{"session_id":"s"},"timestamp":"2026-01-31T12:02:00Z"}`,
		`{"event_id":"8","event_type":"page_viewed","context":{"session_id":"t"},"timestamp":"2026-01-31T12:02:00Z"}`,
	}, "\n")
	var faults replay.Faults
	var got []string
	for s, err := range replay.Sessions(replay.ReadJSONL(strings.NewReader(rows), func(r replay.Reject) { t.Error(r) }),
		0, &faults) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(s.ID, " ", s.FlowID, " ", s.Turns(), s.States(replay.Before),
			s.States(replay.After), s.Completed, s.Dropped, s.Known(), s.Data, len(s.Messages)))
	}
	if d := cmp.Diff([]string{
		"s f 2 [a a] [b c] true false true map[name:Ada] 4", "t  0 [] [] false false false map[] 0",
	}, got); d != "" {
		t.Errorf("sessions (-want +got):\n%s", d)
	}
	want := map[string]int{
		"no_text": 1, "unknown_sender": 1, "unreadable_payload": 1, "both_ends": 1, "negative_latency": 1,
	}
	if d := cmp.Diff(want, faults.Counts); d != "" {
		t.Errorf("faults (-want +got):\n%s", d)
	}
}

// A turn number below an earlier one says that the clock goes back. A message without one says nothing.
func TestClockGoesBack(t *testing.T) {
	for numbers, want := range map[string]int{"1 2 3": 0, "1 1 2": 0, "2 0 3": 0, "2 1 3": 1, "5 4 5 1": 2, "0 0": 0} {
		var rows strings.Builder
		for i, n := range strings.Fields(numbers) {
			fmt.Fprintf(&rows, `{"event_id":"%d","event_type":"message_sent","context":{"session_id":"s"},"metrics":{"turn_number":%s},`+
				`"payload":{"sender":"user","message_text":"hi"},"timestamp":"2026-01-31T12:00:%02dZ"}`+"\n", i, n, i)
		}
		var faults replay.Faults
		for _, err := range replay.Sessions(replay.ReadJSONL(strings.NewReader(rows.String()), func(r replay.Reject) {
			t.Error(r)
		}), 0, &faults) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := faults.Counts["clock_back"]; got != want {
			t.Errorf("%s: noted %d times, want %d", numbers, got, want)
		}
	}
}
