package replay_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// critic is a judge whose verdict a function gives: the score of the candidate.
type critic func(candidate, baseline string) (float64, error)

func (c critic) Decide(_ context.Context, q grader.Question) (grader.Verdict, error) {
	if q.Mode != grader.Compare {
		return grader.Verdict{}, errors.New("replies are compared")
	}
	score, err := c(q.Output, q.Other)
	return grader.Verdict{Score: score, Reasoning: "it is so"}, err
}

// TestRepliesAreCompared checks what a verdict on the replies counts as, and that none is never a win.
func TestRepliesAreCompared(t *testing.T) {
	other := map[string]string{"hello/book": "where", "where/Rome": "elsewhere"}
	for name, tc := range map[string]struct {
		moves map[string]string
		judge critic
		want  string
		win   *float64
	}{
		"a win":  {other, func(string, string) (float64, error) { return 1, nil }, replay.Candidate, new(1.0)},
		"a loss": {other, func(string, string) (float64, error) { return 0, nil }, replay.Baseline, new(0.0)},
		"a tie":  {other, func(string, string) (float64, error) { return 0.5, nil }, replay.PrefersNone, new(0.5)},
		"no verdict": {other, func(string, string) (float64, error) {
			return 0, errors.New("not JSON")
		}, replay.PrefersUnknown, nil},
		"equal replies": {booking, func(string, string) (float64, error) {
			return 0, errors.New("they are equal")
		}, replay.PrefersNone, new(0.5)},
		"what it reads": {other, func(candidate, baseline string) (float64, error) {
			want := `{"user":"book","agent":"in where"}` + "\n" + `{"user":"Rome","agent":"in `
			if !strings.HasPrefix(candidate, want+`elsewhere"}`) || !strings.HasPrefix(baseline, want+`when"}`) {
				return 0, fmt.Errorf("it reads %s and %s", candidate, baseline)
			}
			return 1, nil
		}, replay.Candidate, new(1.0)},
	} {
		r := &replay.Replayer{
			Candidate: &scripted{moves: tc.moves}, Baseline: &scripted{moves: booking}, Mode: replay.Recorded,
			Judge: tc.judge,
		}
		s := talked("s", "hello book → where", "where Rome → when", "when May → bye")
		h, err := r.Run(t.Context(), s, replay.Measuring{Side: replay.After})
		if err != nil {
			t.Fatal(err)
		}
		was, is := h.Pair.Variation(replay.Baseline).Metrics, h.Pair.Variation(replay.Candidate).Metrics
		if p := h.Pair.Preference; p == nil || p.Prefers != tc.want || (is.ReplyWinRate == nil) != (tc.win == nil) ||
			tc.win != nil && *is.ReplyWinRate != *tc.win || *was.ReplyWinRate != 0.5 {
			t.Errorf("%s: %+v, win rate %v", name, p, is.ReplyWinRate)
		}
		if is.ReplySimilarity == nil || (*is.ReplySimilarity == 1) != (name == "equal replies") {
			t.Errorf("%s: reply similarity %v", name, is.ReplySimilarity)
		}
	}
}

// TestRepliesAtTheGate checks that replies which the judge likes less fail a candidate, and those without a verdict
// never pass one.
func TestRepliesAtTheGate(t *testing.T) {
	for name, tc := range map[string]struct {
		win     func(i int) *float64
		byOrder bool
		want    replay.Decision
	}{
		"ties":            {func(int) *float64 { return new(0.5) }, false, replay.Passed},
		"by order":        {func(int) *float64 { return new(0.5) }, true, replay.Underpowered},
		"as many of both": {func(i int) *float64 { return new(float64(i % 2)) }, false, replay.Passed},
		"wins":            {func(i int) *float64 { return new(min(1, float64(i%4))) }, false, replay.Passed},
		"losses":          {func(i int) *float64 { return new(float64(i % 4 / 3)) }, false, replay.NotPassed},
		"often no verdict": {func(i int) *float64 {
			return [...]*float64{nil, new(1.0)}[min(1, i%10)]
		}, false, replay.Underpowered},
		"never a verdict": {func(int) *float64 { return nil }, false, replay.Underpowered},
	} {
		r := gateRun{n: 400, change: func(i int, p *replay.Pair, was, is *replay.Metrics) {
			was.ReplyWinRate, is.ReplyWinRate = new(0.5), tc.win(i)
			p.Preference = &replay.Preference{Prefers: replay.PrefersNone}
			p.Preference.ByOrder = tc.byOrder
			if is.ReplyWinRate == nil {
				p.Preference.Prefers = replay.PrefersUnknown
			}
		}, rules: func(rules *replay.Rules) { rules.Judged = true }}.report(t)
		agree(t, r)
		about := tc.want == replay.Passed || len(r.Gate.Reasons) == 1 && r.Gate.Reasons[0].Metric == replay.ReplyWinRate
		if r.Gate.Outcome != tc.want || !about {
			t.Errorf("%s: %s", name, r.Gate.Headline)
		}
		if unjudged := strings.Contains(r.Gate.Headline, replay.Unjudged); unjudged {
			t.Errorf("%s: %s", name, r.Gate.Headline)
		}
	}
	if r := (gateRun{n: 400}).report(t); !strings.HasPrefix(r.Gate.Headline, "Passed: "+replay.Unjudged) {
		t.Errorf("without a judge: %s", r.Gate.Headline)
	}
}
