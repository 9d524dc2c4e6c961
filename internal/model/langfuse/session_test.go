package langfuse_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

// TestEraseSession deletes the traces of one session, of each version, also where there are more than one request
// takes.
func TestEraseSession(t *testing.T) {
	for _, version := range []string{"3.100.0", "4.2.0"} {
		s, c := online(t)
		s.SetVersion(version)
		for i := range 130 {
			s.AddTrace("chat/42 é", fmt.Sprintf("%032x", i+1), "turn", "x", "y",
				moment.Add(time.Duration(i)*time.Minute))
		}
		s.AddTrace("another", strings.Repeat("f", 32), "turn", "x", "y", moment)
		for range 2 { // also where there is nothing
			if err := c.EraseSession(t.Context(), "chat/42 é"); err != nil {
				t.Fatalf("%s: %v", version, err)
			}
			if _, err := c.Session(t.Context(), "chat/42 é"); !errors.Is(err, langfuse.ErrNotFound) {
				t.Errorf("%s: the session is still there: %v", version, err)
			}
		}
		if rest, err := c.Session(t.Context(), "another"); err != nil || len(rest) != 1 {
			t.Errorf("%s: another session has %d traces, %v", version, len(rest), err)
		}
	}
}

// TestSessions reads a session and a trace of it from each version.
func TestSessions(t *testing.T) {
	for name, prepare := range map[string]func(*langfusetest.Server){
		"version 3":                      func(*langfusetest.Server) {},
		"version 3, traces of few words": func(s *langfusetest.Server) { s.LeanSessions() },
		"version 4":                      func(s *langfusetest.Server) { s.SetVersion("4.2.0") },
	} {
		t.Run(name, func(t *testing.T) {
			s, c := online(t)
			prepare(s)
			const session = "chat/42 é"
			var want []langfuse.Exchange
			for i := range 60 {
				id := fmt.Sprintf("%032x", i+1)
				at := moment.Add(time.Duration(i) * time.Minute)
				s.AddTrace(session, id, "turn", fmt.Sprintf(`{"message":"%d"}`, i), "so be it", at)
				want = append(want, langfuse.Exchange{
					TraceID: id, Name: "turn", SessionID: session, At: at,
					Input: raw(fmt.Sprintf(`{"message":"%d"}`, i)), Output: raw(`"so be it"`), Metadata: raw(`{}`),
					Tags: []string{},
				})
			}
			s.AddTrace("another", strings.Repeat("f", 32), "turn", "x", "y", moment)
			got, err := c.Session(t.Context(), session)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if _, err := c.Session(t.Context(), "absent"); !errors.Is(err, langfuse.ErrNotFound) ||
				!strings.Contains(err.Error(), `get the session "absent"`) {
				t.Error(err)
			}
		})
	}
}

// TestTrace sends a trace and reads it again from each version.
func TestTrace(t *testing.T) {
	for _, version := range []string{"3.150.0", "4.0.0"} {
		t.Run(version, func(t *testing.T) {
			s, c := online(t)
			s.SetVersion(version)
			sent := conversation()
			if err := c.Export(t.Context(), []langfuse.Trace{sent}); err != nil {
				t.Fatal(err)
			}
			got, err := c.Trace(t.Context(), sent.ID)
			if err != nil {
				t.Fatal(err)
			}
			want := langfuse.Exchange{
				TraceID: sent.ID, Name: "turn", SessionID: "s1", UserID: "u1", At: moment,
				Input: raw(`{"message":"hi"}`), Output: raw(`null`), Metadata: raw(`{}`),
				Tags: []string{"e2e", "nightly"},
				Observations: []langfuse.Observation{
					{
						ID: "aaaaaaaaaaaaaaaa", ParentID: spanOne, Type: "GENERATION", Name: "answer", Level: "ERROR",
						Model: "gpt-4.1", Start: moment, End: moment.Add(time.Millisecond),
						Input: raw(`[{"content":"hi","role":"user"}]`), Output: raw(`"hello \"you\""`),
					},
					{
						ID: spanOne, Type: "SPAN", Name: "item", Level: "DEFAULT", Start: moment,
						End: moment.Add(time.Second), Input: raw(`{"message":"hi"}`), Output: raw(`null`),
					},
				},
			}
			same := cmp.Comparer(func(a, b json.RawMessage) bool { return canonical(a) == canonical(b) })
			if d := cmp.Diff(want, got, same, cmp.Transformer("sorted", byID)); d != "" {
				t.Error(d)
			}
			if _, err := c.Trace(t.Context(), strings.Repeat("e", 32)); !errors.Is(err, langfuse.ErrNotFound) {
				t.Error(err)
			}
		})
	}
}

// byID makes spans of one moment comparable.
func byID(all []langfuse.Observation) map[string]langfuse.Observation {
	m := map[string]langfuse.Observation{}
	for _, o := range all {
		m[o.ID] = o
	}
	return m
}

func canonical(data json.RawMessage) string {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return "not JSON: " + string(data)
	}
	again, _ := json.Marshal(v)
	return string(again)
}

// TestHostileSessions reads what servers tell in parts only.
func TestHostileSessions(t *testing.T) {
	trace := `{"id":"t","timestamp":"2026-01-01T00:00:00Z","input":1}`
	for _, c := range []struct{ name, body, want string }{
		{"no traces", `{"id":"s","traces":null}`, "lacks traces"},
		{"a trace without id", `{"traces":[` + trace + `,{"id":null}]}`, "lacks traces.id"},
		{"a trace without time", `{"traces":[{"id":"t","timestamp":null}]}`, "lacks traces.timestamp"},
		{
			"a wrong time", `{"traces":[{"id":"t","timestamp":"yesterday"}]}`,
			"the answer holds something that cannot be read: parsing time",
		},
		{"too many", `{"traces":[` + strings.Repeat(trace+",", 10_000) + trace + `]}`, "more than 10,000 traces"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wants(t, second(answering(t, says(200, c.body)).Session(t.Context(), "s")), c.want)
		})
	}
	wants(t, second(answering(t, says(200,
		`{"id":"t","timestamp":"2026-01-01T00:00:00Z","observations":[{"id":"o","type":"SPAN","startTime":null}]}`)).
		Trace(t.Context(), "t")), "lacks data[0].startTime")
}
