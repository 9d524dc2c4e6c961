package variants_test

import (
	"fmt"
	"html"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/reporttest"
)

// plain is what a reader sees of a page, in one line.
func plain(page string) string {
	page = regexp.MustCompile(`(?s)<style>.*?</style>|<svg.*?</svg>`).ReplaceAllString(page, "")
	return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")), " ")
}

// between returns what stands between two marks.
func between(t *testing.T, s, from, to string) string {
	t.Helper()
	_, rest, ok := strings.Cut(s, from)
	part, _, found := strings.Cut(rest, to)
	if !ok || !found {
		t.Fatalf("%q to %q is not there", from, to)
	}
	return part
}

// What became of each session of the log stands in one table of every report, and so do the faults of its rows, which
// no note tells again.
func TestLogToFigures(t *testing.T) {
	for kind, wants := range map[string][]string{
		".html": {
			"read sessions with a usable event in the range 171 100%", "other flow no row names the flow 20 11.7%",
			"cut right go on behind the range 2 1.2%",
			"compared in the figures of this report 118 69.0%",
			"unknown outcome of those compared; left out of what compares ends 14 8.2%",
			"2 × unknown_sender the sender is neither user nor bot (evt-118, evt-940)",
		},
		".txt": {
			"read 171 ", "other flow 20 ", "mixed flow 1 ", "cut left 3 ", "cut right 2 ", "below min turns 10 ",
			"not sampled 15 ", "lost 2 ", "compared 118 ", "unknown outcome 14 ",
			"2 × unknown_sender the sender is neither user nor bot (evt-118, evt-940)",
		},
		".md": {"| – not sampled<br><sub>not drawn for the sample</sub> | 15 |",
			"| compared<br><sub>in the figures of this report</sub> | 118 |", "- **1 × clock"},
	} {
		read := func(r *replay.Report) string {
			said := replayText(t, kind, r)
			if kind == ".html" {
				said = plain(said)
			}
			return strings.Join(strings.Fields(said), " ")
		}
		r := replayed(t)
		said := read(r)
		for _, want := range wants {
			if !strings.Contains(said, want) {
				t.Errorf("%s does not say %q", kind, want)
			}
		}
		if strings.Contains(strings.ToLower(said), "in the log: ") || strings.Contains(said, "add up to") {
			t.Errorf("%s tells the faults twice, or that the lines do not add up", kind)
		}
		r.LogToFigures.NotSampled = 0
		if said = read(r); !strings.Contains(said, "The lines add up to 156, not to what was read.") {
			t.Errorf("%s does not say that lines are missing", kind)
		}
		r.LogToFigures = nil
		if said = read(r); strings.Contains(said, "not sampled") || !strings.Contains(said, "in the log: ") {
			t.Errorf("%s makes up what became of the sessions", kind)
		}
	}
}

// Each list of the page names every session that the JSON report has in it, and each link leads to a session that is
// there.
func TestListsNameEverySession(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		r := replayed(t)
		ids := func() (ids []string) {
			for range random.IntN(300) {
				ids = append(ids, fmt.Sprintf("visit-%04d", random.IntN(60)))
			}
			return ids
		}
		r.Lists = replay.Lists{Regressed: ids(), Fixed: ids(), Lost: ids(), Rescued: ids()}
		page, md, console := replayText(t, ".html", r), replayText(t, ".md", r), replayText(t, ".txt", r)
		for name, want := range map[string][]string{
			"regressed": r.Lists.Regressed, "fixed": r.Lists.Fixed, "lost": r.Lists.Lost, "rescued": r.Lists.Rescued,
		} {
			part := between(t, page, `id="list-`+name+`"`, "</div>")
			var got []string
			for _, entry := range regexp.MustCompile(`<bdi>([^<]*)</bdi>`).FindAllStringSubmatch(part, -1) {
				got = append(got, entry[1])
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s has %d sessions on the page, %d in JSON", name, len(got), len(want))
			}
			if !strings.Contains(part, text.Capital(name)+": "+text.Count(len(want))+"</h3>") {
				t.Errorf("%s is not counted as %d", name, len(want))
			}
			if left := len(want) - 200; left > 0 && !strings.Contains(md,
				fmt.Sprintf("… and %d more in the JSON report", left)) {
				t.Errorf("Markdown does not say that it leaves out %d of %s", left, name)
			}
			if left := len(want) - 10; left > 0 && !strings.Contains(strings.Join(strings.Fields(console), " "),
				fmt.Sprintf("… and %d more in the JSON report", left)) {
				t.Errorf("the console does not say that it leaves out %d of %s", left, name)
			}
		}
		ids2 := idsOf(page)
		for _, link := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if ids2[link[1]] != 1 {
				t.Errorf("a link leads to %q, which is there %d times", link[1], ids2[link[1]])
			}
		}
	}
}

