package variants

import (
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/document"
)

// leftOut begins the engine's note on sessions that were left out. It says again what the reasons say, where they are
// told.
const leftOut = "sessions left out"

// inTheLog begins the engine's notes on rows of the log, which the table from log to figures has, too.
const inTheLog = "in the log: "

// readNotes returns the notes of a report as they read.
func readNotes(r *replay.Report) (notes []document.Entry) {
	for i := range r.Notes {
		n := &r.Notes[i]
		if strings.HasPrefix(n.Text, leftOut) && r.Run.PairsDropped > 0 {
			continue
		}
		if strings.HasPrefix(n.Text, inTheLog) && r.LogToFigures != nil && len(r.LogToFigures.RowFaults) > 0 {
			continue
		}
		e := noteOf(r, n)
		if examples := examplesOf(n.Examples); len(examples) > 0 {
			e.From = strings.Join(examples, ", ")
		}
		notes = append(notes, e)
	}
	return notes
}

// noteOf puts the count where it belongs. A note on a metric has its count in the sentence: that of the sessions that
// it would take.
func noteOf(r *replay.Report, n *replay.Note) document.Entry {
	said := text.OneLine(n.Text, maxNoteText)
	name, rest, _ := strings.Cut(said, " ")
	switch {
	case metricOf(r, name) != nil:
		rest = strings.Replace(rest, strconv.Itoa(n.Count), text.Count(n.Count), 1)
		return document.Entry{Text: text.Capital(metricLabel(name, r.Run.Mode)) + " " + rest}
	case n.Count == 0:
		return document.Entry{Text: text.Capital(said)}
	case name == "sessions":
		return document.Entry{Text: text.Plural(n.Count, "session"), Note: rest}
	}
	return document.Entry{Text: text.Count(n.Count) + " ×", Note: said}
}

// timeWords say what else is known of time: the pooled latencies of the lanes, and how long users thought, which is no
// time of either.
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
		said = append(said, "Users in the log took "+text.Milliseconds(1000*e.Value)+
			" a session to think before they answered; that counts in neither lane.")
	}
	return said
}
