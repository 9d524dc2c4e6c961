package variants

import (
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// endsView sets how sessions ended in the log against how they ended in a lane.
type endsView struct {
	Lane string
	Rows []endsRow
	// Left says which sessions are in no cell.
	Left []string
	// Unknown is true of a lane that tells no end at all.
	Unknown bool
}

// endsRow are the sessions that ended in one way in the log.
type endsRow struct {
	Logged         string
	Completed, Not endsCell
	Sum            int
}

// endsCell counts sessions; As is whether they ended as in the log.
type endsCell struct {
	Count int
	As    bool
}

// endsOf returns a table for each lane of the report, none where nothing was compared.
func endsOf(r *replay.Report) (views []endsView) {
	for _, lane := range []string{replay.Baseline, replay.Candidate} {
		e, has := r.Outcomes[lane]
		if !has {
			continue
		}
		v := endsView{Lane: laneWord(lane), Rows: []endsRow{
			{"completed", endsCell{e.CompletedCompleted, true}, endsCell{e.CompletedNot, false}, e.CompletedCompleted + e.CompletedNot},
			{"dropped off", endsCell{e.DroppedCompleted, false}, endsCell{e.DroppedNot, true}, e.DroppedCompleted + e.DroppedNot},
		}}
		untold := r.Run.Sessions - r.Unknown - v.Rows[0].Sum - v.Rows[1].Sum
		if r.Unknown > 0 {
			v.Left = append(v.Left, text.Plural(r.Unknown, "session")+" with an unknown end in the log")
		}
		if untold > 0 {
			v.Left = append(v.Left, text.Plural(untold, "session")+" of which the "+lane+" tells no end")
			v.Unknown = v.Rows[0].Sum+v.Rows[1].Sum == 0
		}
		views = append(views, v)
	}
	return views
}

// countWords writes the number of a cell, or that it is not known.
func (v *endsView) countWords(n int) string {
	if v.Unknown {
		return unknown
	}
	return text.Count(n)
}

// endsMeans says when a session counts as completed, where it was played several times.
func endsMeans(r *replay.Report) string {
	if r.Repeats == nil {
		return ""
	}
	return "A session counts as completed when at least half of its " + text.Count(r.Repeats.K) + " replays completed."
}
