package view

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"rehearse/internal/archive"
	"rehearse/internal/cover"
	"rehearse/internal/flow"
	"rehearse/internal/replay"
	"rehearse/internal/text"
	"rehearse/internal/view/frame"
)

// maxTurnsOfNode is how many turns are named that visited a node.
const maxTurnsOfNode = 5

// linkTurns adds the turns of a session to those that visited a node.
func linkTurns(s *replay.Session, turns map[string][]frame.Link) {
	n := 0
	for _, m := range s.Messages {
		if m.User {
			n++
		}
		if m.User && len(turns[m.After]) < maxTurnsOfNode {
			turns[m.After] = append(turns[m.After], frame.Link{Label: fmt.Sprintf("%s, turn %d", s.ID, n), Address: fmt.Sprintf("/sessions/%s#turn-%d", frame.Segment(s.ID), n)})
		}
	}
}

// traffic reads what goes through a flow: a run, or the logged sessions; without being asked the newest run that has turns of it, else the sessions.
func (p *Pages) traffic(w http.ResponseWriter, r *http.Request, page *flowPage, of *flow.Flow, turns map[string][]frame.Link) (*cover.Coverage, bool) {
	q := r.URL.Query()
	runs, _ := p.Runs.Runs()
	runs = slices.DeleteFunc(slices.Clone(runs), func(run *archive.Found) bool { return followsElsewhere(run, of.ID) })
	for _, run := range runs[:min(len(runs), 10)] {
		page.Runs = append(page.Runs, frame.Link{Label: run.Record.ID, Address: "/flows/" + frame.Segment(of.ID) + "?run=" + url.QueryEscape(run.Record.ID)})
	}
	if id := q.Get("run"); id != "" {
		run := p.Runs.Find(id)
		if run == nil {
			p.frame.NotFound(w, r, "There is no run of that id here.", p.newest(5)...)
			return nil, false
		}
		return p.runThrough(page, of, run, turns), true
	}
	if q.Get("traffic") != "sessions" {
		for _, run := range runs[:min(len(runs), 10)] {
			if c := p.runThrough(page, of, run, turns); c.Turns > 0 {
				return c, true
			}
			clear(turns)
		}
	}
	page.Guessed, page.Elsewhere = false, false
	page.Traffic, page.Sessions = "sessions", true
	store, ok := p.stored(w, r)
	if !ok || store == nil {
		return cover.Of(of), ok
	}
	through, err := p.through.of(r.Context(), store, of, q, p.Now)
	if err != nil {
		p.away(w, r, err)
		return nil, false
	}
	maps.Copy(turns, through.turns)
	if p.Now().Sub(through.began) > keepSessions {
		page.AsOf = through.began
	}
	return through.covered, true
}

// followsElsewhere reports whether a run says of each of its targets that it does not follow a flow.
func followsElsewhere(run *archive.Found, flow string) bool {
	for _, target := range run.Record.Targets {
		if follows, known := run.Record.Follows(target, flow); follows || !known {
			return false
		}
	}
	return len(run.Record.Targets) > 0
}

// runThrough counts the turns of a run.
func (p *Pages) runThrough(page *flowPage, of *flow.Flow, run *archive.Found, turns map[string][]frame.Link) *cover.Coverage {
	page.Traffic = run.Record.ID
	c := cover.Of(of)
	index, err := run.Index()
	if err != nil {
		page.Warnings = append(page.Warnings, "The run "+run.Record.ID+" cannot be read.")
		return c
	}
	page.Guessed, page.Elsewhere = false, len(index.Tests) > 0
	unread := 0
	for _, e := range index.Tests {
		follows, known := run.Record.Follows(e.Target, of.ID)
		if known && !follows {
			continue
		}
		page.Elsewhere = false
		rows := e.Of
		if len(rows) == 0 {
			rows = []*archive.Row{e.Row}
		}
		for _, row := range rows {
			if !row.Placed {
				continue // its record would say nothing of a flow
			}
			t, err := run.Read(row)
			if err != nil {
				unread++
				continue
			}
			c.Test(t)
			page.Guessed = page.Guessed || !known
			trials := []string(nil)
			if row.Trial > 0 {
				trials = []string{strconv.Itoa(row.Trial)}
			}
			for _, x := range t.Turns {
				if len(turns[x.Node]) < maxTurnsOfNode {
					address := addressOfTest(run.Record.ID, archive.Test{Suite: e.Suite, ID: e.TestID, Target: e.Target}, trials, "")
					turns[x.Node] = append(turns[x.Node], frame.Link{Label: fmt.Sprintf("%s, turn %d", e.TestID, x.Index), Address: atTurn(address, x.Index)})
				}
			}
		}
	}
	if unread > 0 {
		page.Warnings = append(page.Warnings, text.Plural(unread, "record")+" of the run cannot be read, and what they reached is not counted.")
	}
	return c
}
