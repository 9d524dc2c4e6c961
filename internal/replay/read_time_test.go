package replay_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

func TestTimes(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 250_000_000, time.UTC)
	for text, want := range map[string]time.Time{
		`"2026-03-01T12:00:00.25Z"`:            at,
		`"2026-03-01T13:00:00.25+01:00"`:       at,
		`"2026-03-01 12:00:00.25+00"`:          at,
		`"2026-03-01 12:00:00.25"`:             at,
		`"2026-03-01 12:00:00.250 UTC"`:        at,
		`"2026-03-01 13:00:00.2500000 +01:00"`: at,
		`"2026-03-01 11:00:00.250 -0100"`:      at,
		`"2026-03-01T13:00:00.250+0100"`:       at,
		`"2026-03-01 12:00:00.250 PST"`:        {},
		`1772366400.25`:                        at,
		`1772366400250`:                        at,
		`1772366400250000`:                     at,
		`"1772366400250"`:                      at,
		`1.77236640025e12`:                     at,
		`99999999999`:                          time.Date(5138, 11, 16, 9, 46, 39, 0, time.UTC),
		`100000000000`:                         time.Date(1973, 3, 3, 9, 46, 40, 0, time.UTC),
		`0`:                                    time.Unix(0, 0).UTC(),
		`-1`:                                   time.Unix(-1, 0).UTC(),
		`1767225600000000000`:                  {},
		`"9999-12-31T23:59:59-05:00"`:          {},
		`"0000-01-01T00:00:00+05:00"`:          {},
		`"2026-03-01"`:                         {},
		`"0x10"`:                               {},
		`"NaN"`:                                {},
		`1e300`:                                {},
		`true`:                                 {},
		`null`:                                 {},
		`""`:                                   {},
		`{}`:                                   {},
	} {
		e, err := replay.ParseEvent(fmt.Appendf(nil,
			`{"event_id":"1","event_type":"x","context":{"session_id":"s"},"timestamp":%s}`, text))
		if want.IsZero() != (err != nil) || err == nil && !e.Time.Equal(want) {
			t.Errorf("%s: %v, %v; want %v", text, e.Time, err, want)
		}
	}
}

// TestSpeakers reads who has said a message under every name that logs have for them.
func TestSpeakers(t *testing.T) {
	for payload, want := range map[string]string{
		`{"sender":"user","message_text":"hi"}`:              "true hi",
		`{"sender":"Human","message_text":"hi"}`:             "true hi",
		`{"role":"CUSTOMER","content":"hi"}`:                 "true hi",
		`{"role":"user","message_text":"hi","content":"no"}`: "true hi",
		`{"sender":"bot","role":"user","message_text":"hi"}`: "false hi",
		`{"sender":"","role":"Assistant","content":"hi"}`:    "false hi",
		`{"role":"ai","content":"hi"}`:                       "false hi",
		`{"role":"agent","content":""}`:                      "false ",
		`{"role":"system","content":"hi"}`:                   "unknown_sender",
		`{"content":"hi"}`:                                   "unknown_sender",
		`{"role":"user"}`:                                    "true  no_text",
	} {
		log := fmt.Sprintf(
			`{"event_id":"1","event_type":"message_sent","context":{"session_id":"s"},"payload":%s,"timestamp":0}`,
			payload)
		var faults replay.Faults
		got := ""
		for s, err := range replay.Sessions(replay.ReadJSONL(strings.NewReader(log), nil), 0, &faults) {
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range s.Messages {
				got = fmt.Sprintf("%t %s", m.User, m.Text)
			}
		}
		for _, f := range faults.List() {
			got = strings.TrimPrefix(got+" "+f.Kind, " ")
			if !strings.HasSuffix(want, f.Kind) {
				t.Errorf("%s: %s", payload, f.Kind)
			}
		}
		if strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s: %q, want %q", payload, got, want)
		}
	}
}
