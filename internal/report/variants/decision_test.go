package variants_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Whether to ship, why, what could have gone unseen and which rule decided follow from the gate's outcome. The heading
// of the Markdown report has
// its sign.
func TestDecision(t *testing.T) {
	reason := func(code, metric, text string) []replay.Reason {
		return []replay.Reason{{Code: code, Metric: metric, Text: text}}
	}
	for name, tc := range map[string]struct {
		outcome replay.Decision
		reasons []replay.Reason
		change  func(r *replay.Report)
		heading string
		word    string
		want    []string
	}{
		"passed": {replay.Passed, nil, func(r *replay.Report) {
			r.Run.Verdict, r.Metrics[0].Difference.Verdict = "non_inferior", "non_inferior"
		}, "## ✅ ", replay.Unjudged, []string{
			"Each metric by itself, the candidate is better in turn count ratio and average latency, and non-inferior",
			"too little to call the candidate better",
			"A loss of up to 8.1 points of completion match could have gone unnoticed in a run of this size. " +
				"In this one, the interval of the difference, [−15.0, −2.9], holds no loss beyond the margin.",
			"2 of 120 pairs lost: 2 by the candidate.",
		}},
		"passed and judged": {replay.Passed, nil, func(r *replay.Report) {
			r.Replies = &replay.Preferences{Wins: 3, Losses: 2, Ties: 5, Unknown: 1}
		}, "## ✅ ", "Ship", []string{"Replies: which the judge prefers", "the judge gave no verdict 1"}},
		"passed without a verdict": {replay.Passed, nil, func(r *replay.Report) {
			r.Replies = &replay.Preferences{Unknown: 11}
		}, "## ✅ ", replay.Unjudged, nil},
		"worse": {replay.NotPassed, reason("worse", "ended_early", "ended_early is worse: 15.4 points higher"), nil,
			"## ❌ ", "Do not ship", []string{
				"Ended early is worse: 15.4 points higher.", "No metric or guard is worse decided here",
				"not asked any more",
			}},
		"lost": {replay.NotPassed, reason("lost_pairs", "",
			"9 of 120 pairs lost because a lane failed (candidate 9); at most 2 % may be"), nil, "## ❌ ", "Do not ship",
			[]string{
				"9 of 120 pairs lost because a lane failed", "At most 2.0% of the pairs are lost decided here",
			}},
		"support": {
			replay.NotJudgeable, reason("support", "",
				"only 24.2 % of the logged messages answer what the candidate had asked"), nil,
			"## ⚠️ ", "Cannot say: this log cannot judge it",
			[]string{
				"Replay it with --mode forced or --mode simulated.",
				"At least 50.0% of the logged messages fit each lane decided here",
			},
		},
		"power": {
			replay.Underpowered, reason("power", "completion_match",
				"a loss of up to 8.1 points could have gone unnoticed; take --margin completion_match=9pp"),
			func(r *replay.Report) { r.Metrics[0].Difference.Verdict = "inconclusive" }, "## ⚠️ ", "Cannot say",
			[]string{
				"take --margin completion_match=9pp.", "would have been found with probability 0.8 decided here",
				"A loss of up to 8.1 points of completion match could have gone unnoticed; " +
					"more than 5.0 points matters.",
			},
		},
		"not shown": {
			replay.NotPassed, reason("not_shown", "",
				"the candidate is not shown to be better, as --require better asks"),
			func(r *replay.Report) { r.Gate.Require = replay.Better }, "## ❌ ", "Do not ship",
			[]string{"What --require asks for is shown decided here"},
		},
		"broken off": {replay.Passed, nil, func(r *replay.Report) { r.Run.Status = replay.Partially }, "## ⚠️ ",
			"Cannot say: the run was broken off", nil},
		"twice": {replay.Passed, nil, func(r *replay.Report) { r.AA = true }, "## ✅ ",
			"The same variant twice: what differs is noise", nil},
	} {
		r := replayed(t)
		r.Gate.Outcome, r.Gate.Reasons = tc.outcome, tc.reasons
		if tc.outcome == replay.Passed {
			r.Gate.Verdict = "non_inferior"
		}
		if tc.change != nil {
			tc.change(r)
		}
		page := replayText(t, ".html", r)
		if !strings.Contains(page, "<h1>"+tc.word+"</h1>") {
			t.Errorf("%s: the page does not begin with %q", name, tc.word)
		}
		if md := replayText(t, ".md", r); !strings.HasPrefix(md, tc.heading) {
			t.Errorf("%s: Markdown begins with %.40q", name, md)
		}
		said := plain(page)
		for _, want := range tc.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: the page does not say %q", name, want)
			}
		}
		if rules := strings.Count(said, "decided here"); tc.reasons == nil && rules > 0 || tc.reasons != nil &&
			rules != 1 {
			t.Errorf("%s: %d rules decided", name, rules)
		}
	}
}

// The loss that could have gone unseen is told of the first metric that decides where completion match does not apply,
// and is not made up.
func TestUnseenLoss(t *testing.T) {
	r := replayed(t)
	delete(r.Gate.Unseen, replay.CompletionMatch)
	ratio := r.Metrics[1].Difference
	for _, tc := range []struct {
		loss    *float64
		changed int
		want    string
	}{
		{new(0.045), 9, "A loss of up to 0.045 of turn count ratio could have gone unnoticed"},
		{nil, 9, "No loss of turn count ratio would have been noticed, however large."},
		{nil, 0, "It is not known what loss of turn count ratio could have gone unnoticed: no session differs in it."},
	} {
		r.Gate.Unseen[replay.TurnCountRatio] = replay.Unseen{Loss: tc.loss, Margin: 0.1}
		if ratio.Changed = tc.changed; tc.changed == 0 {
			ratio.Mean = 0
		}
		if said := told(t, r); !strings.Contains(said, tc.want) {
			t.Errorf("the console does not say %q", tc.want)
		}
	}
}

