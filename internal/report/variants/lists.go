package variants

import (
	"fmt"
	"regexp"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// listView names the sessions of one kind. Those that are left out stand in the JSON report, lost pairs in the store.
type listView struct {
	ID, Name, Meaning string
	Count             int
	// Unknown says why there can be none; empty where the list was made.
	Unknown string
	Entries []listEntry
	// Left counts the sessions that are not named.
	Left int
	// Open is whether they are few enough to stand open.
	Open bool
}

// listEntry is a session, with the place where it stands side by side; empty where the page does not show it.
type listEntry struct{ ID, Anchor string }

// maxListed bounds the sessions that one list of the page names, openList those that stand open.
const (
	maxListed = 25_000
	openList  = 24
)

// listsOf returns the four lists, each with every session as far as most of them go, and behind them the lost pairs.
func listsOf(r *replay.Report, anchors map[string]string, most int) []listView {
	if r.Run.Sessions == 0 {
		return nil
	}
	compared, ended := comparesEnds(r)
	means := listMeanings(r)
	views := []listView{
		listOf("regressed", "Regressed", means[0], r.Lists.Regressed, anchors, most),
		listOf("fixed", "Fixed", means[1], r.Lists.Fixed, anchors, most),
		listOf("lost", "Lost", means[2], r.Lists.Lost, anchors, most),
		listOf("rescued", "Rescued", means[3], r.Lists.Rescued, anchors, most),
	}
	for i := range views {
		if v := &views[i]; v.Count == 0 && i < 2 {
			v.Unknown = compared
		} else if v.Count == 0 {
			v.Unknown = ended
		}
	}
	if r.Run.PairsDropped > 0 {
		views = append(views, leftOutOf(r, anchors, most))
	}
	return views
}

// listMeanings says what the sessions of each list have in common. Where each was played several times, it is about most of them.
func listMeanings(r *replay.Report) [4]string {
	if r.Repeats != nil {
		return [4]string{
			"ended as in the log more often with the baseline than with the candidate", "ended as in the log more often with the candidate than with the baseline",
			"completed in the log, in fewer than half of the replays by the candidate", "dropped off in the log, completed by the candidate in at least half of the replays, and not early",
		}
	}
	return [4]string{
		"ended as in the log with the baseline, not with the candidate", "ended as in the log with the candidate, not with the baseline",
		"completed in the log, not by the candidate", "dropped off in the log, completed by the candidate, and not early",
	}
}

// leftOutOf names the lost pairs, as far as the report holds them.
func leftOutOf(r *replay.Report, anchors map[string]string, most int) listView {
	var dropped []string
	for i := range r.Sessions {
		if r.Sessions[i].Dropped != "" {
			dropped = append(dropped, r.Sessions[i].SessionID)
		}
	}
	v := listOf("left-out", "Left out", "a lane failed, so that the pair is lost", dropped, anchors, most)
	v.Left += max(r.Run.PairsDropped-v.Count, 0)
	v.Count = max(r.Run.PairsDropped, v.Count)
	return v
}

// comparesEnds says why the lanes, or the candidate and the log, cannot be compared by their ends; empty where they can.
func comparesEnds(r *replay.Report) (lanes, candidate string) {
	m := metricOf(r, replay.CompletionMatch)
	if m == nil || m.Candidate == nil {
		candidate = "unknown: no end of the candidate could be compared with the log"
	}
	switch {
	case r.Baseline == nil:
		lanes = "unknown: there was no baseline"
	case m == nil || m.Difference == nil:
		lanes = "unknown: the ends of the two lanes could not be compared"
	}
	return lanes, candidate
}

func listOf(id, name, meaning string, sessions []string, anchors map[string]string, most int) listView {
	v := listView{ID: id, Name: name, Meaning: meaning, Count: len(sessions), Left: max(len(sessions)-most, 0), Open: len(sessions) <= openList}
	for _, s := range sessions[:len(sessions)-v.Left] {
		v.Entries = append(v.Entries, listEntry{text.OneLine(s, 120), anchors[s]})
	}
	return v
}

// countWords writes how many sessions a list has, or that it is not known.
func (v *listView) countWords() string {
	if v.Unknown != "" {
		return v.Unknown
	}
	return text.Count(v.Count)
}

var plainID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,80}$`)

// anchorsOf names the place on the page of each session that is shown. Ids from a log are taken where they are plain.
func anchorsOf(pairs []*replay.Pair) (all []string, by map[string]string) {
	by = make(map[string]string, len(pairs))
	for i, p := range pairs {
		anchor := "session-" + p.SessionID
		if _, twice := by[p.SessionID]; twice || !plainID.MatchString(p.SessionID) {
			anchor = fmt.Sprintf("nth-%d", i+1)
		}
		all = append(all, anchor)
		if by[p.SessionID] == "" {
			by[p.SessionID] = anchor
		}
	}
	return all, by
}
