package variants

import (
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// noteView is a note as it reads: the count in bold, then what is counted.
type noteView struct {
	Lead, Text string
	Examples   []string
}

// line is the note in one line.
func (n noteView) line() string {
	s := strings.TrimSpace(n.Lead + " " + n.Text)
	if len(n.Examples) > 0 {
		s += " (" + strings.Join(n.Examples, ", ") + ")"
	}
	return s
}

// leftOut begins the engine's note on sessions that were left out. It says again what the reasons say, where they are told.
const leftOut = "sessions left out"

// inTheLog begins the engine's notes on rows of the log, which the table from log to figures has, too.
const inTheLog = "in the log: "

// readNotes returns the notes of a report as they read.
func readNotes(r *replay.Report) (notes []noteView) {
	for i := range r.Notes {
		n := &r.Notes[i]
		if strings.HasPrefix(n.Text, leftOut) && r.Run.PairsDropped > 0 {
			continue
		}
		if strings.HasPrefix(n.Text, inTheLog) && r.LogToFigures != nil && len(r.LogToFigures.RowFaults) > 0 {
			continue
		}
		v := noteOf(r, n)
		for _, e := range n.Examples[:min(len(n.Examples), maxExamples)] {
			v.Examples = append(v.Examples, text.OneLine(e, 80))
		}
		notes = append(notes, v)
	}
	return notes
}

// noteOf puts the count where it belongs. A note on a metric has its count in the sentence: that of the sessions that it would take.
func noteOf(r *replay.Report, n *replay.Note) noteView {
	said := text.OneLine(n.Text, maxNoteText)
	name, rest, _ := strings.Cut(said, " ")
	switch {
	case metricOf(r, name) != nil:
		rest = strings.Replace(rest, strconv.Itoa(n.Count), text.Count(n.Count), 1)
		return noteView{Text: text.Capital(metricLabel(name, r.Run.Mode)) + " " + rest}
	case n.Count == 0:
		return noteView{Text: text.Capital(said)}
	case name == "sessions":
		return noteView{Lead: text.Plural(n.Count, "session"), Text: rest}
	}
	return noteView{Lead: text.Count(n.Count) + " ×", Text: said}
}

// notesOf lists why sessions were left out, then what else a reader must know.
func notesOf(r *replay.Report) (notes []noteView, left int) {
	reasons, untold := dropReasons(r)
	for _, d := range reasons {
		notes = append(notes, noteView{Lead: text.Plural(d.Sessions, "session"), Text: "left out: " + d.Text})
	}
	if untold > 0 {
		notes = append(notes, noteView{Lead: text.Plural(untold, "session"), Text: "left out, for reasons that are in the store"})
	}
	notes = append(notes, readNotes(r)...)
	shown := min(len(notes), maxNotes)
	return notes[:shown], len(notes) - shown
}

// timeWords say what else is known of time: the pooled latencies of the lanes, and how long users thought, which is no time of either.
func timeWords(r *replay.Report) (said []string) {
	var lanes []string
	for _, lane := range []string{replay.Baseline, replay.Candidate} {
		if ms, known := r.PooledLatencyMS[lane]; known && finite(ms) {
			lanes = append(lanes, lane+" "+quantity(ms, replay.Milliseconds))
		}
	}
	if len(lanes) > 0 {
		said = append(said, "Latency averaged over all turns, not session by session: "+strings.Join(lanes, ", ")+".")
	}
	if e := r.UserThinkSeconds; e != nil {
		said = append(said, "Users in the log took "+text.Milliseconds(1000*e.Value)+" a session to think before they answered; that counts in neither lane.")
	}
	return said
}
