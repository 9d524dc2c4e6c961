package importer_test

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/replay/importer"
)

// memory is a store of events.
type memory struct {
	events []replay.Event
	known  map[string]replay.Event
}

func (m *memory) Import(_ context.Context, events iter.Seq2[replay.Event, error]) (in replay.Imported, err error) {
	if m.known == nil {
		m.known = map[string]replay.Event{}
	}
	for e, err := range events {
		if err != nil {
			return in, err
		}
		if there, known := m.known[e.ID]; known {
			if gocmp.Equal(there, e) {
				in.Known++
			} else {
				in.Conflicting++
			}
			continue
		}
		m.known[e.ID] = e
		in.Added++
		m.events = append(m.events, e)
	}
	return in, nil
}

// sessions are what the events make up, as texts.
func (m *memory) sessions(t *testing.T) []string {
	t.Helper()
	slices.SortStableFunc(m.events, func(a, b replay.Event) int {
		return cmp.Or(strings.Compare(a.SessionID, b.SessionID), a.Time.Compare(b.Time))
	})
	for i := 0; i < len(m.events); {
		end := i + 1
		for end < len(m.events) && m.events[end].SessionID == m.events[i].SessionID &&
			m.events[end].Time.Equal(m.events[i].Time) {
			end++
		}
		replay.SortTied(m.events[i:end])
		i = end
	}
	var all []string
	var faults replay.Faults
	for s, err := range replay.Sessions(func(yield func(replay.Event, error) bool) {
		for _, e := range m.events {
			if !yield(e, nil) {
				return
			}
		}
	}, 0, &faults) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, told(s))
	}
	if len(faults.Counts) > 0 {
		t.Errorf("faults: %v", faults.Counts)
	}
	return all
}

// told says all of a session that figures depend on.
func told(s *replay.Session) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s flow=%s unit=%s %s", s.ID, s.FlowID, s.UnitID, s.Outcome())
	if s.Data != nil {
		data, _ := json.Marshal(s.Data)
		fmt.Fprintf(&b, " %s", data)
	}
	for _, m := range s.Messages {
		if m.User {
			fmt.Fprintf(&b, "\n  user %q %s -> %s", m.Text, m.Before, m.After)
			continue
		}
		fmt.Fprintf(&b, "\n  bot %q", m.Text)
		if m.LatencyMS != nil {
			fmt.Fprintf(&b, " %g ms", *m.LatencyMS)
		}
	}
	return b.String()
}

// talk is a conversation, whatever the format.
type talk struct {
	id, flow, unit, outcome string
	data                    map[string]any
	turns                   []turn
}

type turn struct {
	user, bot, state, next string
	at                     time.Time
	latency                int
}

func talks(random *rand.Rand) []talk {
	var all []talk
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range 1 + random.IntN(5) {
		c := talk{
			id: fmt.Sprint("s", i), flow: "tea", outcome: []string{"completed", "dropped_off", ""}[random.IntN(3)],
		}
		if random.IntN(2) == 0 {
			c.unit = fmt.Sprint("u", random.IntN(3))
		}
		if random.IntN(2) == 0 {
			c.data = map[string]any{"tea": "green", "cups": 2.0}
		}
		state := "ask"
		for n := range 1 + random.IntN(4) {
			next := []string{"ask", "brew", "pay"}[random.IntN(3)]
			c.turns = append(c.turns, turn{
				user: fmt.Sprintf("turn, \"%d\"\nof %d ☕", n, i), bot: fmt.Sprint("answer ", n), state: state,
				next: next, at: at, latency: random.IntN(2000),
			})
			state, at = next, at.Add(time.Minute)
		}
		all = append(all, c)
	}
	return all
}

func line(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data) + "\n"
}

func dataOf(c *talk, last bool) any {
	if !last || c.data == nil {
		return nil
	}
	return c.data
}

