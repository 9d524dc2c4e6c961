package view

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"rehearse/internal/replay"
	"rehearse/internal/report/lanes"
	"rehearse/internal/text"
	"rehearse/internal/view/frame"
)

// replaysPage lists the replays of the store.
type replaysPage struct {
	frame.Page
	Query frame.Query
	List  frame.List
	Rows  []replayRow
}

// replayRow is a replay in the list.
type replayRow struct {
	replay.Run
	Address, Began string
}

// maxReplays bounds how many replays are listed.
const maxReplays = 2_000

// replays answers with the replays of the store.
func (p *Pages) replays(w http.ResponseWriter, r *http.Request) {
	store, ok := p.stored(w, r)
	if !ok {
		return
	}
	page := replaysPage{Page: p.frame.Base(r, "replays", "Replays"), Query: frame.QueryOf(r, "/replays", "verdict", "page", "per")}
	var all []replay.Run
	if store != nil && store.Replays != nil {
		var err error
		if all, err = store.Replays.Runs(r.Context(), maxReplays); err != nil {
			p.away(w, r, err)
			return
		}
	}
	var fitting []replay.Run
	wanted := page.Query.Values["verdict"]
	for _, run := range all {
		if len(wanted) == 0 || slices.Contains(wanted, run.Verdict) {
			fitting = append(fitting, run)
		}
	}
	var first, last int
	page.List, first, last = page.Query.Page("replays", len(fitting))
	for _, run := range fitting[first:last] {
		page.Rows = append(page.Rows, replayRow{run, "/replays/" + frame.Segment(run.ID), when(run.Started)})
	}
	switch {
	case len(all) == 0:
		page.List.Empty = "There are no replays in the store. `rehearse replay run` plays logged sessions again, against an agent and a baseline."
	case len(fitting) == 0:
		page.List.Empty = "No replay has this verdict."
		page.List.Drop = []frame.Link{{Label: "All verdicts", Address: page.Query.With("verdict", "")}}
	}
	p.frame.Show(w, http.StatusOK, "replays", page)
}

// replayPage is one replay: what it found, and its sessions.
type replayPage struct {
	frame.Page
	Run   replay.Run
	Began string
	// Decision is what the gate decided, Headline why. Without a headline the sessions do not tell why, which the page says.
	Decision, Headline string
	// Fidelity says how like the real users the simulated one was; empty in other modes. Belief says how far the figures may be believed.
	Fidelity, Belief string
	// RulesKept is true of a replay that tells by which rules it was judged.
	RulesKept bool
	Query     frame.Query
	Metrics   []metric
	Lists     []replayList
	List      frame.List
	Sessions  []replayedSession
}

// replayList are the sessions of one of the four lists.
type replayList struct {
	Name, Label string
	Sessions    []frame.Link
	Count       int
	More        string
}

// replayedSession is a session of a replay as a list has it.
type replayedSession struct {
	ID, Outcome, Dropped, Address string
	// Diverges is the turn in which the candidate first leaves the log's path, 0 where it does not.
	Diverges           int
	Turns              int
	Baseline, Compared string // how the lanes ended: completed, not, or empty where it is not known
	lists              []string
}

// maxListed is how many sessions of one of the four lists are named.
const maxListed = 50

// replay answers with one replay.
func (p *Pages) replay(w http.ResponseWriter, r *http.Request) {
	run, found, ok := p.replayed(w, r)
	if !ok {
		return
	}
	address := "/replays/" + frame.Segment(run.ID)
	page := replayPage{Page: p.frame.Base(r, "replay", "Replay "+run.ID), Run: run, Began: when(run.Started), Metrics: storedMetrics(run, found), Decision: gateWords[run.Outcome], Headline: found.headline}
	_, page.RulesKept = run.KeptRules()
	if page.Belief = found.belief; run.Mode == replay.Simulated {
		page.Fidelity = lanes.FidelityWords(run.KeptFidelity())
	}
	page.Query = frame.QueryOf(r, address, "verdict", "diverges", "lost", "rescued", "page", "per")
	page.Trail = []frame.Link{{Label: "Replays", Address: "/replays", Up: true}}
	for _, list := range []struct{ name, label, query string }{
		{"regressed", "Regressed: ended as logged in the baseline, not in the candidate", "?verdict=regressed"},
		{"fixed", "Fixed: ended as logged in the candidate, not in the baseline", "?verdict=fixed"},
		{"lost", "Lost: completed in the log, not in the candidate", "?lost=1"}, {"rescued", "Rescued: dropped in the log, completed by the candidate", "?rescued=1"},
	} {
		shown := replayList{Name: list.name, Label: list.label}
		for _, s := range found.sessions {
			if !slices.Contains(s.lists, list.name) {
				continue
			}
			if shown.Count++; shown.Count <= maxListed {
				shown.Sessions = append(shown.Sessions, frame.Link{Label: s.ID, Address: s.Address})
			}
		}
		if shown.Count > maxListed {
			shown.More = address + list.query
		}
		page.Lists = append(page.Lists, shown)
	}
	var fitting []replayedSession
	for _, s := range found.sessions {
		if s.fits(page.Query) {
			fitting = append(fitting, s)
		}
	}
	var first, last int
	page.List, first, last = page.Query.Page("sessions", len(fitting))
	page.Sessions = fitting[first:last]
	switch {
	case len(found.sessions) == 0:
		page.List.Empty = "This replay has no sessions yet."
	case len(fitting) == 0:
		page.List.Empty = "No session fits these filters."
		page.List.Drop = []frame.Link{{Label: "All sessions", Address: address}}
	}
	p.frame.Show(w, http.StatusOK, "replay", page)
}

