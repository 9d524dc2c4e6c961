package pages_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// laneOf is a lane with turns of the same texts.
func laneOf(name string, completed bool, diverges int, said ...string) replay.Variation {
	l := replay.Variation{Name: name, Completed: completed}
	for i := 0; i+1 < len(said); i += 2 {
		l.Turns = append(l.Turns, replay.VariationTurn{
			Number: i/2 + 1, User: said[i], Bot: said[i+1], Before: "s" + string(rune('0'+i)), State: "t",
			Supported: true,
		})
	}
	if name != replay.Observed {
		one := func(x float64) *float64 { return &x }
		match := 0.0
		if completed {
			match = 1
		}
		l.Metrics = &replay.Metrics{CompletionMatch: one(match)}
		if diverges > 0 {
			l.Metrics.FirstDivergence = &diverges
		}
	}
	return l
}

// A replay shows what its row in the store says, its lists, and its sessions in all lanes.
func TestReplays(t *testing.T) {
	s, kept := withStore(t)
	if words := s.get(http.StatusOK, "/replays").One("data-empty").Words(); !strings.Contains(words,
		"rehearse replay run") {
		t.Errorf("empty: %q", words)
	}
	runs := kept.ReplayRuns()
	run := replay.Run{
		ID: "r 1", VariantID: "new", BaselineID: "old", FlowID: "tea", Mode: replay.Recorded, Gate: replay.GatePaired,
		Status: replay.Done, Sessions: 2, Verdict: "worse", Outcome: "not_passed", Started: now, Seen: now, Ended: now,
		Intervals: json.RawMessage(`{"completion_match":{"candidate":{"value":0.5,"low":0.1,"high":0.9,"n":2},"baseline":{"value":1,"low":0.4,"high":1,"n":2},
			"difference":{"mean":-0.5,"low":-0.9,"high":-0.1,"n":2,"verdict":"worse"}},"tokens":{"candidate":{"value":3,"n":2},"baseline":null},
			"turn_count_diff":{"candidate":{"value":1,"n":2},"baseline":{"value":2,"n":2},"difference":{"mean":-1,"low":-1.5,"high":null,"n":2,"verdict":"inconclusive"}}}`),
	}
	if err := runs.PutRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	var outcomes []replay.Outcome
	for _, p := range []*replay.Pair{
		{
			SessionID: "a/1", FlowID: "tea", Mode: replay.Recorded, Outcome: "completed", Started: now,
			Variations: []replay.Variation{
				laneOf(replay.Observed, true, 0, "hi", "Which tea?", "green", "**Done**"),
				laneOf(replay.Baseline, true, 0, "hi", "Which tea?", "green", "Done"),
				laneOf(replay.Candidate, false, 2, "hi", "Which tea?", "green", "Which tea? <script>"),
			},
		},
		{
			SessionID: "b", FlowID: "tea", Mode: replay.Recorded, Outcome: "completed", Started: now.Add(time.Minute),
			Variations: []replay.Variation{
				laneOf(replay.Observed, true, 0, "hi", "x"), laneOf(replay.Baseline, true, 0, "hi", "x"),
				laneOf(replay.Candidate, true, 0, "hi", "x"),
			},
		},
	} {
		detail, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		outcomes = append(outcomes, replay.Outcome{
			SessionID: p.SessionID, Detail: detail, Metrics: json.RawMessage(`{}`),
		})
	}
	if err := runs.PutOutcomes(t.Context(), run.ID, outcomes, now); err != nil {
		t.Fatal(err)
	}
	list := s.get(http.StatusOK, "/replays?verdict=worse")
	row := list.One("data-row=replay")
	if row.Attr["data-replay"] != "r 1" || row.Attr["data-verdict"] != "worse" ||
		row.One("<a>").Attr["href"] != "/replays/r%201" {
		t.Errorf("row %v", row.Attr)
	}
	if len(s.get(http.StatusOK, "/replays?verdict=better").All("data-row=replay")) != 0 {
		t.Error("the verdict does not filter")
	}
	page := s.get(http.StatusOK, "/replays/r%201")
	if m := page.One("data-metric=completion_match"); m.Attr["data-a"] != "1" || m.Attr["data-b"] != "0.5" ||
		m.Attr["data-diff"] != "-0.5" || m.Attr["data-low"] != "-0.9" || m.Attr["data-result"] != "worse" {
		t.Errorf("metric %v", m.Attr)
	}
	if m := page.One("data-metric=tokens"); m.Attr["data-a"] != "" || m.Attr["data-b"] != "3" ||
		m.Attr["data-diff"] != "" {
		t.Errorf("a metric without a baseline: %v", m.Attr)
	}
	if m := page.One("data-metric=turn_count_diff"); m.Attr["data-low"] != "-1.5" || m.Attr["data-high"] != "" {
		t.Errorf("an interval that is open on one side: %v", m.Attr)
	}
	if page.One("data-section=regressed").One("data-session").Attr["data-session"] != "a/1" ||
		page.One("data-section=fixed").Attr["data-count"] != "0" {
		t.Errorf("regressed %v, fixed %v", page.One("data-section=regressed").Words(),
			page.One("data-section=fixed").Attr)
	}
	for query, want := range map[string]string{
		"": "a/1 b", "?diverges=yes": "a/1", "?diverges=no": "b", "?verdict=regressed": "a/1", "?rescued=1": "",
		"?lost=no": "a/1 b", "?lost=1": "", "?diverges=maybe": "", "?diverges=yes&diverges=no": "a/1 b",
	} {
		if query == "?diverges=maybe" &&
			len(s.get(http.StatusOK, "/replays/r%201"+query).One("data-empty").All("<a>")) != 1 {
			t.Error("no link drops the filter")
		}
		if got := rows(s.get(http.StatusOK, "/replays/r%201"+query), "session", "data-session"); got != want {
			t.Errorf("sessions %q: %q, want %q", query, got, want)
		}
	}
	session := s.get(http.StatusOK, "/replays/r%201/sessions/a%2F1")
	if n := len(session.All("data-turn")); n != 2 {
		t.Errorf("%d turns", n)
	}
	second := session.All("data-turn=2")[0]
	for lane, want := range map[string]string{
		"observed": "Done", "baseline": "Done", "candidate": "Which tea? <script>",
	} {
		if cell := second.One("data-lane=" + lane); !strings.Contains(cell.Words(), want) ||
			(cell.Attr["data-divergence"] == "first") != (lane == "candidate") {
			t.Errorf("%s: %q %v", lane, cell.Words(), cell.Attr)
		}
	}
	if second.One("<strong>").Words() != "Done" {
		t.Error("Markdown is not rendered")
	}
	for _, gone := range []string{"/replays/nope", "/replays/r%201/sessions/nope", "/replays/nope/sessions/b"} {
		s.get(http.StatusNotFound, gone)
	}
}