// written are the conversations in every format.
func written(all []talk) map[string]string {
	formats := map[string]string{}
	var table, turns strings.Builder
	messages, rows := csv.NewWriter(&table), csv.NewWriter(&turns)
	_ = messages.Write([]string{
		"session_id", "flow_id", "unit_id", "timestamp", "sender", "text", "state", "next_state", "latency_ms",
		"outcome", "data",
	})
	_ = rows.Write([]string{
		"ticket", "flow_id", "user_id", "time", "question", "reply", "meta", "latency_ms", "outcome", "data",
	})
	var spans []any
	var traces []any
	for i := range all {
		c := &all[i]
		var chat []any
		for n, t := range c.turns {
			last := n == len(c.turns)-1
			answered := t.at.Add(time.Duration(t.latency) * time.Millisecond)
			outcome, data := "", ""
			if last {
				outcome = c.outcome
				if c.data != nil {
					data = strings.TrimSpace(line(c.data))
				}
			}
			latency := fmt.Sprint(t.latency)
			_ = messages.Write([]string{
				c.id, c.flow, c.unit, t.at.Format(time.RFC3339Nano), "Customer", t.user, t.state, t.next, "", "", "",
			})
			_ = messages.Write([]string{
				c.id, c.flow, c.unit, fmt.Sprint(answered.UnixMilli()), "AI", t.bot, "", "", latency, outcome, data,
			})
			_ = rows.Write([]string{
				c.id, c.flow, c.unit, t.at.Format("2006-01-02 15:04:05.999999"), t.user, t.bot,
				line(map[string]any{"from": t.state, "to": t.next}), latency, outcome, data,
			})
			chat = append(chat,
				map[string]any{"role": "user", "content": []any{map[string]any{
					"type": "text", "text": t.user,
				}}, "timestamp": t.at, "state": t.state},
				map[string]any{
					"role": "assistant", "content": t.bot, "timestamp": answered, "next_state": t.next,
					"latency_ms": t.latency,
				},
				map[string]any{"role": "tool", "content": "passed over"})
			traces = append(traces, map[string]any{
				"id": fmt.Sprint(c.id, "-", n), "sessionId": c.id, "userId": c.unit, "timestamp": t.at,
				"latency": float64(t.latency) / 1000, "input": []any{
					map[string]any{"role": "system", "content": "Be kind."},
					map[string]any{"role": "user", "content": t.user},
				},
				"output": map[string]any{"answer": t.bot},
				"metadata": map[string]any{
					"flow_id": c.flow, "state": t.state, "next_state": t.next, "outcome": outcome,
					"data": dataOf(c, last),
				},
			})
			spans = append(spans, spanOf(c, n, &t, outcome, data, answered)...)
		}
		formats["chat"] += line(map[string]any{
			"id": c.id, "flow_id": c.flow, "user_id": c.unit, "messages": chat, "outcome": c.outcome,
			"data": dataOf(c, true),
		})
	}
	messages.Flush()
	rows.Flush()
	formats["csv"], formats["csv of turns"] = table.String(), turns.String()
	formats["csv with semicolons"], formats["csv with tabs"] = divided(table.String(), ';'),
		divided(table.String(), '\t')
	head, rest, _ := strings.Cut(formats["csv with semicolons"], "\n")
	formats["csv of a spreadsheet"] = "\ufeff\"" + strings.ReplaceAll(head, ";", `";"`) + "\"\r\n" + rest
	formats["langfuse"] = line(map[string]any{"data": traces, "meta": map[string]any{"page": 1}})
	for _, trace := range traces {
		formats["langfuse lines"] += line(trace)
	}
	indented, _ := json.MarshalIndent(traces, "", "  ")
	formats["langfuse list"] = string(indented)
	formats["otel"] = line(map[string]any{"resourceSpans": []any{map[string]any{"scopeSpans": []any{
		map[string]any{"spans": spans},
	}}}})
	formats["otel structured"] = structured.ReplaceAllStringFunc(formats["otel"], func(value string) string {
		var text string
		var of any
		if json.Unmarshal([]byte(structured.FindStringSubmatch(value)[1]), &text) != nil ||
			json.Unmarshal([]byte(text), &of) != nil {
			return value
		}
		return strings.TrimSpace(line(anyValue(of)))
	})
	for _, s := range slices.Backward(spans) {
		formats["otel lines"] += line(map[string]any{"resourceSpans": []any{map[string]any{"scopeSpans": []any{
			map[string]any{"spans": []any{s}},
		}}}})
	}
	return formats
}