// fits reports whether a session is among those that a query asks for.
func (s *replayedSession) fits(q frame.Query) bool {
	if wanted := q.Values["verdict"]; len(wanted) > 0 && !slices.ContainsFunc(wanted, func(list string) bool { return slices.Contains(s.lists, list) }) {
		return false
	}
	for _, list := range []string{"lost", "rescued"} {
		if q.Get(list) != "" && q.Get(list) != "0" && !slices.Contains(s.lists, list) {
			return false
		}
	}
	switch q.Get("diverges") {
	case "":
		return true
	case "0", "no":
		return s.Diverges == 0
	}
	return s.Diverges > 0
}

// replayed returns the replay that a request names with its sessions; ok is false where it has answered that there is none.
func (p *Pages) replayed(w http.ResponseWriter, r *http.Request) (run replay.Run, found *replayedRun, ok bool) {
	store, ok := p.stored(w, r)
	if !ok {
		return run, nil, false
	}
	err := error(replay.ErrUnknown)
	if store != nil && store.Replays != nil {
		run, err = store.Replays.Run(r.Context(), frame.Part(r, "replay"))
	}
	if errors.Is(err, replay.ErrUnknown) {
		p.frame.NotFound(w, r, "There is no replay of that id in the store.", frame.Link{Label: "Replays", Address: "/replays"})
		return run, nil, false
	}
	if err == nil {
		found, err = p.replayedRuns.of(r.Context(), store, run)
	}
	if err != nil {
		p.away(w, r, err)
		return run, nil, false
	}
	return run, found, true
}

// replayedRun are the sessions of a replay as lists have them.
type replayedRun struct {
	sessions []replayedSession
	metrics  map[string]replay.MetricReport
	// headline and belief are those of the report that the sessions give.
	headline, belief string
	seen             time.Time
}

// replayedRuns keeps the sessions of replays that were looked at. It is safe for concurrent use; the zero value is empty.
type replayedRuns struct {
	mu   sync.Mutex
	kept map[string]*replayedRun
}

// maxReplayedRuns bounds how many replays are kept, maxReplayed the sessions of one.
const (
	maxReplayedRuns = 8
	maxReplayed     = 100_000
)

// of reads the sessions of a replay, unless they were read since it was last seen.
func (c *replayedRuns) of(ctx context.Context, store *Stored, run replay.Run) (*replayedRun, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept := c.kept[run.ID]; kept != nil && kept.seen.Equal(run.Seen) && !run.Ended.IsZero() {
		return kept, nil
	}
	read := &replayedRun{seen: run.Seen, metrics: map[string]replay.MetricReport{}}
	tally := &replay.Tally{}
	for outcome, err := range store.Replays.Outcomes(ctx, run.ID) {
		if err != nil {
			return nil, err
		}
		if len(read.sessions) == maxReplayed {
			break
		}
		pair, err := outcome.Pair()
		if err != nil {
			return nil, err
		}
		tally.Add(pair.Times()...)
		read.sessions = append(read.sessions, replayedSessionOf(run.ID, pair))
	}
	if len(read.sessions) > 0 {
		// Without the rules of the run the lists hold all the same, and the headline only where the default ones give what is stored.
		rules, ok := run.KeptRules()
		if !ok {
			rules = replay.DefaultRules()
		}
		report, err := tally.Report(replay.Report{Run: replay.Run{Mode: run.Mode, Gate: run.Gate}, Fidelity: run.KeptFidelity()}, rules)
		if err != nil {
			return nil, err
		}
		read.list(report.Lists)
		read.headline, read.belief = headlineOf(run, report), report.Belief
		for _, m := range report.Metrics {
			read.metrics[m.Name] = m
		}
	}
	if c.kept == nil || len(c.kept) >= maxReplayedRuns {
		c.kept = map[string]*replayedRun{}
	}
	c.kept[run.ID] = read
	return read, nil
}

func replayedSessionOf(run string, p *replay.Pair) replayedSession {
	s := replayedSession{
		ID: p.SessionID, Outcome: p.Outcome, Dropped: text.OneLine(p.Dropped, 400), Address: "/replays/" + frame.Segment(run) + "/sessions/" + frame.Segment(p.SessionID),
		Diverges: divergesAt(p.Lane(replay.Candidate)), Baseline: endOf(p.Lane(replay.Baseline)), Compared: endOf(p.Lane(replay.Candidate)),
	}
	if observed := p.Lane(replay.Observed); observed != nil {
		s.Turns = len(observed.Turns)
	}
	return s
}

