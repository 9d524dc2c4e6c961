package variants_test

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/reporttest"
	"github.com/rehearse-dev/rehearse/internal/report/variants"
	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
)

// replayed is a report made by hand: three sessions, of which one stays on the log's path, one leaves it and one was
// left out.
func replayed(t *testing.T) *replay.Report {
	t.Helper()
	text, err := os.ReadFile("testdata/report.json")
	if err != nil {
		t.Fatal(err)
	}
	var r replay.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// metric returns a metric of a report to change.
func metric(t *testing.T, r *replay.Report, name string) *replay.MetricReport {
	t.Helper()
	for i := range r.Metrics {
		if r.Metrics[i].Name == name {
			return &r.Metrics[i]
		}
	}
	t.Fatalf("no metric %s", name)
	return nil
}

// replayWriters are all renderings of a replay run, by the end of their files' names.
var replayWriters = map[string]func(io.Writer, *replay.Report) error{
	".json": variants.JSON, ".txt": variants.Text, ".md": variants.Markdown, ".html": variants.HTML,
}

func replayText(t *testing.T, kind string, r *replay.Report) string {
	t.Helper()
	return reporttest.Rendered(t, func(w io.Writer) error { return replayWriters[kind](w, r) })
}

func TestReplayGolden(t *testing.T) {
	for _, kind := range []string{".json", ".txt", ".html"} {
		golden.Compare(t, "report"+kind, replayText(t, kind, replayed(t)))
	}
}

// shorn returns the report of a run that compared the candidate with the log alone.
func shorn(t *testing.T) *replay.Report {
	r := replayed(t)
	r.Baseline, r.Spec, r.Passed, r.Run.Verdict, r.Gate, r.Slices = nil, nil, nil, "", nil, nil
	delete(r.Outcomes, replay.Baseline)
	r.Lists.Regressed, r.Lists.Fixed = nil, nil
	for i := range r.Metrics {
		m := &r.Metrics[i]
		m.Baseline, m.BaselineOnSupport, m.Difference = nil, nil, nil
	}
	for i := range r.Sessions {
		p := &r.Sessions[i]
		var lanes []replay.Variation
		for _, l := range p.Variations {
			if l.Name != replay.Baseline {
				lanes = append(lanes, l)
			}
		}
		p.Variations = lanes
	}
	return r
}

// unusual are reports that lack what most have.
func unusual(t *testing.T) map[string]*replay.Report {
	t.Helper()
	twice := replayed(t)
	twice.AA = true
	broken := replayed(t)
	broken.Run.Status, broken.Run.Verdict, broken.Run.Error = replay.Partially, "inconclusive", "interrupted"
	broken.Gate.Outcome, broken.Gate.Reasons, broken.Gate.Headline = replay.Passed, nil, "Passed: no metric is worse"
	failed := &replay.Report{Run: replay.Run{Status: replay.Failed, Error: "the store is gone"}}
	return map[string]*replay.Report{
		"alone": shorn(t), "twice": twice, "broken": broken, "failed": failed, "empty": {Run: replay.Run{ID: "e",
			Status: replay.Done}},
	}
}

func TestReplayOfUnusualRuns(t *testing.T) {
	want := map[string]string{
		"alone": "Replayed against the log alone", "twice": "The same variant twice: what differs is noise",
		"broken": "Passed: no metric is worse, but the run was broken off",
		"failed": "The run failed", "empty": "No sessions were compared",
	}
	for name, r := range unusual(t) {
		for kind := range replayWriters {
			text := replayText(t, kind, r)
			if kind != ".json" && !strings.Contains(strings.ToLower(text), strings.ToLower(want[name])) {
				t.Errorf("%s%s lacks %q:\n%.2000s", name, kind, want[name], text)
			}
		}
	}
}

func TestReplayConsoleBlock(t *testing.T) {
	none := replayText(t, ".txt", unusual(t)["empty"])
	want := "\nConversation Replay Evaluation Results:\n  Sessions evaluated: 0\n  Completion match: n/a\n" +
		"  Avg turn count ratio: n/a\n  State progression match: n/a\n  Avg latency: n/a\n\n"
	if !strings.Contains(none, want) || !strings.HasSuffix(none, "\nEvaluation completed: e\n") {
		t.Errorf("a run without sessions is told as\n%s", none)
	}
	full := replayText(t, ".txt", replayed(t))
	want = "\n  Comparison with baseline:\n    Passed: False\n    Pass ratio: 50.00%\n"
	if !strings.Contains(full, want) {
		t.Errorf("the comparison is not told as the specification says:\n%s", full)
	}
	for line := range strings.Lines(full) {
		if n := runewidth.StringWidth(strings.TrimSuffix(line, "\n")); n > 120 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// What is not known is said to be so, never left out and never 0.
func TestReplayOfWhatIsNotKnown(t *testing.T) {
	r := replayed(t)
	r.Metrics[0].Difference.Low = nil
	r.Metrics[2].Difference.Detectable = new(0.0)
	r.Metrics[3].Difference.Verdict = "non_inferior"
	coverage := metric(t, r, replay.SupportCoverage)
	coverage.Candidate, coverage.Difference = nil, nil
	r.Run.SupportCoverage, r.Spec = nil, nil
	for kind, wants := range map[string][]string{
		".txt": {
			"[−∞, −2.9]", "no variation", "Non-inferior: whatever the candidate loses is within the margin",
			"    Passed: n/a\n    Pass ratio: n/a\n",
		},
		".md":   {"\\[−∞, −2.9\\]", "no variation", "Non-inferior: "},
		".html": {"[−∞, −2.9]", "no variation", "Non-inferior: ", "not compared"},
	} {
		text := replayText(t, kind, r)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", kind, want)
			}
		}
	}
}

// The candidate is faster by 213 ms: the number is negative, the drawing speaks for it.
func TestReplayForestPointsToTheBetter(t *testing.T) {
	page := replayText(t, ".html", replayed(t))
	for metric, right := range map[string]bool{"Completion match": false, "Average latency": true,
		"Turn count ratio": true} {
		row := regexp.MustCompile(`(?s)<bdi>` + metric + `</bdi> <small>.*?class="dot" d="M([0-9.]+) `).
			FindStringSubmatch(page)
		if row == nil {
			t.Fatalf("%s is not drawn", metric)
		}
		if at, err := strconv.ParseFloat(row[1], 64); err != nil || (at > 100) != right {
			t.Errorf("%s is drawn at %s", metric, row[1])
		}
	}
}

// The margin is drawn as large as the report says it is, and only on the side of a loss; what is known of supported
// turns is drawn below.
func TestReplayForestDrawsMarginAndSupport(t *testing.T) {
	r := replayed(t)
	r.Metrics[0].Difference.MarginSize = new(0.075)   // half of how far the interval reaches
	r.Metrics[1].Difference.MarginSize = new(10.0)    // far beyond
	r.Metrics[2].DifferenceOnSupport.High = new(30.0) // so is this
	r.Metrics[3].Difference.MarginSize = nil
	page := replayText(t, ".html", r)
	row := func(metric string) string {
		_, rest, _ := strings.Cut(page, `<th scope="row"><bdi>`+metric+"</bdi>")
		drawn, _, _ := strings.Cut(rest, "</svg>")
		return drawn
	}
	for metric, wants := range map[string][]string{
		"Completion match": {
			`class="margin" d="M54 0H100`, `class="reach light" d="M62.59 23H112.88"`, `class="ring" d="M87.73 23h0"`,
		},
		"Turn count ratio":        {`class="margin" d="M0 0H100`},
		"State progression match": {`H200"/><path class="end light" d="M`, `class="ring"`},
	} {
		for _, want := range wants {
			if !strings.Contains(row(metric), want) {
				t.Errorf("%s lacks %s: %s", metric, want, row(metric))
			}
		}
	}
	for _, metric := range []string{"Average latency", "Support coverage"} {
		if strings.Contains(row(metric), `class="margin"`) {
			t.Errorf("%s has a margin: %s", metric, row(metric))
		}
	}
}

// hostileReplay returns a report in which every text from a log, a model or a store tries to act.
func hostileReplay(t *testing.T) *replay.Report {
	t.Helper()
	attack := `"'><script>alert(12)</script><img src=x onerror=alert(13)>javascript:alert(14)` +
		"\x1b[31m\u202e | `x` @everyone"
	r := replayed(t)
	r.Run.ID, r.Run.FlowID, r.Run.DatasetVersion, r.Run.Error, r.Run.Gate = attack, attack, attack, attack, attack
	r.Run.Mode, r.Run.Status = replay.Mode(attack), replay.Status(attack)
	r.Candidate = replay.Replayed{ID: attack, Name: attack, FlowID: attack, Prompt: attack, Model: attack}
	*r.Baseline = r.Candidate
	r.Metrics[0].Difference.Margin, r.Metrics[1].Difference.Verdict = attack, attack
	exhausted := metric(t, r, "user_turns_exhausted")
	exhausted.Name, exhausted.Unit = attack, replay.Unit(attack)
	hostileParts(r, attack)
	r.Notes = append(r.Notes, replay.Note{Text: attack, Count: 1, Examples: []string{attack}})
	for i := range r.Sessions {
		p := &r.Sessions[i]
		p.SessionID, p.FlowID = attack, attack
		if p.Dropped != "" {
			p.Dropped, p.Outcome = attack, attack
		}
		for j := range p.Variations {
			l := &p.Variations[j]
			l.Data = map[string]any{attack: attack, "n": []any{attack, map[string]any{attack: 1}}, l.Name: nil}
			for k := range l.Turns {
				turn := &l.Turns[k]
				turn.User, turn.Bot = attack, attack+l.Name
				turn.Before, turn.State = attack, attack+l.Name
			}
		}
	}
	return r
}

// hostileParts puts the text into the gate, the lists, the slices and the other parts of a report.
func hostileParts(r *replay.Report, attack string) {
	g := r.Gate
	g.Headline, g.Name, g.Require, r.Reliability = attack, attack, replay.Requirement(attack), attack
	g.Reasons = []replay.Reason{{Code: attack, Metric: attack, Text: attack}, {Code: "worse", Metric: attack,
		Text: attack}}
	r.Lists = replay.Lists{Regressed: []string{attack, "visit-1"}, Fixed: []string{attack}, Lost: []string{attack},
		Rescued: []string{attack}}
	for i := range r.Slices {
		r.Slices[i].Value = attack
	}
	r.Slices[0].By = attack
	r.LogToFigures.RowFaults[0] = replay.RowFault{Kind: attack, Count: 1, Examples: []string{attack}}
	r.Metrics[0].Difference.Method = attack
	r.Repeats = &replay.Repeats{K: 2, Variance: []replay.RepeatVariance{{Variant: attack, Metric: attack, Mean: 1,
		Model: 1}}}
	for i := range r.Sessions {
		for j := range r.Sessions[i].Variations {
			r.Sessions[i].Variations[j].Error = attack
		}
	}
}