// structured finds the values of OTLP that are the text of a list or an object.
var structured = regexp.MustCompile(`\{"stringValue":("[\[{](?:[^"\\]|\\.)*")\}`)

// anyValue is a value of JSON as OTLP has it.
func anyValue(v any) any {
	switch v := v.(type) {
	case []any:
		list := []any{}
		for _, item := range v {
			list = append(list, anyValue(item))
		}
		return map[string]any{"arrayValue": map[string]any{"values": list}}
	case map[string]any:
		pairs := []any{}
		for key, item := range v {
			pairs = append(pairs, map[string]any{"key": key, "value": anyValue(item)})
		}
		return map[string]any{"kvlistValue": map[string]any{"values": pairs}}
	case float64:
		return map[string]any{"doubleValue": v}
	}
	return map[string]any{"stringValue": v}
}

// divided is a table with another divider.
func divided(table string, by rune) string {
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Comma = by
	_ = w.WriteAll(rows)
	return b.String()
}

// spanOf is a turn as a span, with a call of the model within and the request around it.
func spanOf(c *talk, n int, t *turn, outcome, data string, answered time.Time) []any {
	said := func(role, text string) string {
		return strings.TrimSpace(line([]any{map[string]any{
			"role": role, "parts": []any{map[string]any{"type": "text", "content": text}},
		}}))
	}
	attributes := func(pairs ...string) []any {
		var list []any
		for pair := range slices.Chunk(pairs, 2) {
			if pair[1] != "" {
				list = append(list, map[string]any{"key": pair[0], "value": map[string]any{"stringValue": pair[1]}})
			}
		}
		return list
	}
	span := func(id, parent string, attributes []any) any {
		return map[string]any{
			"traceId": "t" + c.id, "spanId": id, "parentSpanId": parent,
			"startTimeUnixNano": fmt.Sprint(t.at.UnixNano()), "endTimeUnixNano": fmt.Sprint(answered.UnixNano()),
			"attributes": attributes,
		}
	}
	outer, inner, id := fmt.Sprint("outer", n), fmt.Sprint("inner", n), fmt.Sprint("turn", n)
	return []any{
		span(outer, "", attributes("http.method", "POST")),
		span(id, outer, attributes("gen_ai.conversation.id", c.id, "gen_ai.input.messages",
			said("user", t.user), "gen_ai.output.messages", said("assistant", t.bot),
			"user.id", c.unit, "rehearse.flow_id", c.flow, "rehearse.state", t.state, "rehearse.next_state", t.next,
			"rehearse.outcome", outcome, "rehearse.data", data)),
		span(inner, id, attributes("gen_ai.input.messages", said("user", "an inner prompt"), "gen_ai.output.messages",
			said("assistant", "an inner answer"))),
	}
}

func inputs(texts ...string) []importer.Input {
	all := make([]importer.Input, len(texts))
	for i, text := range texts {
		all[i] = importer.Input{Name: fmt.Sprint("file ", i), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(text)), nil
		}}
	}
	return all
}

// TestSameSessions proves that the same sessions in any two formats are the same, and that a second import adds
// nothing.
func TestSameSessions(t *testing.T) {
	turnMap, err := importer.ReadMap([]string{
		"session_id=ticket", "text=question", "state=meta.from", "next_state=meta.to",
	})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(100) {
		all := talks(rand.New(rand.NewPCG(seed, 7)))
		want := []string(nil)
		formats := written(all)
		for _, name := range []string{
			"csv", "csv with semicolons", "csv with tabs", "csv of a spreadsheet", "csv of turns", "chat", "langfuse",
			"langfuse lines", "langfuse list", "otel", "otel structured", "otel lines",
		} {
			o := importer.Options{Rejected: func(_ string, r replay.Reject) { t.Errorf("%s: %+v", name, r) }}
			if name == "csv of turns" {
				o.Map = turnMap
			}
			store := &memory{}
			r, err := importer.Import(t.Context(), inputs(formats[name]), store, o)
			if err != nil || r.Err() != nil || r.Imported != r.Events || r.Rows != r.Used+r.PassedOver ||
				r.Rejected != 0 {
				t.Fatalf("%s: %+v, %v", name, r, err)
			}
			got := store.sessions(t)
			if want == nil {
				want = got
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d: csv and %s differ (-csv +other)\n%s", seed, name, diff)
			}
			again, err := importer.Import(t.Context(), inputs(formats[name]), store, o)
			if err != nil || again.Imported != 0 || again.Known != again.Events {
				t.Errorf("%s again: %+v, %v", name, again, err)
			}
		}
		for i, c := range all {
			if !strings.HasPrefix(want[i], c.id+" flow=tea unit="+c.unit+" ") ||
				strings.Count(want[i], "\n") != 2*len(c.turns) {
				t.Fatalf("seed %d: %+v became %s", seed, c, want[i])
			}
		}
	}
}