// In no mode does a report say what holds in another one.
func TestTextsAreTrueInTheirMode(t *testing.T) {
	for mode, tc := range map[replay.Mode]struct{ says, never []string }{
		replay.Recorded: {[]string{"answers what was asked there", "leaves the log’s path", "fit each lane"},
			[]string{"simulated user", "first misses", "could not be taken"}},
		replay.Forced: {
			[]string{"the agent could take it", "first misses the logged state",
				"each message was said in its logged state", "not supported: it could not be taken"},
			[]string{"answers what was asked", "leaves the log’s path", "simulated user", "fit each lane",
				"stayed on the log"},
		},
		replay.Simulated: {[]string{"a simulated user speaks", "leaves the log’s path", "is like the real ones"},
			[]string{"fit each lane", "could not be taken"}},
	} {
		r := replayed(t)
		if mode == replay.Simulated {
			r = simulated(t)
		}
		r.Run.Mode, r.Reliability = mode, ""
		for i := range r.Sessions {
			r.Sessions[i].Mode = mode
		}
		for _, kind := range []string{".html", ".md", ".txt"} {
			said := replayText(t, kind, r)
			if kind == ".html" {
				said = plain(said)
			}
			for _, want := range tc.says {
				if kind == ".html" && !strings.Contains(said, want) {
					t.Errorf("%s%s does not say %q", mode, kind, want)
				}
			}
			for _, never := range tc.never {
				if strings.Contains(said, never) {
					t.Errorf("%s%s says %q", mode, kind, never)
				}
			}
		}
	}
}

// A rule of the gate whose figures are not known, or that was not asked, has not been passed.
func TestRulesThatWereNotAskedAreNotPassed(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(r *replay.Report)
		rule   string
	}{
		"support": {func(r *replay.Report) { r.Gate.Support[replay.Baseline] = nil },
			"At least 50.0% of the logged messages fit each lane"},
		"power": {func(r *replay.Report) { r.Gate.Unseen = nil },
			"A loss that matters would have been found with probability 0.8"},
		"harm": {func(r *replay.Report) {
			for i := range r.Metrics {
				r.Metrics[i].Difference = nil
			}
		}, "No metric or guard is worse"},
		"beyond": {func(r *replay.Report) {
			r.Gate.Outcome, r.Gate.Reasons = replay.NotPassed, []replay.Reason{{Code: "worse",
				Metric: "completion_match", Text: "completion_match is worse"}}
		}, "What --require asks for is shown"},
	} {
		r := replayed(t)
		r.Gate.Outcome, r.Gate.Reasons = replay.Passed, nil
		tc.change(r)
		if md := replayText(t, ".md", r); !strings.Contains(md, "| ➖ "+tc.rule) {
			t.Errorf("%s is told as passed: %s", name, between(t, md, "| The gate", "<sub>"))
		}
	}
}

// A loss that could have gone unnoticed is said once at the top: beside it the reason says the ways out.
func TestUnseenLossIsSaidOnce(t *testing.T) {
	r := replayed(t)
	r.Gate.Outcome, r.Metrics[0].Difference.Verdict = replay.Underpowered, "inconclusive"
	r.Gate.Reasons = []replay.Reason{{Code: "power", Metric: replay.CompletionMatch,
		Text: "a loss of up to 8.1 points of completion match could have gone unnoticed, " +
			"and more than 5.0 points matters; about 306 sessions would decide it, " +
			"or take --margin completion_match=8.1pp"}}
	top := plain(between(t, replayText(t, ".html", r), "<h1>", "May it be believed"))
	if n := strings.Count(top, "8.1 points"); n != 1 || !strings.Contains(top,
		"The log is too small to tell: about 306 sessions would decide it, or take --margin completion_match=8.1pp.") {
		t.Errorf("%d times: %s", n, top)
	}
}

// The large figure at the top does not hide that pairs were lost: it is over those that were compared.
func TestFigureAtTheTopTellsLostPairs(t *testing.T) {
	r := replayed(t)
	r.Lost = replay.Lost{Candidate: 48, Share: 0.25}
	m := metric(t, r, replay.CompletionMatch)
	m.Candidate.N = 142
	page := plain(replayText(t, ".html", r))
	if want := "of 142 sessions ended as in the log"; !strings.Contains(page, want) {
		t.Errorf("the page does not say %q", want)
	}
	if want := "48 lost pairs are not among them"; !strings.Contains(page, want) {
		t.Errorf("the page does not say %q", want)
	}
	r.Lost = replay.Lost{}
	if page := replayText(t, ".html", r); strings.Contains(page, "lost pairs are not among them") {
		t.Error("the page tells of lost pairs where there are none")
	}
}

// Whoever reads that a run has passed is told that no metric has read the words.
func TestWordsAreNotJudged(t *testing.T) {
	const says = "What was said is not judged"
	r := replayed(t)
	for _, kind := range []string{".html", ".md", ".txt"} {
		if strings.Contains(replayText(t, kind, r), says) {
			t.Errorf("%s: a run that is not passed says %q", kind, says)
		}
	}
	r.Gate.Outcome, r.Gate.Reasons = replay.Passed, []replay.Reason{}
	for _, kind := range []string{".html", ".md", ".txt"} {
		if said := strings.Join(strings.Fields(replayText(t, kind, r)), " "); !strings.Contains(said, says) {
			t.Errorf("%s: a run that is passed does not say %q", kind, says)
		}
	}
}
