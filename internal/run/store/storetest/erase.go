package storetest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// secret is what the visitor has said whose session is erased.
const secret = "zebra-crossing"

// spokenPair is a session that was replayed twice; everything in it that may hold words holds the secret.
func spokenPair(session string) *replay.Pair {
	pair := func() *replay.Pair {
		turns := []replay.VariationTurn{{
			Number: 1, User: "a " + secret, Bot: "your " + secret, Before: "START", State: "ANSWER", Supported: true,
		}}
		return &replay.Pair{
			SessionID: session, FlowID: "hotel_book", UnitID: secret, Mode: "recorded", Outcome: replay.EndCompleted,
			Started: eventTime, Dropped: "no answer to " + secret,
			Variations: []replay.Variation{
				{Name: replay.Observed, Completed: true, Turns: turns, Data: map[string]any{"city": secret}},
				{
					Name: replay.Candidate, Error: "no rule for " + secret, Turns: turns,
					Data: map[string]any{secret: 1}, Metrics: &replay.Metrics{
						SessionID: session, FlowID: "hotel_book", Variant: "v2", CompletionMatch: new(1.0),
					},
				},
			},
		}
	}
	first := pair()
	first.Again = []*replay.Pair{pair()}
	return first
}

// spokenOutcome is the outcome of a spokenPair.
func spokenOutcome(t *testing.T, session string) replay.Outcome {
	t.Helper()
	p := spokenPair(session)
	detail, err := json.Marshal(struct {
		*replay.Pair
		Again []*replay.Pair `json:"again"`
	}{p, p.Again})
	if err != nil {
		t.Fatal(err)
	}
	return replay.Outcome{
		SessionID: session, Dropped: p.Dropped,
		Metrics: json.RawMessage(`{"candidate":{"session_id":"s","completion_match":1}}`), Detail: detail,
	}
}

// laterOfS is the id of a later session of the session id s.
const laterOfS = "s@2026-03-10T00:00:00.000000Z"

func outcomesErased(t *testing.T, r *store.ReplayRuns) {
	other := sampleReplay("other flow")
	other.FlowID = "taxi_book"
	for _, run := range []replay.Run{sampleReplay("r1"), sampleReplay("r2"), other} {
		putReplay(t, r, run)
		spoken := []replay.Outcome{spokenOutcome(t, "s"), spokenOutcome(t, laterOfS), spokenOutcome(t, "t"), {
			SessionID: "u", Detail: json.RawMessage(`{"lanes":"` + secret + `"}`),
		}}
		if err := r.PutOutcomes(t.Context(), run.ID, spoken, eventTime); err != nil {
			t.Fatal(err)
		}
	}
	for _, session := range []string{"s", "u", "none", "' OR ''='"} {
		if err := r.EraseSession(t.Context(), "hotel_book", session); err != nil {
			t.Fatal(err)
		}
	}
	for _, run := range []string{"r1", "r2"} {
		left := collectOutcomes(t, r, run)
		if len(left) != 4 {
			t.Fatalf("%d sessions are left", len(left))
		}
		s, later, neighbour, unreadable := left[0], left[1], left[2], left[3]
		if said := s.Dropped + string(later.Detail) + string(s.Metrics) + string(s.Detail) +
			string(unreadable.Detail); strings.Contains(said, secret) {
			t.Errorf("run %s still has %q: %s", run, secret, said)
		}
		if s.Dropped == "" {
			t.Errorf("run %s counts a session that it had lost", run)
		}
		if !strings.Contains(string(neighbour.Detail), secret) {
			t.Errorf("run %s has lost the words of another session", run)
		}
		p, err := s.Pair()
		if err != nil {
			t.Fatal(err)
		}
		for _, time := range p.Times() {
			lane := time.Variation(replay.Candidate)
			if lane == nil || lane.Error == "" || len(lane.Turns) != 1 || lane.Turns[0].State != "ANSWER" ||
				*lane.Metrics.CompletionMatch != 1 {
				t.Errorf("run %s has lost figures: %+v", run, lane)
			}
		}
		if len(p.Again) != 1 || p.Outcome != replay.EndCompleted {
			t.Errorf("run %s: %+v", run, p)
		}
	}
	if left := collectOutcomes(t, r, other.ID); !strings.Contains(string(left[0].Detail), secret) {
		t.Error("the session of another flow has lost its words")
	}
	wantReplay(t, r, "r1", func() replay.Run { run := sampleReplay("r1"); run.Seen = eventTime; return run }())
}