// TestCounts holds the report to what became of each row.
func TestCounts(t *testing.T) {
	const message = `{"session_id":"s","timestamp":1,"sender":"user","text":"hi"}`
	for name, tc := range map[string]struct {
		options importer.Options
		text    string
		want    importer.Report
	}{
		"blank lines are no rows": {
			text: "\n \n" + message + "\n\n", want: importer.Report{Rows: 1, Used: 1, Events: 1, Imported: 1},
		},
		"kinds of messages": {
			options: importer.Options{From: "csv"},
			text: strings.Join([]string{
				message, `{`, `[]`, `7`, `{"timestamp":1,"sender":"user","text":"hi"}`,
				`{"session_id":"s","sender":"user","text":"hi","timestamp":"soon"}`,
				`{"session_id":"t","sender":"user","text":"hi"}`, `{"session_id":"s","timestamp":1,"text":"hi"}`,
				`{"session_id":"s","timestamp":1,"sender":"nobody","text":"hi"}`,
				`{"session_id":"s","timestamp":1,"sender":"user","text":{}}`,
				`{"session_id":"s","timestamp":1,"sender":"user","text":"hi","latency_ms":"fast"}`,
				`{"session_id":"s","timestamp":1,"sender":"user","text":"hi","data":"x"}`,
				`{"session_id":"s","timestamp":1,"sender":"user","text":"hi","outcome":"won"}`,
				`{"session_id":"s","timestamp":1,"sender":"system","text":"hi"}`,
			}, "\n"),
			want: importer.Report{
				Rows: 14, Used: 2, PassedOver: 1, Rejected: 11, Events: 2, Imported: 2,
				RejectedBy: map[string]int{
					"not_json": 1, "not_an_object": 2, "no_session": 1, "bad_time": 1, "no_time": 1, "no_sender": 1,
					"bad_field": 4,
				},
			},
		},
		"kinds of events": {
			text: strings.Join([]string{
				`{"event_id":"1","event_type":"x","context":{"session_id":"s"},"timestamp":1}`,
				`{"event_type":"x","context":{"session_id":"s"},"timestamp":1}`,
				`{"event_id":"1","context":{"session_id":"s"},"timestamp":1}`,
				`{"event_id":"1","event_type":"x","context":{},"timestamp":1}`,
				`{"event_id":"1","event_type":"x","context":{"session_id":"s"}}`,
				`{"event_id":"1","event_type":"x","context":{"session_id":"s"},"timestamp":{}}`,
				`{"event_id":{},"event_type":"x","context":{"session_id":"s"},"timestamp":1}`,
				`{"event_id":7,"event_type":"x","context":{"session_id":7},"timestamp":1}`, `{"event_id":"` +
					strings.Repeat("x", 600) + `","event_type":"x","context":{"session_id":"s"},"timestamp":1}`,
				`[1]`, `{"event_id"`,
			}, "\n"),
			want: importer.Report{
				Rows: 11, Used: 2, Rejected: 9, Events: 2, Imported: 2,
				RejectedBy: map[string]int{
					"no_event_id": 1, "no_event_type": 1, "no_session": 1, "no_time": 1, "bad_time": 1, "bad_field": 1,
					"too_long": 1, "not_an_object": 1, "not_json": 1,
				},
			},
		},
		"a conversation is taken as a whole": {
			text: `{"id":"a","timestamp":1,"messages":[{"role":"user","content":"hi"},{"content":"x"}]}` + "\n" +
				`{"id":"b","messages":[{"role":"user","content":"hi"}]}` + "\n" + `{"messages":[]}` + "\n" + `{"id":"c","timestamp":1,"messages":7}` + "\n" + `{"id":"d","timestamp":1,"messages":[{"role":"system","content":"x"},{"role":"user","content":"hi"}],"outcome":"Completed"}`,
			want: importer.Report{Rows: 5, Used: 1, Rejected: 4, Events: 3, Imported: 3, RejectedBy: map[string]int{
				"no_sender": 1, "no_time": 1, "no_session": 1, "bad_field": 1,
			}},
		},
		"traces without words": {
			text: `[{"id":"1","sessionId":"s","timestamp":"2026-03-01T00:00:00Z","input":null,"output":null},{"id":"2","timestamp":"2026-03-01T00:00:00Z","input":"hi","output":"ho"},
				{"id":"3","sessionId":"s","timestamp":"2026-03-01T00:00:00Z","input":"hi","output":"ho"}]`,
			want: importer.Report{
				Rows: 3, Used: 1, PassedOver: 1, Rejected: 1, Events: 2, Imported: 2,
				RejectedBy: map[string]int{"no_session": 1},
			},
		},
		"a document that is cut off": {
			text: `{"data":[{"id":"1","sessionId":"s","timestamp":"2026-03-01T00:00:00Z","input":"hi","output":"ho"},{"id":"2"`,
			want: importer.Report{
				Rows: 2, Used: 1, Rejected: 1, Events: 2, Imported: 2, RejectedBy: map[string]int{"not_json": 1},
			},
		},
		"nothing": {want: importer.Report{}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := importer.Import(t.Context(), inputs(tc.text), &memory{}, tc.options)
			if err != nil {
				t.Fatal(err)
			}
			if tc.want.RejectedBy == nil {
				tc.want.RejectedBy = map[string]int{}
			}
			tc.want.Conflicts = []string{}
			if diff := gocmp.Diff(tc.want, r); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if r.Rows != r.Used+r.Rejected+r.PassedOver || r.Events != r.Imported+r.Known+r.Conflicting {
				t.Errorf("the report does not add up: %+v", r)
			}
		})
	}
}

