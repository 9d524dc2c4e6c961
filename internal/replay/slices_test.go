package replay_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// byLanguage slices n sessions, of which the first few are French.
func byLanguage(n, french int, change func(p *replay.Pair, is *replay.Metrics)) gateRun {
	return gateRun{n: n, change: func(i int, p *replay.Pair, _, is *replay.Metrics) {
		if p.Slices = map[string]string{"language": "en"}; i < french {
			p.Slices["language"] = "fr"
			change(p, is)
		}
	}, rules: func(rules *replay.Rules) { rules.Slices = []string{"language"} }}
}

func lose(_ *replay.Pair, is *replay.Metrics) { is.CompletionMatch, is.Completed = new(0.0), new(0.0) }

// TestNamedSlicesAreGuards checks that a loss in one slice is found that is too small in all sessions to be one.
func TestNamedSlicesAreGuards(t *testing.T) {
	const lostFrench = "completed is worse in language fr: 100.0 points lower in 12 sessions"
	unnamed := byLanguage(2_000, 12, lose)
	unnamed.rules = nil
	other := byLanguage(2_000, 8, lose)
	swapped := func(_ *replay.Pair, is *replay.Metrics) { is.DataAccuracy = new(0.0) }
	swaps := byLanguage(2_000, 12, swapped)
	without := swaps.change
	swaps.change = func(i int, p *replay.Pair, was, is *replay.Metrics) {
		was.DataAccuracy, is.DataAccuracy = new(1.0), new(1.0)
		without(i, p, was, is)
	}
	for name, tc := range map[string]struct {
		run   gateRun
		want  replay.Decision
		words string
	}{
		"not named": {
			unnamed, replay.Passed, "12 newly lost conversations (s00000, s00001, s00002, s00003, s00004 and 7 more)",
		},
		"12 lost": {byLanguage(2_000, 12, lose), replay.NotPassed, lostFrench},
		"8 lost, in other": {
			other, replay.NotPassed, "completed is worse in language other: 100.0 points lower in 8 sessions",
		},
		"12 crashed": {byLanguage(2_000, 12, func(p *replay.Pair, _ *replay.Metrics) {
			fail(p, replay.Candidate)
		}), replay.NotPassed, "answered is worse"},
		"12 censored": {byLanguage(2_000, 12, func(_ *replay.Pair, is *replay.Metrics) {
			censor(is)
		}), replay.Underpowered, "12 of 12 conversations in language fr"},
		"other data": {swaps, replay.NotPassed, "data_collection_accuracy is worse in language fr"},
		"rescued": {byLanguage(2_000, 12, func(p *replay.Pair, is *replay.Metrics) {
			p.Outcome, is.CompletionMatch = replay.EndDropped, new(0.0)
			p.Variation(replay.Baseline).Metrics.Completed = new(0.0)
		}), replay.Passed, "12 conversations that were dropped are completed, 0 newly lost"},
		"nothing lost": {byLanguage(2_000, 12, func(*replay.Pair, *replay.Metrics) {}), replay.Passed, ""},
	} {
		r := tc.run.report(t)
		agree(t, r)
		if r.Gate.Outcome != tc.want || !strings.Contains(r.Gate.Headline, tc.words) {
			t.Errorf("%s: %s", name, r.Gate.Headline)
		}
		n := 0
		for _, s := range r.Slices {
			if s.By == "language" {
				n += s.Sessions
			}
		}
		if tc.run.rules != nil && n != r.Run.Sessions {
			t.Errorf("%s: slices by language have %d sessions of %d", name, n, r.Run.Sessions)
		}
	}
}

// TestNamedSlicesAlarmRarely checks that of two equal agents at most one run in twenty is worse in any of many slices.
func TestNamedSlicesAlarmRarely(t *testing.T) {
	const runs = 200
	alarms := 0
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 8))
		r := gateRun{n: 300, change: func(i int, p *replay.Pair, was, is *replay.Metrics) {
			p.Slices = map[string]string{"shop": fmt.Sprintf("shop %d", i%12)}
			for _, m := range []*replay.Metrics{was, is} {
				done := float64(random.IntN(5) / 4)
				m.CompletionMatch, m.Completed, m.StateProgression = &done, &done, new(random.Float64())
			}
		}, rules: func(rules *replay.Rules) { rules.Slices = []string{"shop"} }}.report(t)
		if slices.ContainsFunc(r.Gate.Reasons, func(reason replay.Reason) bool {
			return reason.Code == "worse" && strings.Contains(reason.Text, " in shop ")
		}) {
			alarms++
		}
	}
	if alarms > runs/20 {
		t.Errorf("%d of %d runs of equal agents are worse in a slice", alarms, runs)
	}
}

// TestSliceFields checks where the field of a slice is read, and that a field which no session has is an error.
func TestSliceFields(t *testing.T) {
	for name, tc := range map[string]struct {
		context, payload string
		field, want      string
	}{
		"of the context":          {`,"language":"fr"`, ``, "language", "fr"},
		"of its metadata":         {`,"metadata":{"tier":7}`, ``, "tier", "7"},
		"of the payload":          {``, `,"metadata":{"tier":true}`, "tier", "true"},
		"by a path":               {`,"user":{"tier":{"name":"gold"}}`, ``, "user.tier.name", "gold"},
		"with dots in its name":   {`,"user.tier":"gold"`, ``, "user.tier", "gold"},
		"one that is not there":   {`,"language":"fr"`, ``, "tier", ""},
		"a path through a number": {`,"user":7`, ``, "user.tier", ""},
		"null":                    {`,"language":null`, ``, "language", ""},
		"a long one": {
			`,"language":"` + strings.Repeat("é", 80) + `"`, ``, "language", strings.Repeat("é", 50),
		},
	} {
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		log := &memory{{
			ID: "1", Type: replay.Message, Time: at, SessionID: "s", FlowID: "f",
			Context: json.RawMessage(`{"session_id":"s","flow_id":"f"` + tc.context + `}`),
			Payload: json.RawMessage(`{"sender":"user","message_text":"hi"` + tc.payload + `}`),
		}}
		e := evaluation(log, &kept{}, 1)
		e.Rules.Slices = []string{tc.field}
		got := ""
		e.Each = func(p *replay.Pair) error {
			got = p.Slices[tc.field]
			return nil
		}
		_, err := e.Evaluate(t.Context())
		if got != tc.want || source.IsInvalid(err) != (tc.want == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
