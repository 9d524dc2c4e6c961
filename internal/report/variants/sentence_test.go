package variants_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// told returns the console's text in one line, so that it can be searched whatever the wrapping.
func told(t *testing.T, r *replay.Report) string {
	t.Helper()
	return strings.Join(strings.Fields(replayText(t, ".txt", r)), " ")
}

// What is known is said first, also where it is not enough for a verdict; and every sentence can be read aloud.
func TestReplaySentences(t *testing.T) {
	verdicts := func(overall string, each ...string) *replay.Report {
		r := replayed(t)
		r.Run.Verdict = overall
		for i, v := range each {
			r.Metrics[i].Difference.Verdict = v
		}
		return r
	}
	better := verdicts("better", "better", "non_inferior", "better", "non_inferior")
	half := verdicts("inconclusive", "better", "inconclusive", "non_inferior", "inconclusive")
	open := verdicts("inconclusive", "inconclusive", "inconclusive", "inconclusive", "inconclusive")
	guarded := verdicts("worse", "non_inferior", "non_inferior", "non_inferior", "non_inferior")
	metric(t, guarded, replay.EndedEarly).Difference.Verdict = "worse"
	turned := verdicts("worse", "worse", "non_inferior", "non_inferior", "non_inferior")
	turned.Metrics[0].DifferenceOnSupport = &replay.DifferenceReport{Mean: 0.1, Low: new(0.02), High: new(0.18), N: 52}
	leaning := verdicts("inconclusive", "inconclusive", "non_inferior", "inconclusive", "non_inferior")
	leaning.Metrics[2].DifferenceOnSupport = &replay.DifferenceReport{Mean: 0.224, Low: new(-0.025), High: new(0.461),
		N: 38}
	noise := verdicts("worse", "worse", "non_inferior", "non_inferior", "non_inferior")
	noise.AA = true
	quiet := verdicts("non_inferior", "non_inferior", "non_inferior", "non_inferior", "non_inferior")
	quiet.AA = true
	forced := verdicts("inconclusive", "better", "better", "inconclusive", "better")
	forced.Run.Mode, forced.Spec = replay.Forced, &replay.Comparison{Tests: map[string]bool{"completion_match": true,
		"avg_latency_ms": true}, Passed: true}
	spec := verdicts("better", "better", "better", "better", "better")
	spec.Run.Gate, spec.Spec.Hard = replay.GateSpec, false
	endless := verdicts("inconclusive", "inconclusive", "non_inferior", "inconclusive", "non_inferior")
	endless.Run.CompletionMatch, endless.Spec = nil, &replay.Comparison{Tests: map[string]bool{"turn_count_ratio": true,
		"avg_latency_ms": false}}
	for name, tc := range map[string]struct {
		report *replay.Report
		want   []string
	}{
		"endless": {endless, []string{
			"only 1 of its 2 rules hold (70% are needed), and completion match, of which it asks for 80%, is unknown.",
		}},
		"better": {better, []string{
			"The candidate is better in completion match and state progression match, " +
				"and non-inferior (no loss beyond the margin) in turn count ratio " +
				"and average latency.",
		}},
		"half": {half, []string{
			"Better in completion match, and non-inferior (no loss beyond the margin) in state progression match; " +
				"turn count ratio and average latency " +
				"are left open.",
			"May it be believed? The logged user spoke: 81.2 % of its messages answer what the candidate had asked",
			"completion match is left open. ",
		}},
		"open": {open, []string{
			"Completion match, turn count ratio, state progression match and average latency are left open.",
		}},
		"guarded": {guarded, []string{
			"The candidate is worse in ended early, and non-inferior (no loss beyond the margin) in completion match,",
		}},
		"forced": {forced, []string{
			"Better in completion match, turn count ratio and average latency; the share of turns to the logged " +
				"state is left open.",
			"all of its 2 rules hold, but completion match is below the 80% that it asks for.",
		}},
		"turned":  {turned, []string{"On the supported turns alone, completion match comes out the other way;"}},
		"leaning": {leaning, []string{"state progression match (+22.4 points, not −1.8 points) leans the other way."}},
		"noise": {noise, []string{
			"Yet it differs from itself in completion match: a difference as large as that may be chance.",
		}},
		"quiet": {quiet, []string{
			"The same variant twice: what differs is noise. No metric differs by more than chance, as it should be.",
		}},
		"spec": {spec, []string{
			"The spec gate is not passed: only 2 of its 4 rules hold (70% are needed), " +
				"and completion match is below the 80% that it asks for.",
		}},
	} {
		text := told(t, tc.report)
		for _, want := range tc.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%s", name, want, text)
			}
		}
	}
}

// A note on a metric reads as a sentence; what a reason tells is not told again.
func TestReplayNotesRead(t *testing.T) {
	r := replayed(t)
	r.Notes = append(r.Notes, replay.Note{
		Text: "avg_latency_ms is left open: about 2907 sessions would show a difference of 0.044 ms", Count: 2907,
	})
	for _, kind := range []string{".txt", ".md", ".html"} {
		text := strings.Join(strings.Fields(replayText(t, kind, r)), " ")
		if want := "Average latency is left open: about 2,907 sessions would show a difference of 0.044 " +
			"ms"; !strings.Contains(text, want) {
			t.Errorf("%s does not say %q", kind, want)
		}
		if strings.Contains(text, "2,907 ×") || strings.Contains(text, "as a lane failed") {
			t.Errorf("%s tells a note as it is stored", kind)
		}
	}
	if text := told(t, r); !strings.Contains(text, "14 sessions of which it is not known how they ended: not counted") {
		t.Errorf("sessions are not counted in words:\n%s", text)
	}
}

// In forced mode turns are compared one by one, and the match of states says so.
func TestReplayLabelsForcedMode(t *testing.T) {
	r := replayed(t)
	r.Run.Mode = replay.Forced
	for _, kind := range []string{".txt", ".md", ".html"} {
		text := replayText(t, kind, r)
		if !strings.Contains(text, "Turns to the logged state") || strings.Count(text,
			"State progression match") > 1 { // the specification's block
			t.Errorf("%s calls a share of turns a match of paths", kind)
		}
	}
}

// What does not vary is named once, with what it always is; everything else is shown.
func TestReplayShowsWhatVaries(t *testing.T) {
	r := replayed(t)
	data := metric(t, r, replay.DataAccuracy)
	data.Candidate, data.Baseline, data.Difference = nil, nil, nil
	for _, kind := range []string{".txt", ".md", ".html"} {
		text := strings.Join(strings.Fields(strings.ReplaceAll(replayText(t, kind, r), `\$`, "$")), " ")
		want := "Not shown, as nothing varies: all states in any order (100%), cost ($0)."
		if !strings.Contains(text, want) || !strings.Contains(text, "Needleman-Wunsch") || strings.Contains(text,
			"states_") {
			t.Errorf("%s does not say %q", kind, want)
		}
		for _, want := range []string{"baseline 1,031 ms, candidate 821 ms", "took 48.6 s a session to think"} {
			if strings.Count(text, want) != 1 {
				t.Errorf("%s says %q %d times", kind, want, strings.Count(text, want))
			}
		}
	}
	page := replayText(t, ".html", r)
	if strings.Index(page, "<summary>More figures") > strings.Index(page, "Longest common path") || strings.Count(page,
		"Longest common path") != 1 {
		t.Error("the page shows a figure that decides nothing beside those that do")
	}
}