// TestUselessFiles wants what other files hold to be imported before a useless one is an error.
func TestUselessFiles(t *testing.T) {
	store := &memory{}
	r, err := importer.Import(t.Context(),
		inputs("{\n{\n", `{"session_id":"s","timestamp":1,"sender":"user","text":"hi"}`, ""), store, importer.Options{})
	if err != nil || len(store.events) != 1 {
		t.Errorf("%d events, %v", len(store.events), err)
	}
	if err := r.Err(); !source.IsInvalid(err) ||
		!strings.Contains(err.Error(), "every row of file 0 was rejected (not_json 2)") {
		t.Errorf("got %v", err)
	}
}

// A file of a database is not read as a table: what to do is said instead.
func TestDatabaseFile(t *testing.T) {
	_, err := importer.Import(t.Context(), inputs("SQLite format 3\x00\x10\x00\x01\x01\x00\x40"), &memory{},
		importer.Options{})
	if !source.IsInvalid(err) || !strings.Contains(err.Error(), "it is a database of SQLite: write its rows as CSV") {
		t.Errorf("got %v", err)
	}
}

// TestNewestFirst reads traces in the order in which Langfuse lists them: the end of a session is that of its latest
// trace, and comes last.
func TestNewestFirst(t *testing.T) {
	const (
		early = `{"id":"1","sessionId":"s","timestamp":"2026-03-01T10:00:00Z","input":"a taxi","output":"Where to?","metadata":{"state":"hello","next_state":"where","outcome":"dropped_off","data":{"to":"?"}}}`
		late  = `{"id":"2","sessionId":"s","timestamp":"2026-03-01T10:05:00Z","latency":2,"input":"home","output":"Bye.","metadata":{"state":"where","next_state":"bye","outcome":"completed","data":{"to":"home"}}}`
	)
	for _, text := range []string{early + "\n" + late, late + "\n" + early, "[" + late + ",\n" + early + "]"} {
		store := &memory{}
		if _, err := importer.Import(t.Context(), inputs(text), store, importer.Options{}); err != nil {
			t.Fatal(err)
		}
		last := store.events[len(store.events)-1]
		if want := time.Date(2026, 3, 1, 10, 5, 2, 0, time.UTC); last.Type != replay.Completed ||
			!last.Time.Equal(want) || !strings.Contains(string(last.Payload), `"data_collected":{"to":"home"}`) {
			t.Errorf("%s at %v: %s", last.Type, last.Time, last.Payload)
		}
	}
}