// TestReplayThatItsSessionsDoNotBear holds that a stored outcome which the sessions do not give has no headline, and
// that a metric whose direction is not known is neither better nor worse.
func TestReplayThatItsSessionsDoNotBear(t *testing.T) {
	s, kept := withStore(t)
	run := replay.Run{
		ID: "forged", VariantID: "new", BaselineID: "old", FlowID: "tea",
		Mode: replay.Recorded, Gate: replay.GatePaired, Status: replay.Done, Sessions: 1,
		Verdict: "better", Outcome: "passed", Started: now, Seen: now, Ended: now,
		Intervals: json.RawMessage(`{"tokens":{"candidate":{"value":9,"n":1},"baseline":{"value":1,"n":1},"difference":{"mean":8,"low":7,"high":9,"n":1}}}`),
	}
	if err := kept.ReplayRuns().PutRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	page := s.get(http.StatusOK, "/replays/forged")
	if result := page.One("data-metric=tokens").Attr["data-result"]; result != "inconclusive" {
		t.Errorf("tokens of which nobody knows whether more is better: %q", result)
	}
	if len(page.All("data-headline")) != 0 ||
		!strings.Contains(page.One("data-remark").Words(), "do not give what is stored") {
		t.Error("a stored outcome without sessions is told as if they bore it")
	}
}

// TestReplayByItsOwnRules holds that the page of a replay is judged by the rules of the run: the headline is that of
// its report, whatever margins it had. A replay that has kept none says so, unless the default ones give what is
// stored.
func TestReplayByItsOwnRules(t *testing.T) {
	s, kept := withStore(t)
	tally, outcomes := &replay.Tally{}, []replay.Outcome{}
	for i := range 60 {
		p := &replay.Pair{
			SessionID: fmt.Sprintf("s%02d", i), FlowID: "tea", Mode: replay.Recorded, Outcome: "completed",
			Started: now, Variations: []replay.Variation{
				laneOf(replay.Observed, true, 0, "hi", "x"), laneOf(replay.Baseline, i%8 > 0, 0, "hi", "x"),
				laneOf(replay.Candidate, i%6 > 0, 0, "hi", "x"),
			},
		}
		tally.Add(p)
		detail, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		outcomes = append(outcomes, replay.Outcome{
			SessionID: p.SessionID, Detail: detail, Metrics: json.RawMessage(`{}`),
		})
	}
	for name, margins := range map[string][]string{"plain": nil, "wide": {"completion_match=40pp", "answered=100pp"}} {
		for _, keeps := range []bool{true, false} {
			t.Run(fmt.Sprint(name, keeps), func(t *testing.T) {
				rules := replay.DefaultRules()
				if err := rules.SetMargins(margins); err != nil {
					t.Fatal(err)
				}
				report, err := tally.Report(replay.Report{Run: replay.Run{
					ID: fmt.Sprint(name, keeps), FlowID: "tea", Mode: replay.Recorded, Gate: replay.GatePaired,
					Status: replay.Done, Started: now, Seen: now, Ended: now,
				}, Baseline: &replay.Replayed{}}, rules)
				if err != nil {
					t.Fatal(err)
				}
				run := report.Run
				if !keeps {
					run.Rules = nil
				}
				if err := errors.Join(kept.ReplayRuns().PutRun(t.Context(), run),
					kept.ReplayRuns().PutOutcomes(t.Context(), run.ID, outcomes, now)); err != nil {
					t.Fatal(err)
				}
				page := s.get(http.StatusOK, "/replays/"+run.ID)
				if told := keeps || margins == nil; !told {
					if len(page.All("data-headline")) != 0 ||
						!strings.Contains(page.One("data-remark").Words(), "has not kept its rules") {
						t.Error("it is not said that the rules are not known")
					}
				} else if said := page.One("data-headline").Words(); said != report.Gate.Headline {
					t.Errorf("the page says %q, the report %q", said, report.Gate.Headline)
				}
				if got := page.One("data-page=replay").Attr["data-outcome"]; got != string(report.Gate.Outcome) {
					t.Errorf("the page has the outcome %s, the report %s", got, report.Gate.Outcome)
				}
			})
		}
	}
}

// TestReplayByItsFidelity holds that a replay whose simulated user is not like the real ones cannot be judged on its
// page either, and that the page shows how like them it is. One that has kept no fidelity says so.
func TestReplayByItsFidelity(t *testing.T) {
	s, kept := withStore(t)
	tally, outcomes := &replay.Tally{}, []replay.Outcome{}
	for i := range 60 {
		p := &replay.Pair{
			SessionID: fmt.Sprintf("s%02d", i), FlowID: "tea", Mode: replay.Simulated, Outcome: "completed",
			Started: now, Variations: []replay.Variation{
				laneOf(replay.Observed, true, 0, "hi", "x"), laneOf(replay.Baseline, true, 0, "hi", "x"),
				laneOf(replay.Candidate, true, 0, "hi", "x"),
			},
		}
		tally.Add(p)
		detail, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		outcomes = append(outcomes, replay.Outcome{
			SessionID: p.SessionID, Detail: detail, Metrics: json.RawMessage(`{}`),
		})
	}
	report, err := tally.Report(replay.Report{Run: replay.Run{
		ID: "kept", FlowID: "tea", Mode: replay.Simulated, Gate: replay.GatePaired, Status: replay.Done, Started: now,
		Seen: now, Ended: now,
	}, Baseline: &replay.Replayed{}, Fidelity: &replay.Fidelity{
		Kinds: 0.4, Fields: 0.5, Length: 1, End: 1, Overall: 0.4, Minimum: 0.7, Sessions: 60,
	}}, replay.DefaultRules())
	if err != nil || report.Gate.Outcome != replay.NotJudgeable {
		t.Fatal(report, err)
	}
	lost := report.Run
	lost.ID, lost.Fidelity = "lost", nil
	for _, run := range []replay.Run{report.Run, lost} {
		if err := errors.Join(kept.ReplayRuns().PutRun(t.Context(), run),
			kept.ReplayRuns().PutOutcomes(t.Context(), run.ID, outcomes, now)); err != nil {
			t.Fatal(err)
		}
	}
	page := s.get(http.StatusOK, "/replays/kept")
	if said := page.One("data-headline").Words(); said != report.Gate.Headline {
		t.Errorf("the page says %q, the report %q", said, report.Gate.Headline)
	}
	if said := page.One("data-fidelity").Words(); !strings.Contains(said, "in 60 sessions") ||
		!strings.Contains(said, "Its fidelity is 0.40, and 0.7 is needed") ||
		!strings.Contains(said, "the logged data is given: 0.50") {
		t.Errorf("fidelity: %q", said)
	}
	if said := page.One("data-belief").Words(); said != report.Reliability {
		t.Errorf("the page says %q, the report %q", said, report.Reliability)
	}
	page = s.get(http.StatusOK, "/replays/lost")
	if said := page.One("data-fidelity").Words(); !strings.Contains(said, "is not kept") ||
		len(page.All("data-headline")) != 0 {
		t.Errorf("without fidelity: %q, %d headlines", said, len(page.All("data-headline")))
	}
}