// idsOf counts the ids of a page.
func idsOf(page string) map[string]int {
	ids := map[string]int{}
	for _, tag := range reporttest.Tags(page) {
		for _, id := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(tag, -1) {
			ids[id[1]]++
		}
	}
	return ids
}

// A list has more sessions than a page holds side by side: those without a place there have no link.
func TestListsLinkWhatThePageShows(t *testing.T) {
	r := replayed(t)
	r.Sessions[2].SessionID = r.Sessions[1].SessionID // two of one name have two places
	page := replayText(t, ".html", r)
	part := between(t, page, `id="list-regressed"`, "</div>")
	if n := strings.Count(part, "<a href="); n != 1 || !strings.Contains(part, `<a href="#session-visit-0031">`) {
		t.Errorf("%d links in %s", n, part)
	}
	for id, n := range idsOf(page) {
		if n != 1 {
			t.Errorf("the id %q is there %d times", id, n)
		}
	}
	if !strings.Contains(page, "A name without a link is not among the sessions") {
		t.Error("the page does not say why a name has no link")
	}
}

// The lost pairs are listed, and those that the report does not hold are counted.
func TestLostPairsAreListed(t *testing.T) {
	page := plain(replayText(t, ".html", replayed(t)))
	for _, want := range []string{"Left out: 2 a lane failed, so that the pair is lost names visit-0052",
		"… and 1 more in the store."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if said := told(t, replayed(t)); !strings.Contains(said,
		"Left out (a lane failed, so that the pair is lost): 2: visit-0052, … and 1 more in the store") {
		t.Error("the console does not name the lost pairs")
	}
}

// Every kind of slices adds up to the sessions that were compared, slice by slice as in the JSON report.
func TestSlicesAddUp(t *testing.T) {
	r := replayed(t)
	page := html.UnescapeString(replayText(t, ".html", r))
	sums := map[string]int{}
	for _, s := range r.Slices {
		sums[s.By] += s.Sessions
		row := fmt.Sprintf(`<th scope="row"><bdi>%s</bdi></th><td data-label="Sessions"><bdi>%d</bdi></td>`, s.Value,
			s.Sessions)
		if !strings.Contains(page, row) {
			t.Errorf("the page lacks %s %s", s.By, s.Value)
		}
	}
	for by, sum := range sums {
		if sum != r.Run.Sessions {
			t.Errorf("%s adds up to %d", by, sum)
		}
	}
	together := regexp.MustCompile(` · together 118 sessions</caption>`)
	if n := len(together.FindAllString(page, -1)); n != len(sums) {
		t.Errorf("%d of %d kinds say what they add up to", n, len(sums))
	}
	for _, want := range []string{"<b>−24.0 points [−41.0, −8.0]</b> <small>worse, told apart",
		"<bdi>0.0 points [−15.0, +15.0]"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// How sessions ended stands in the cells as in the JSON report, and those that are in no cell are counted.
func TestEndsStandInTheirCells(t *testing.T) {
	r := replayed(t)
	r.Outcomes[replay.Baseline] = replay.Ends{CompletedCompleted: 70, CompletedNot: 21, DroppedNot: 9}
	for kind, wants := range map[string][]string{
		".html": {
			"completed passed 70 failed 21 91 passed 79 failed 12 91 dropped off failed 0 passed 9 9 failed 1 " +
				"passed 12 13",
			"Not counted: 14 sessions with an unknown end in the log.",
			"Not counted: 4 sessions of which the baseline tells no end.",
		},
		".txt": {"completed ✓ 70 ✗ 21 91 ✓ 79 ✗ 12 91", "dropped off ✗ 0 ✓ 9 9 ✗ 1 ✓ 12 13", "Not counted: 4 sessions"},
		".md": {"| completed | ✅ 70 | ❌ 21 | 91 | ✅ 79 | ❌ 12 | 91 |",
			"| dropped off | ❌ 0 | ✅ 9 | 9 | ❌ 1 | ✅ 12 | 13 |",
			"Not counted: 14 sessions with an unknown end in the log"},
	} {
		said := replayText(t, kind, r)
		if kind == ".html" {
			said = plain(said)
		}
		said = strings.Join(strings.Fields(said), " ")
		for _, want := range wants {
			if !strings.Contains(said, want) {
				t.Errorf("%s does not say %q", kind, want)
			}
		}
	}
}

// A lane that cannot complete has ended no session in any way that is known.
func TestEndsOfALaneThatTellsNone(t *testing.T) {
	r := replayed(t)
	r.Outcomes[replay.Candidate] = replay.Ends{}
	for kind, want := range map[string]string{
		".html": "completed passed 88 failed 3 91 unknown unknown unknown dropped off failed 1 passed 12 13 unknown " +
			"unknown unknown",
		".txt": "completed ✓ 88 ✗ 3 91 unknown unknown unknown",
		".md":  "| completed | ✅ 88 | ❌ 3 | 91 | unknown | unknown | unknown |",
	} {
		said := replayText(t, kind, r)
		if kind == ".html" {
			said = plain(said)
		}
		if said = strings.Join(strings.Fields(said), " "); !strings.Contains(said, want) || !strings.Contains(said,
			"104 sessions of which the candidate tells no end") {
			t.Errorf("%s does not say %q", kind, want)
		}
	}
}

// simulated is a report of simulated mode whose sessions were replayed three times.
func simulated(t *testing.T) *replay.Report {
	r := replayed(t)
	r.Run.Mode = replay.Simulated
	for i := range r.Sessions {
		r.Sessions[i].Mode, r.Sessions[i].Repeat = replay.Simulated, 1
	}
	r.Reliability = "A simulated user spoke from the first message on that did not fit: " +
		"12 of 590 turns of the candidate are simulated."
	r.Fidelity = &replay.Fidelity{Kinds: 0.91, Fields: 0.64, Length: 0.97, End: 0.82, Overall: 0.64, Minimum: 0.7,
		Sessions: 118}
	r.Simulated = map[string]replay.SimulatedTurns{replay.Candidate: {Messages: 590, Simulated: 12, Invented: 3,
		Unvisited: 2}}
	r.Repeats = &replay.Repeats{K: 3, Variance: []replay.RepeatVariance{
		{Variant: replay.Candidate, Metric: replay.CompletionMatch, Mean: 0.875, Model: 0.01, Session: new(0.03)},
		{Variant: replay.Baseline, Metric: replay.CompletionMatch, Mean: 0.962, Model: 0.04},
		{Variant: replay.Candidate, Metric: "tokens", Mean: 1834, Model: 0, Session: new(0.0)},
	}, PassHatK: map[string]map[string]float64{replay.Candidate: {"1": 0.72, "2": 0.66, "3": 0.61},
		replay.Baseline: {"1": 0.8, "3": 0.75}}}
	return r
}

func TestSimulatedRepeatsAreTold(t *testing.T) {
	for kind, wants := range map[string][]string{
		".html": {
			"Its fidelity is 0.64, and 0.7 is needed for a verdict.", "Fields the logged data is given 0.64",
			"Candidate 590 12 (2.0%) 3 (0.5%) 2 (0.3%)",
			"Each session was played 3 times in each lane", "Candidate 72.0% 66.0% 61.0%",
			"Baseline 80.0% unknown 75.0%",
			"Completion match Baseline 96.2% 20.0 points unknown unknown",
			"Completion match Candidate 87.5% 10.0 points 17.3 points 25.0%",
			"1 more figure in which nothing varies", "Replay 1 of 3 of this session.",
			"at least half of its 3 replays completed",
			"ended as in the log more often with the baseline than with the candidate",
			"in fewer than half of the replays by the candidate",
		},
		".txt": {
			"Its fidelity is 0.64, and 0.7 is needed", "Fields 0.64", "Candidate 590 12 (2.0%) 3 (0.5%) 2 (0.3%)",
			"Baseline 80.0% unknown 75.0%", "Completion match Baseline 96.2% 20.0 points unknown unknown",
		},
		".md": {"Its fidelity is 0.64", "| Candidate | 72.0% | 66.0% | 61.0% |",
			"| Completion match | Candidate | 87.5% | 10.0 points | 17.3 points | 25.0% |"},
	} {
		said := replayText(t, kind, simulated(t))
		if kind == ".html" {
			said = plain(said)
		}
		said = strings.Join(strings.Fields(said), " ")
		for _, want := range wants {
			if !strings.Contains(said, want) {
				t.Errorf("%s does not say %q", kind, want)
			}
		}
	}
}

// A comment holds so much and no more: what does not fit is named.
func TestMarkdownNamesWhatDoesNotFit(t *testing.T) {
	r := simulated(t)
	long := make([]string, 400)
	for i := range long {
		long[i] = fmt.Sprintf("%0110d", i)
	}
	r.Lists = replay.Lists{Regressed: long, Fixed: long, Lost: long, Rescued: long}
	for i := range r.Metrics {
		r.Metrics[i].Gated = true
	}
	md := replayText(t, ".md", r)
	if len(md) > text.MaxComment || !strings.Contains(md,
		"Left out, since a comment has a limit: Sessions to look at. The other reports have them.") {
		t.Errorf("%d bytes of Markdown:\n%.3000s", len(md), md)
	}
	if !strings.Contains(md, "replay run 0d9b3c1e") || !strings.Contains(md, "### Slices") {
		t.Error("what fits behind it is not there")
	}
}

// TestLoggedStates checks that every report names where the states of the log were read, and begins with the warning
// that the log does not match itself.
func TestLoggedStates(t *testing.T) {
	for kind, begin := range map[string]string{".txt": "Warning: The log against itself",
		".md": "> ⚠️ **Warning:** The log against itself", ".html": "", ".json": ""} {
		r := replayed(t)
		r.States = &replay.LoggedStates{Sources: map[replay.StateSource]int{replay.FromBotNext: 12},
			SelfMatch: new(1.0), Sessions: 3}
		said := replayText(t, kind, r)
		source := "next_state of the bot's row (12 turns). The log against itself: 100%"
		switch kind {
		case ".json":
			source = `"bot_next_state": 12`
		case ".html":
			said = html.UnescapeString(plain(said))
		}
		if flat := strings.ReplaceAll(strings.Join(strings.Fields(said), " "),
			`\_`, "_"); !strings.Contains(flat, source) || strings.Contains(flat, "Warning") {
			t.Errorf("%s does not name the source alone", kind)
		}
		r.States.SelfMatch, r.States.Below, r.States.Examples = new(0.5), 2, []string{"s1", "s2"}
		said = replayText(t, kind, r)
		switch {
		case kind == ".html":
			warned, hero := strings.Index(said, "The log against itself has"), strings.Index(said, `class="hero`)
			if warned < 0 || warned > hero {
				t.Errorf("%s has the warning at %d, the decision at %d", kind, warned, hero)
			}
		case !strings.HasPrefix(said, begin):
			t.Errorf("%s begins with %.100q", kind, said)
		}
	}
}