// TestTimes gives messages without a time one behind that of their conversation, or of the day.
func TestTimes(t *testing.T) {
	for text, want := range map[string][]string{
		`{"id":"a","timestamp":"2026-03-01T10:00:00Z","messages":[{"role":"user","content":"1"},{"role":"bot","content":"2"}]}`: {
			"10:00:00", "10:00:00.001", "10:00:00.002",
		},
		`{"id":"a","messages":[{"role":"user","content":"1"},{"role":"bot","content":"2"}]}`: {
			"00:00:00", "00:00:00.001", "00:00:00.002",
		},
		"session_id,sender,text\na,user,1\nb,user,1\na,bot,2\n": {
			"00:00:00", "00:00:00.001", "00:00:00",
		},
	} {
		store := &memory{}
		if _, err := importer.Import(t.Context(), inputs(text), store, importer.Options{
			Date: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC),
		}); err != nil {
			t.Fatal(err)
		}
		store.sessions(t)
		var got []string
		for _, e := range store.events {
			got = append(got, e.Time.Format("15:04:05.999"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestReadMap(t *testing.T) {
	for flag, want := range map[string]string{
		"session=x": "the fields are event_id, event_type, message_id, session_id", "session_id": "write FIELD=PATH",
		"session_id=": "write FIELD=PATH", "text=a text=b": "given twice",
	} {
		if _, err := importer.ReadMap(strings.Fields(flag)); !source.IsInvalid(err) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// TestMapEvents reads events of a foreign shape.
func TestMapEvents(t *testing.T) {
	paths, err := importer.ReadMap([]string{
		"event_id=uid", "event_type=kind", "session_id=ctx.conv.id", "timestamp=when", "sender=body.who",
		"text=body.said", "state=ctx.node", "next_state=body.to", "data=body.data",
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := line(map[string]any{"uid": "1", "kind": "message_sent", "when": 1, "ctx": map[string]any{
		"conv.id": "s", "node": "ask",
	}, "body": `{"who":"user","said":"green","to":"brew"}`}) +
		line(map[string]any{
			"uid": "2", "kind": "flow_completed", "when": 2, "ctx": map[string]any{"conv": map[string]any{"id": "s"}},
			"body": map[string]any{"data": map[string]any{"tea": "green"}},
		})
	store := &memory{}
	r, err := importer.Import(t.Context(), inputs(rows), store, importer.Options{Map: paths, FlowID: "tea"})
	if err != nil || r.Used != 2 || r.Events != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	want := []string{"s flow=tea unit= completed {\"tea\":\"green\"}\n  user \"green\" ask -> brew"}
	if diff := gocmp.Diff(want, store.sessions(t)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if store.events[0].ID != "1" || store.events[1].ID != "2" {
		t.Errorf("ids %q %q", store.events[0].ID, store.events[1].ID)
	}
}

// TestMapSpans reads spans of another instrumentation, whose messages are plain texts.
func TestMapSpans(t *testing.T) {
	paths, err := importer.ReadMap([]string{"session_id=session.id", "text=input.value", "reply=output.value"})
	if err != nil {
		t.Fatal(err)
	}
	attribute := func(key, value string) any {
		return map[string]any{"key": key, "value": map[string]any{"stringValue": value}}
	}
	span := func(id, input, output string) any {
		return map[string]any{
			"traceId": "t", "spanId": id, "startTimeUnixNano": "1700000000000000000",
			"endTimeUnixNano": "1700000001000000000", "attributes": []any{
				attribute("session.id", "s"+id), attribute("input.value", input), attribute("output.value", output),
			},
		}
	}
	rows := line(map[string]any{"resourceSpans": []any{map[string]any{"scopeSpans": []any{map[string]any{"spans": []any{
		span("1", "how many?", "42"),
		span("2", `{"question": "and then?"}`, `[{"role": "assistant", "content": "no more"}]`),
	}}}}}})
	store := &memory{}
	r, err := importer.Import(t.Context(), inputs(rows), store, importer.Options{Map: paths, FlowID: "tea"})
	if err != nil || r.Used != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	want := []string{
		"s1 flow=tea unit= unknown\n  user \"how many?\"  -> \n  bot \"42\" 1000 ms",
		"s2 flow=tea unit= unknown\n  user \"and then?\"  -> \n  bot \"no more\" 1000 ms",
	}
	if diff := gocmp.Diff(want, store.sessions(t)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestTimesOutOfRange: a row whose time no store can keep is rejected in every format, and the others are kept.
func TestTimesOutOfRange(t *testing.T) {
	for name, text := range map[string]string{
		"csv of nanoseconds": "session_id,flow_id,timestamp,sender,text\ns1,f,2026-01-01T00:00:00Z,user,x\n" +
			"s2,f,1767225600000000000,user,x\ns3,f,2026-01-01T00:00:00Z,user,x\n",
		"csv of another day": "session_id,flow_id,timestamp,sender,text\ns1,f,2026-01-01T00:00:00Z,user,x\n" +
			"s2,f,9999-12-31T23:59:59-05:00,user,x\ns3,f,2026-01-01T00:00:00Z,user,x\n",
		"chat": `{"id":"s1","messages":[{"role":"user","content":"x","timestamp":"2026-01-01T00:00:00Z"}]}` + "\n" +
			`{"id":"s2","messages":[{"role":"user","content":"x","timestamp":1767225600000000000}]}` + "\n" +
			`{"id":"s3","messages":[{"role":"user","content":"x","timestamp":"2026-01-01T00:00:00Z"}]}` + "\n",
	} {
		var rejected []replay.Reject
		store := &memory{}
		r, err := importer.Import(t.Context(), inputs(text), store, importer.Options{
			Rejected: func(_ string, r replay.Reject) { rejected = append(rejected, r) },
		})
		if err != nil || r.Rejected != 1 || len(rejected) != 1 || rejected[0].Kind != replay.BadTime ||
			len(store.sessions(t)) != 2 {
			t.Errorf("%s: %+v, %v, rejected %+v, kept %q", name, r, err, rejected, store.sessions(t))
		}
	}
}

// TestMapEmptyCells checks that an empty cell of a mapped column is a field that is not there.
func TestMapEmptyCells(t *testing.T) {
	paths, err := importer.ReadMap([]string{
		"event_id=uid", "text=body", "data=found", "turn_number=no", "latency_ms=took", "outcome=end", "state=at",
		"unit_id=who",
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := "session_id,uid,timestamp,role,body,found,no,took,end,at,who\n" +
		"s,1,2026-03-01T10:00:00Z,user,a table,,,,,,\n" +
		"s,,2026-03-01T10:00:01Z,bot,When?, ,,,,,\n" +
		"s,2,2026-03-01T10:00:02Z,user,at 6,null,,,,,\n" +
		"s,3,2026-03-01T10:00:03Z,bot,Booked.,\"{\"\"hour\"\":\"\"6\"\"}\",,,completed,,\n"
	store := &memory{}
	r, err := importer.Import(t.Context(), inputs(rows), store, importer.Options{
		Map: paths, FlowID: "table", From: "csv",
	})
	if err != nil || r.Used != 4 || r.Rejected != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	want := []string{"s flow=table unit= completed {\"hour\":\"6\"}\n  user \"a table\"  -> \n  bot \"When?\"\n" +
		"  user \"at 6\"  -> \n  bot \"Booked.\""}
	if diff := gocmp.Diff(want, store.sessions(t)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