func itemsErased(t *testing.T, d *store.Datasets) {
	made(t, d, "one", "two")
	item := func(id, source string) dataset.Record {
		return dataset.Record{
			ID: id, Input: json.RawMessage(`{"query":"` + secret + `"}`), Metadata: json.RawMessage(source),
		}
	}
	for _, name := range []string{"one", "two"} {
		_, err := d.Put(t.Context(), name, []dataset.Record{
			item("ours", `{"source":{"session":"s","site":"tea"}}`),
			item("logged", `{"source":{"session":"s","turn":2}}`),
			item("of another site", `{"source":{"session":"s","site":"coffee"}}`),
			item("of another session", `{"source":{"session":"t","site":"tea"}}`),
			item("no source", `{"session":"s","site":"tea"}`),
			item("text", `"s"`),
			{ID: "bare"},
		}, dataset.PutOptions{Now: noon})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := d.EraseSession(t.Context(), "tea", "s", noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		var left []string
		for r, err := range d.Items(t.Context(), name) {
			if err != nil {
				t.Fatal(err)
			}
			left = append(left, r.ID)
		}
		if got := strings.Join(left, ","); got != "of another site,of another session,no source,text,bare" {
			t.Errorf("%s has %s", name, got)
		}
		if e, err := d.Dataset(t.Context(), name); err != nil || !e.Updated.Equal(noon.Add(time.Hour)) {
			t.Errorf("%s was updated at %v, %v", name, e.Updated, err)
		}
	}
}

func resultErased(t *testing.T, f Fleets) {
	replayed := func(session string) *result.Test {
		r := tested(session, 0, result.Error)
		r.SessionID, r.Output, r.Cluster = session, []chat.Message{}, secret
		r.Turns = []result.Turn{{
			Index: 1, Input: chat.Content{Text: "a " + secret}, Output: "your " + secret + strings.Repeat(".", 4_000),
			Node: "ANSWER", State: json.RawMessage(`"` + secret + `"`), ToolCalls: []chat.ToolCall{{Name: secret}},
		}}
		r.Scores = []result.Score{{
			Name: "assertions", Assertions: []result.Assertion{{
				Text: "is polite", Evidence: "found " + secret, Voters: []result.Voter{{Reasoning: secret}},
			}}, Failures: []result.Failure{{Message: "got " + secret}},
		}}
		r.Failures = []result.Failure{{
			Code: result.EngineError, Source: "orchestrator", Message: "no rule for " + secret,
		}}
		return r
	}
	begun(t, f, "r")
	alike := replayed("alike") // the test of a suite
	alike.SessionID = "its own"
	putResults(t, f, "r", replayed("s"), replayed("t"), alike)
	report, err := json.Marshal(replay.Report{
		Run: sampleReplay("x"), Sessions: []replay.Pair{*spokenPair("s"), *spokenPair("t")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.PutRunFile(t.Context(), "r", store.Fence{}, store.ReplayFile, report); err != nil {
		t.Fatal(err)
	}
	moved(t, f, "r", store.RunCompleted)
	for _, session := range []string{"s", "alike", "none"} {
		if err := f.EraseSession(t.Context(), "shop", session); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.EraseSession(t.Context(), "other", "t"); err != nil {
		t.Fatal(err)
	}
	page, err := f.Again().Results(t.Context(), "r", store.ResultFilter{}, store.PageOf{})
	if err != nil || len(page.Items) != 3 {
		t.Fatalf("%+v, %v", page, err)
	}
	for i, keeps := range []bool{false, true, true} {
		if got := page.Items[i]; strings.Contains(string(got.Record), secret) == !keeps {
			t.Errorf("result %s: %s", got.Key.TestID, got.Record)
		}
	}
	if got, err := page.Items[0].Test(); err != nil || got.Turns[0].Node != "ANSWER" || got.Verdict != result.Error ||
		len(got.Failures) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	found, err := f.Results(t.Context(), "r", store.ResultFilter{Text: secret}, store.PageOf{})
	if err != nil || len(found.Items) != 2 {
		t.Errorf("a search finds %d results, %v", len(found.Items), err)
	}
	stamps, err := f.Stamps(t.Context())
	if err != nil || len(stamps) != 1 || stamps["r"] == "" {
		t.Errorf("stamps %q, %v", stamps, err)
	}
	if err := f.EraseSession(t.Context(), "shop", "t"); err != nil {
		t.Fatal(err)
	}
	if later, err := f.Stamps(t.Context()); err != nil || len(later) != 1 || later["r"] == stamps["r"] {
		t.Errorf("stamps %q, before %q, %v", later, stamps, err)
	}
	data, err := f.RunFile(t.Context(), "r", store.ReplayFile)
	if err != nil || strings.Contains(string(data), secret) {
		t.Errorf("the report has %q %d times, %v", secret, strings.Count(string(data), secret), err)
	}
}
