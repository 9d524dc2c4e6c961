package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// withPayloads are events with one payload each, in their order.
func withPayloads(payloads ...string) (events []replay.Event) {
	for i, p := range payloads {
		e := sampleEvent(fmt.Sprintf("e%03d", i), "s", "f", eventTime)
		e.Payload = json.RawMessage(p)
		events = append(events, e)
	}
	return events
}

func eventsJSON(t *testing.T, events replay.Events) {
	put := withPayloads(
		`{}`, `[]`, `""`, `"text"`, `true`, `false`, `0`, " { \"a\" :\t[ 1 , 2 ]\n}\r\n",
		`{"b":1,"a":{"d":[{},[],null,[[["x"]]]],"c":""},"":"empty key"}`,
		`{"a":1,"a":2}`,
		`{"text":"Größe 日本語 😀 \"quoted\" \\ \/ \b\f\n\r\t \u00e9 \uD83D\uDE00 \u2028","\u00e9":"escaped key"}`,
		`{"backslash":"\\u0000 \\ud800","percent":"%s %d","sql":"'; DROP TABLE events; --","html":"<b>&amp;</b>"}`,
		`{"int":12345678901234567890123456789012345678901234567890,"neg":-9223372036854775809,"big":9007199254740993}`,
		`{"exact":0.1000000000000000055511151231257827,"tiny":1.5e-300,"huge":1E+400,"zero":[0,-0,0.0,0e10,1e-1000,1e1000]}`,
		`[`+strings.Repeat(`9`, 1000)+`,0.`+strings.Repeat(`123456789`, 100)+`]`,
		strings.Repeat(`[`, 1000)+strings.Repeat(`]`, 1000),
		strings.Repeat(`{"a":`, 500)+`null`+strings.Repeat(`}`, 500),
		`{"list":[`+strings.Repeat(`{"k":"v"},`, 5000)+`0]}`,
	)
	none := withPayloads(make([]string, 3)...)
	none[0].ID, none[0].Payload = "n1", nil
	none[1].ID, none[1].Payload, none[1].Metrics, none[1].Experiments = "n2", json.RawMessage(`null`),
		json.RawMessage(` null `), json.RawMessage{}
	none[2].ID, none[2].Payload = "n3", json.RawMessage(`[null]`)
	putEvents(t, events, len(put)+3, 1, append(put, none...)...)

	none[1].Payload, none[1].Metrics, none[1].Experiments = nil, nil, nil
	wantEvents(t, events, replay.Filter{}, append(put, none...)...)
}

func eventsReplaced(t *testing.T, events replay.Events) {
	long := strings.Repeat("9", 1001)
	given := []struct{ put, want string }{
		{`{"nul":"a\u0000b","\u0000":1}`, `{"nul":"a\ufffdb","\ufffd":1}`},
		{`"\u0000"`, `"\ufffd"`},
		{`"\\\u0000\\u0000"`, `"\\\ufffd\\u0000"`},
		{
			`["\ud800","\uDC00","\ud800\ud800\udc00","\udc00\ud800","\ud83d\u0041","\ud83d\n","x\ud83d"]`,
			`["\ufffd","\ufffd","\ufffd\ud800\udc00","\ufffd\ufffd","\ufffdA","\ufffd\n","x\ufffd"]`,
		},
		{"\"\xff\xfe \xc3\"", `"` + "\uFFFD \uFFFD" + `"`},
		{
			`[1e1001,-1.5E-1001,1e99999999999999999999,` + long + `,1e1000]`,
			`["1e1001","-1.5E-1001","1e99999999999999999999","` + long + `",1e1000]`,
		},
		{`{"a":1e9999}`, `{"a":"1e9999"}`},
		{`1e9999`, `"1e9999"`},
	}
	var puts, wants []string
	for _, g := range given {
		puts, wants = append(puts, g.put), append(wants, g.want)
	}
	put, want := withPayloads(puts...), withPayloads(wants...)
	put[0].Experiments, want[0].Experiments = put[0].Payload, want[0].Payload
	put[0].Metrics, want[0].Metrics = put[0].Payload, want[0].Payload
	put[0].Context = json.RawMessage(`{"session_id":"s","flow_id":"f","x":"\u0000"}`)
	want[0].Context = json.RawMessage(`{"session_id":"s","flow_id":"f","x":"\ufffd"}`)
	putEvents(t, events, len(put), 1, put...)
	wantEvents(t, events, replay.Filter{}, want...)
}

func eventsText(t *testing.T, events replay.Events) {
	odd := []string{
		" ", "'", `"`, `\`, `\u0041`, "%", "NULL", "a\tb\nc", "a", "A", "ä", "a\u0308", "日本語", "😀", "{}", "[1,2]",
		"\U0010FFFF", "x' OR 'x'='x", "$1", "?1", "\x01\x7f", strings.Repeat("é", 256),
	}
	var put []replay.Event
	for i, text := range odd {
		e := sampleEvent(text, text, text, eventTime)
		e.Type, e.UnitType, e.UnitID = text, text, strings.Repeat(text, 100)
		if i%2 == 0 {
			e.Context = nil
		}
		put = append(put, e)
	}
	putEvents(t, events, len(odd), len(odd), put...)
	for _, e := range put {
		e.Context, _ = json.Marshal(map[string]string{"session_id": e.SessionID, "flow_id": e.FlowID})
		got, err := collect(t.Context(), events, replay.Filter{FlowID: e.FlowID, Types: []string{e.Type}})
		if err != nil || len(got) != 1 || got[0].ID != e.ID || got[0].UnitType != e.UnitType ||
			got[0].UnitID != e.UnitID || got[0].SessionID != e.SessionID {
			t.Errorf("%q: %+v, %v", e.ID, got, err)
		}
	}
	bad := sampleEvent("a\x00\xffb", "s\x00", "f\xff", eventTime)
	bad.Type, bad.UnitID = "\x00", "\xc3"
	good := sampleEvent("a\uFFFD\uFFFDb", "s\uFFFD", "f\uFFFD", eventTime)
	good.Type, good.UnitID = "\uFFFD", "\uFFFD"
	putEvents(t, events, 1, 1, bad)
	putEvents(t, events, 0, 0, good)
	wantEvents(t, events, replay.Filter{FlowID: "f\xff"}, good)
}
