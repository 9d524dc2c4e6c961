package replay_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// valid is a spec without a mistake.
func valid() replay.Spec {
	return replay.Spec{
		VariantID: "new", FlowID: "f", FirstDay: "2026-01-01", LastDay: "2026-01-31", Mode: replay.Recorded,
		Gate: replay.GatePaired, Rules: replay.DefaultRules(), Side: replay.After, Workers: 8,
	}
}

func TestSpecCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*replay.Spec)
		want   string // in the error; empty for none
	}{
		"valid":            {func(*replay.Spec) {}, ""},
		"without variant":  {func(s *replay.Spec) { s.VariantID = "" }, "--variant_id is missing"},
		"without flow":     {func(s *replay.Spec) { s.FlowID = "" }, "--flow_id is missing"},
		"without end":      {func(s *replay.Spec) { s.LastDay = "" }, "--end_date is missing"},
		"days":             {func(s *replay.Spec) { s.FirstDay = "2026-02-01" }, "is after --end_date 2026-01-31"},
		"mode":             {func(s *replay.Spec) { s.Mode = "fast" }, "unknown --mode"},
		"gate":             {func(s *replay.Spec) { s.Gate = "" }, "use paired or spec"},
		"requirement":      {func(s *replay.Spec) { s.Rules.Require = "best" }, "unknown --require"},
		"states":           {func(s *replay.Spec) { s.Side = "between" }, "unknown --states"},
		"negative":         {func(s *replay.Spec) { s.SampleSize = -1 }, "cannot be negative"},
		"no workers":       {func(s *replay.Spec) { s.Workers = 0 }, "--workers 0 is out of range"},
		"too many workers": {func(s *replay.Spec) { s.Workers = 10_001 }, "use 1 to 10000"},
		"user":             {func(s *replay.Spec) { s.User = "m" }, "--mode simulated only"},
		"two in AA": {
			func(s *replay.Spec) { s.AA, s.BaselineID = true, "old" }, "name only --baseline_variant_id old",
		},
		"one in AA": {func(s *replay.Spec) { s.AA, s.VariantID, s.BaselineID = true, "", "old" }, ""},
	} {
		s := valid()
		tc.change(&s)
		err := s.Check()
		if tc.want == "" && err != nil ||
			tc.want != "" && (!source.IsInvalid(err) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
	s := replay.Spec{AA: true, VariantID: "one"}
	if _ = s.Check(); s.BaselineID != "one" {
		t.Errorf("AA compares %q with %q", s.VariantID, s.BaselineID)
	}
}

func TestDays(t *testing.T) {
	d, err := replay.ReadDays("2026-01-31", "2026-02-01", time.UTC)
	if err != nil || d.String() != "from 2026-01-31 to 2026-02-01" {
		t.Fatalf("%q, %v", d, err)
	}
	for at, want := range map[string]bool{
		"2026-01-30T23:59:59Z": false, "2026-01-31T00:00:00Z": true, "2026-02-01T23:59:59.999999Z": true,
		"2026-02-02T00:00:00Z": false,
	} {
		if when, _ := time.Parse(time.RFC3339, at); d.Has(when) != want {
			t.Errorf("%s: %t, want %t", at, !want, want)
		}
	}
	open, err := replay.ReadDays("", "", time.UTC)
	if err != nil || open.String() != "" || !open.Has(time.Now()) {
		t.Errorf("no bound: %q, %v", open, err)
	}
}

func TestSpecEvaluation(t *testing.T) {
	s := valid()
	candidate := &replay.Opened{Replayed: replay.Replayed{ID: "new"}, Settings: map[string]any{"flow": "f@1"}}
	e, err := s.Evaluation(candidate, nil, nil, replay.ReplyJudge{})
	if err != nil {
		t.Fatal(err)
	}
	run := e.Head.Run
	if e.Replayer.Baseline != nil || e.Head.Baseline != nil || e.Replayer.User == nil ||
		run.DatasetVersion != "f_2026-01-01_2026-01-31" {
		t.Errorf("evaluation: %+v of run %+v", e, run)
	}
	if got := e.Head.To.Format(time.DateOnly); got != "2026-01-31" || !e.To.Equal(e.Head.To.AddDate(0, 0, 1)) {
		t.Errorf("the last day is %s, and events are read up to %s", got, e.To)
	}
	// What decides the outcome changes the settings, and nothing else does.
	for name, tc := range map[string]struct {
		change func(*replay.Spec)
		same   bool
	}{
		"workers": {func(s *replay.Spec) { s.Workers = 1 }, true},
		"gate":    {func(s *replay.Spec) { s.Gate = replay.GateSpec }, true},
		"mode":    {func(s *replay.Spec) { s.Mode = replay.Forced }, false},
		"sample":  {func(s *replay.Spec) { s.SampleSize = 3 }, false},
		"days":    {func(s *replay.Spec) { s.LastDay = "2026-01-30" }, false},
		"states":  {func(s *replay.Spec) { s.Side = replay.Before }, false},
	} {
		other := valid()
		tc.change(&other)
		again, err := other.Evaluation(candidate, nil, nil, replay.ReplyJudge{})
		if err != nil || source.SameJSON(again.Head.Run.Settings, run.Settings) != tc.same {
			t.Errorf("%s: same settings is %t, want %t; %v", name, !tc.same, tc.same, err)
		}
	}
	other := &replay.Opened{Settings: map[string]any{"flow": "f@2"}}
	baseline, err := s.Evaluation(candidate, other, nil, replay.ReplyJudge{})
	if err != nil || source.SameJSON(baseline.Head.Run.Settings, run.Settings) {
		t.Errorf("a baseline changes no settings: %s, %v", baseline.Head.Run.Settings, err)
	}
}

func TestNothing(t *testing.T) {
	log := memory{{
		ID: "1", Type: replay.Message, SessionID: "s", FlowID: "weather",
		Time: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
	}}
	for name, tc := range map[string]struct {
		events replay.Events
		change func(*replay.Spec)
		want   string
	}{
		"other days": {
			&log, func(s *replay.Spec) { s.FlowID = "weather" }, "those in the store are from 2026-03-01 to 2026-03-01",
		},
		"too short": {
			&log, func(s *replay.Spec) { s.FlowID, s.LastDay, s.MinTurns = "weather", "2026-03-01", 2 },
			"has 2 messages of the user's",
		},
		"other flow": {&log, func(s *replay.Spec) { s.FlowID = "wether" }, `did you mean "weather"?`},
		"empty": {
			&memory{}, func(*replay.Spec) {}, "load some with `rehearse replay import FILE… --store sqlite:x`",
		},
	} {
		s := valid()
		tc.change(&s)
		if err := s.Nothing(t.Context(), filtered{tc.events}, "sqlite:x", replay.LogToFigures{
			Read: 1, BelowMinTurns: 1,
		}); !source.IsInvalid(err) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}

// filtered applies the flow of a filter, which memory leaves to others.
type filtered struct{ replay.Events }

func (f filtered) Each(ctx context.Context, filter replay.Filter) iter.Seq2[replay.Event, error] {
	return func(yield func(replay.Event, error) bool) {
		for e, err := range f.Events.Each(ctx, replay.Filter{}) {
			if filter.FlowID != "" && e.FlowID != filter.FlowID {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func TestWriteJSONL(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	want := replay.Event{
		ID: "1", Type: replay.Message, SessionID: "s<", FlowID: "f", Time: at,
		Context: json.RawMessage(`{"session_id":"s<","flow_id":"f"}`),
	}
	var b strings.Builder
	if err := replay.WriteJSONL(&b, func(yield func(replay.Event, error) bool) { yield(want, nil) }); err != nil {
		t.Fatal(err)
	}
	got, err := replay.ParseEvent([]byte(b.String()))
	if err != nil || got.SessionID != want.SessionID || !got.Time.Equal(at) {
		t.Errorf("%s reads as %+v, %v", b.String(), got, err)
	}
}