// divergesAt returns the turn in which a lane first leaves the log's path; 0 where it does not, or where that is not known.
func divergesAt(l *replay.Lane) int {
	if l == nil || l.Metrics == nil || l.Metrics.FirstDivergence == nil || l.NoStates {
		return 0
	}
	return *l.Metrics.FirstDivergence
}

// endOf says how a lane ended.
func endOf(l *replay.Lane) string {
	switch {
	case l == nil || l.Error != "" || l.Endless:
		return ""
	case l.Completed:
		return "completed"
	}
	return "not completed"
}

// list notes in which of the four lists each session stands.
func (r *replayedRun) list(lists replay.Lists) {
	at := map[string]int{}
	for i, s := range r.sessions {
		at[s.ID] = i
	}
	for name, ids := range map[string][]string{"regressed": lists.Regressed, "fixed": lists.Fixed, "lost": lists.Lost, "rescued": lists.Rescued} {
		for _, id := range ids {
			if i, ok := at[id]; ok {
				r.sessions[i].lists = append(r.sessions[i].lists, name)
			}
		}
	}
}

// storedMetrics are the metrics of a replay as its row in the store has them, the ones that decide first. read says which those are.
func storedMetrics(run replay.Run, read *replayedRun) (metrics []metric) {
	for name, m := range storedFigures(run) {
		words := lanes.RowOf(name, run.Mode, replay.UnitOf(name), m.Baseline, m.Candidate, m.Difference)
		row := metric{
			Name: name, Label: words.Name, Meaning: words.Meaning, A: numberOf(m.Baseline), B: numberOf(m.Candidate),
			ShownA: cmp.Or(words.Baseline, "unknown"), ShownB: cmp.Or(words.Candidate, "unknown"), ShownDiff: cmp.Or(words.Difference, "unknown"), Interval: words.Interval,
		}
		if d := m.Difference; d != nil {
			row.Diff, row.N = frame.Plain(d.Mean), d.N
			row.Result = cmp.Or(d.Verdict, "inconclusive")
			if of, known := read.metrics[name]; known && d.Verdict == "" { // without its sessions nobody knows which direction is the good one
				row.Result = byInterval(d, of.LowerIsBetter)
			}
			if d.Low != nil && d.High != nil {
				row.Low, row.High = frame.Plain(*d.Low), frame.Plain(*d.High)
			}
			if row.Result == "inconclusive" && words.Detectable != "" {
				row.Unseen = "a loss of up to " + words.Detectable + " could have gone unnoticed"
			}
		}
		metrics = append(metrics, row)
	}
	rank := func(m metric) int {
		switch of := read.metrics[m.Name]; {
		case m.Name == replay.CompletionMatch:
			return 0
		case of.Gated:
			return 1
		case of.Guard:
			return 2
		case m.Name == "completed" || m.Name == replay.DataAccuracy:
			return 3
		case m.Diff == "":
			return 5
		}
		return 4
	}
	slices.SortFunc(metrics, func(a, b metric) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Label, b.Label)) })
	return metrics
}

// storedFigure is what the row of a replay has of a metric.
type storedFigure struct {
	Candidate, Baseline *replay.Estimate
	Difference          *replay.DifferenceReport
}

// storedFigures are the figures of the row of a replay by metric; nil where it has none.
func storedFigures(run replay.Run) (stored map[string]storedFigure) {
	if json.Unmarshal(run.Intervals, &stored) != nil {
		return nil
	}
	return stored
}

func numberOf(e *replay.Estimate) string {
	if e == nil {
		return ""
	}
	return frame.Plain(e.Value)
}

// byInterval is what an interval says of a metric that decides nothing.
func byInterval(d *replay.DifferenceReport, lowerIsBetter bool) string {
	above, below := d.Low != nil && *d.Low > 0, d.High != nil && *d.High < 0
	switch {
	case above && !lowerIsBetter || below && lowerIsBetter:
		return "better"
	case above || below:
		return "worse"
	}
	return "inconclusive"
}

// gateWords say what a gate decided.
var gateWords = map[string]string{
	string(replay.Passed): "Passed", string(replay.NotPassed): "Not passed", string(replay.CannotSay): "Cannot say",
	string(replay.NotJudgeable): "Cannot be judged from this log",
}

// headlineOf returns the headline of a replay, made anew from its sessions; empty where the figures that come out are not those that are stored,
// as after a run with rules of its own which it has not kept.
func headlineOf(run replay.Run, made *replay.Report) string {
	if made.Gate == nil || string(made.Gate.Outcome) != run.Outcome || string(made.Gate.Verdict) != run.Verdict {
		return ""
	}
	stored := storedFigures(run)
	for _, m := range made.Metrics {
		was := stored[m.Name].Difference
		if (was == nil) != (m.Difference == nil) {
			return ""
		}
		if was != nil && (!sameBound(was.Low, m.Difference.Low) || !sameBound(was.High, m.Difference.High) || !sameBound(was.MarginSize, m.Difference.MarginSize)) {
			return ""
		}
	}
	return made.Gate.Headline
}

func sameBound(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }
