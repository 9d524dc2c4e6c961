package pages

import (
	"errors"
	"net/http"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/variants"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
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
	page := replaysPage{
		Page: p.frame.Base(r, "replays", "Replays"), Query: frame.QueryOf(r, "/replays", "verdict", "page", "per"),
	}
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
		page.List.Empty = "There are no replays in the store. `rehearse replay run` plays logged sessions again, " +
			"against an agent and a baseline."
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
	// Decision is what the gate decided, Headline why. Without a headline the sessions do not tell why, which the page
	// says.
	Decision, Headline string
	// Fidelity says how like the real users the simulated one was; empty in other modes. Reliability how far the
	// figures may be believed.
	Fidelity, Reliability string
	// HasRules is true of a replay with the rules of its gate.
	HasRules bool
	Query    frame.Query
	Metrics  []metric
	Lists    []replayList
	List     frame.List
	Sessions []replayedSession
}

// replayList are the sessions of one of the lists.
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

// maxListed is how many sessions of one of the lists are named.
const maxListed = 50

// replay answers with one replay.
func (p *Pages) replay(w http.ResponseWriter, r *http.Request) {
	run, found, ok := p.replayed(w, r)
	if !ok {
		return
	}
	address := "/replays/" + frame.Segment(run.ID)
	page := replayPage{
		Page: p.frame.Base(r, "replay", "Replay "+run.ID), Run: run, Began: when(run.Started),
		Metrics: storedMetrics(run, found), Decision: gateWords[run.Outcome], Headline: found.headline,
	}
	_, page.HasRules = run.StoredRules()
	if page.Reliability = found.belief; run.Mode == replay.Simulated {
		page.Fidelity = variants.FidelityWords(run.StoredFidelity())
	}
	page.Query = frame.QueryOf(r, address, "verdict", "diverges", "lost", "rescued", "page", "per")
	page.Trail = []frame.Link{{Label: "Replays", Address: "/replays", Up: true}}
	for _, list := range []struct{ name, label, query string }{
		{"newly-lost", "Newly lost: completed by the baseline, not by the candidate", "?verdict=newly-lost"},
		{"regressed", "Regressed: ended as logged in the baseline, not in the candidate", "?verdict=regressed"},
		{"fixed", "Fixed: ended as logged in the candidate, not in the baseline", "?verdict=fixed"},
		{"lost", "Lost: completed in the log, not in the candidate", "?lost=1"},
		{"rescued", "Rescued: dropped in the log, completed by the candidate", "?rescued=1"},
		{"censored", "Censored: completed in the log, waits for an answer in a replay", "?verdict=censored"},
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
	fits := replayFilters(page.Query)
	for _, s := range found.sessions {
		if fits.all(s, "") {
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
		page.List.Empty, page.List.Drop = "No session fits these filters.", dropped(page.Query, fits, found.sessions)
	}
	p.frame.Show(w, http.StatusOK, "replay", page)
}

// replayFilters are the filters of the sessions of a replay.
func replayFilters(q frame.Query) (fs filters[replayedSession]) {
	in := func(s replayedSession, list string) bool { return slices.Contains(s.lists, list) }
	fs.add(q, "verdict", in)
	yesOrNo := func(name string, is func(replayedSession) bool) {
		fs.add(q, name, func(s replayedSession, value string) bool {
			switch value {
			case "yes", "1", "true":
				return is(s)
			case "no", "0", "false":
				return !is(s)
			}
			return false
		})
	}
	yesOrNo("lost", func(s replayedSession) bool { return in(s, "lost") })
	yesOrNo("rescued", func(s replayedSession) bool { return in(s, "rescued") })
	yesOrNo("diverges", func(s replayedSession) bool { return s.Diverges > 0 })
	return fs
}

// replayed returns the replay that a request names with its sessions; ok is false where it has answered that there is
// none.
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
		p.frame.NotFound(w, r, "There is no replay of that id in the store.", frame.Link{
			Label: "Replays", Address: "/replays",
		})
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
