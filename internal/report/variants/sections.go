package variants

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// endsSection compares how sessions ended in the log with how they ended in each lane.
func endsSection(r *replay.Report) document.Section {
	s := document.Section{ID: "ends", Title: "How sessions ended: in the log, then in each lane", Nav: "Ends"}
	t := document.Table{Columns: document.Columns(1, "Logged end")}
	completed, dropped := document.Words("completed"), document.Words("dropped off")
	censored := 0
	for _, e := range r.Outcomes {
		censored += e.CompletedCensored + e.DroppedCensored
	}
	ends := []string{" completed", " not", " censored", " all"}
	if censored == 0 {
		ends = slices.Delete(ends, 2, 3)
	}
	for _, lane := range []string{replay.Baseline, replay.Candidate} {
		e, has := r.Outcomes[lane]
		if !has {
			continue
		}
		name := variantWord(lane)
		for _, end := range ends {
			t.Columns = append(t.Columns, document.Column{Name: name + end, Number: true})
		}
		counted := e.CompletedCompleted + e.CompletedNot + e.CompletedCensored + e.DroppedCompleted + e.DroppedNot +
			e.DroppedCensored
		cells := func(row *document.Row, as, other, waiting int, asFirst bool) {
			first, second := document.Cell{Text: text.Count(as), Verdict: result.Pass},
				document.Cell{Text: text.Count(other), Verdict: result.Fail}
			if !asFirst {
				first, second = second, first
			}
			open := document.Cell{Text: text.Count(waiting)}
			together := document.Cell{Text: text.Count(as + other + waiting)}
			if counted == 0 && r.Run.Sessions > r.Unknown { // the lane reports no end at all
				first, second, open, together = document.Cell{Text: unknown}, document.Cell{Text: unknown},
					document.Cell{Text: unknown}, document.Cell{Text: unknown}
			}
			row.Cells = append(row.Cells, first, second)
			if censored > 0 {
				row.Cells = append(row.Cells, open)
			}
			row.Cells = append(row.Cells, together)
		}
		cells(&completed, e.CompletedCompleted, e.CompletedNot, e.CompletedCensored, true)
		cells(&dropped, e.DroppedNot, e.DroppedCompleted, e.DroppedCensored, false)
		if untold := r.Run.Sessions - r.Unknown - counted; untold > 0 {
			s.Notes = append(s.Notes, "Not counted: "+text.Plural(untold,
				"session")+" of which the "+lane+" tells no end.")
		}
	}
	if len(t.Columns) == 1 {
		return s
	}
	t.Rows = []document.Row{completed, dropped}
	s.Tables = []document.Table{t}
	if censored > 0 {
		s.Notes = append(s.Notes, censoredMeans)
	}
	if r.Unknown > 0 {
		s.Notes = append(s.Notes, "Not counted: "+text.Plural(r.Unknown, "session")+" with an unknown end in the log.")
	}
	if r.Repeats != nil {
		s.Notes = append(s.Notes, "A session counts as completed when at least half of its "+text.Count(r.Repeats.K)+
			" replays completed.")
	}
	return s
}

// censoredMeans explains what is censored, waitedWords how such a lane ended.
const (
	censoredMeans = "Censored: the log ends while the agent waits for the answer to a question that the user has not " +
		"answered, so that it is not known whether the conversation would have completed. No completion rate counts it."
	waitedWords = "waited for an answer"
)

// maxFaults is how many kinds of faults are shown. There are ten.
const maxFaults = 20

// funnelSection says what became of each session of the log: what was read, why sessions were left out, and what was
// compared with its parts.
func funnelSection(r *replay.Report) document.Section {
	s := document.Section{ID: "log", Title: "From log to figures", Nav: "Log"}
	c := r.LogToFigures
	if c == nil {
		return s
	}
	t := document.Table{Columns: document.Columns(1, "Sessions of the log", "Sessions", "Share")}
	for _, line := range []struct {
		name, meaning   string
		sessions, level int
	}{
		{"read", "sessions with a usable event in the range", c.Read, 0},
		{"other flow", "no row names the flow", c.OtherFlow, 1},
		{"mixed flow", "the rows name two flows", c.MixedFlow, 1},
		{"cut left", "began before the range", c.CutLeft, 1},
		{"cut right", "go on behind the range", c.CutRight, 1},
		{"below min turns", "fewer user messages than --min_turns", c.BelowMinTurns, 1},
		{"not sampled", "not drawn for the sample", c.NotSampled, 1},
		{"lost", "a lane failed", c.Lost, 1},
		{"compared", "in the figures of this report", c.Compared, 0},
		{"censored", "of those compared; completed in the log, and an agent waits for an answer", c.Censored, 2},
		{"completed", "of the others, in the log", c.Completed, 2},
		{"dropped off", "of those compared, in the log", c.DroppedOff, 2},
		{"unknown outcome", "of those compared; left out of what compares ends", c.UnknownOutcome, 2},
	} {
		row := document.Words(line.name, text.Count(line.sessions), unknown)
		row.Level, row.Cells[0].Note = line.level, line.meaning
		if c.Read > 0 {
			share := min(max(float64(line.sessions)/float64(c.Read), 0), 1)
			row.Cells[2].Text, row.Cells[2].Bar = quantity(share, replay.Share), new(document.BarOf(share, [2]float64{0,
				share}))
		}
		t.Rows = append(t.Rows, row)
	}
	s.Tables = []document.Table{t}
	if sum := c.OtherFlow + c.MixedFlow + c.CutLeft + c.CutRight + c.BelowMinTurns + c.NotSampled + c.Lost +
		c.Compared; sum != c.Read {
		s.Lead = "The lines add up to " + text.Count(sum) + ", not to what was read."
	}
	faults := document.List{
		Title: "Rows of the log that say nothing, or contradict themselves", Noun: "kind",
		Elsewhere: " in the JSON report",
		Left:      max(len(c.RowFaults)-maxFaults, 0),
	}
	for i := range c.RowFaults[:min(len(c.RowFaults), maxFaults)] {
		f := &c.RowFaults[i]
		about := text.OneLine(replay.FaultText(f.Kind), maxNoteText)
		if examples := examplesOf(f.Examples); len(examples) > 0 {
			about += " (" + strings.Join(examples, ", ") + ")"
		}
		faults.Entries = append(faults.Entries, document.Entry{Text: text.Count(f.Count) + " × " + text.OneLine(f.Kind,
			40), Note: about})
	}
	s.Lists = []document.List{faults}
	return s
}

// examplesOf returns the first examples of a note or a fault.
func examplesOf(all []string) (examples []string) {
	for _, e := range all[:min(len(all), maxExamples)] {
		examples = append(examples, text.OneLine(e, 80))
	}
	return examples
}

// maxListed bounds the sessions that one list of a page names.
const maxListed = 25_000

// listsSection names the sessions to look at. Those with an anchor on a page, which is empty for the page itself, are
// links.
func listsSection(r *replay.Report, anchors map[string]string, page string) document.Section {
	s := document.Section{ID: "lists", Title: "Sessions to look at", Nav: "Sessions to look at"}
	if r.Run.Sessions == 0 {
		return s
	}
	if anchors != nil && len(anchors) < r.Run.Sessions+r.Run.PairsDropped {
		s.Lead = "A name without a link is not among the sessions that this page shows side by side."
	}
	compared, ended := comparesEnds(r)
	lost := ""
	if m := metricOf(r, replay.CompletedShare); m == nil || m.Difference == nil {
		lost = "unknown: the completions of the two agents could not be compared"
	}
	means := listMeanings(r)
	for i, of := range []struct {
		name     string
		sessions []string
		unknown  string
	}{
		{"Newly lost", r.Lists.NewlyLost, lost},
		{"Regressed", r.Lists.Regressed, compared}, {"Fixed", r.Lists.Fixed, compared}, {"Lost", r.Lists.Lost, ended},
		{"Rescued", r.Lists.Rescued, ended}, {"Censored", r.Lists.Censored, ""},
	} {
		l := listOf(strings.ReplaceAll(strings.ToLower(of.name), " ", "-"), of.name, means[i], of.unknown, of.sessions,
			len(of.sessions), anchors, page)
		l.Open = i == 0 && len(of.sessions) > 0
		s.Lists = append(s.Lists, l)
	}
	if r.Run.PairsDropped > 0 {
		var dropped []string
		for i := range r.Sessions {
			if r.Sessions[i].Dropped != "" {
				dropped = append(dropped, r.Sessions[i].SessionID)
			}
		}
		l := listOf("left-out", "Left out", "a lane failed, so that the pair is lost", "", dropped,
			max(r.Run.PairsDropped, len(dropped)), anchors, page)
		l.Elsewhere = " in the store"
		s.Lists = append(s.Lists, l)
	}
	return s
}

// listOf names sessions, of which there are count. Where there are none, why says why that is unknown.
func listOf(id, name, meaning, why string, sessions []string, count int, anchors map[string]string,
	page string) document.List {
	l := document.List{
		ID: id, Title: name, Meaning: meaning, Count: text.Count(count), Elsewhere: " in the JSON report",
		Attr: document.Data("data-section", id, "data-count", fmt.Sprint(count)),
	}
	if count == 0 && why != "" {
		l.Count, l.Attr = why, document.Data("data-section", id, "data-count", "")
	}
	for _, session := range sessions[:min(len(sessions), maxListed)] {
		e := document.Entry{Text: text.OneLine(session, 120)}
		if anchor := anchors[session]; anchor != "" {
			e.Link = page + "#" + anchor
		}
		l.Entries = append(l.Entries, e)
	}
	l.Left = count - len(l.Entries)
	return l
}

// listMeanings says what the sessions of each list have in common. Where each was played several times, it is about
// most of them.
func listMeanings(r *replay.Report) [6]string {
	const waits = "completed in the log, while an agent waits for an answer that the log does not have"
	if r.Repeats != nil {
		return [6]string{
			"completed in at least half of the replays by the baseline, in fewer by the candidate",
			"ended as in the log more often with the baseline than with the candidate",
			"ended as in the log more often with the candidate than with the baseline",
			"completed in the log, in fewer than half of the replays by the candidate",
			"dropped off in the log, completed by the candidate in at least half of the replays, and not early",
			waits,
		}
	}
	return [6]string{
		"completed by the baseline, not by the candidate",
		"ended as in the log with the baseline, not with the candidate",
		"ended as in the log with the candidate, not with the baseline",
		"completed in the log, not by the candidate",
		"dropped off in the log, completed by the candidate, and not early",
		waits,
	}
}

// comparesEnds says why the lanes, or the candidate and the log, cannot be compared by their ends; empty where they
// can.
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

var plainID = text.Regexp(`^[A-Za-z0-9._-]{1,80}$`)

// anchorsOf names the place on the page of each session that is shown. Ids from a log are taken where they are plain.
func anchorsOf(pairs []*replay.Pair) (all []string, by map[string]string) {
	by = make(map[string]string, len(pairs))
	for i, p := range pairs {
		anchor := "session-" + p.SessionID
		if _, twice := by[p.SessionID]; twice || !plainID().MatchString(p.SessionID) {
			anchor = fmt.Sprintf("nth-%d", i+1)
		}
		all = append(all, anchor)
		if by[p.SessionID] == "" {
			by[p.SessionID] = anchor
		}
	}
	return all, by
}

// divergenceSection says where sessions first left the log's path.
func divergenceSection(r *replay.Report) document.Section {
	never, turns, all := divergencesOf(r)
	title, stayed := "Where the candidate leaves the log’s path", "stayed on the log’s path to the end"
	if r.Run.Mode == replay.Forced { // each turn by itself
		title, stayed = "Where the candidate first misses the logged state", "led to the logged state in every turn"
	}
	s := document.Section{ID: "divergence", Title: title}
	if all == 0 {
		return s
	}
	s.Lead = fmt.Sprintf("%s of %s %s.", text.Count(never), text.Plural(all, "session"), stayed)
	if untold := r.Run.Sessions - all; untold > 0 {
		s.Lead += " Of " + text.Plural(untold, "session") + " more no path is told."
	}
	t := document.Table{Columns: document.Columns(1, "First at turn", "Sessions")}
	most := 1
	for _, turn := range turns {
		most = max(most, turn.Sessions)
	}
	for _, turn := range turns {
		row := document.Words(turn.Label, text.Count(turn.Sessions))
		share := float64(turn.Sessions) / float64(most)
		row.Cells[1].Bar = new(document.BarOf(share, [2]float64{0, share}))
		t.Rows = append(t.Rows, row)
	}
	s.Tables = []document.Table{t}
	return s
}

// maxKs is how many numbers of replays the table of pass^k has.
const maxKs = 10

// repeatsSection says how much a lane varies when it plays a session again: as standard deviations, which have the
// metric's unit. It is empty where each session was played once.
func repeatsSection(r *replay.Report, groups metricGroups) document.Section {
	s := document.Section{ID: "repeats", Title: "Repeats: how much chance there is in one replay", Nav: "Repeats"}
	if r.Repeats == nil {
		return s
	}
	s.Lead = "Each session was played " + text.Count(r.Repeats.K) +
		" times in each lane, and every comparison is of its means. " +
		"The spread within a session is the model’s chance; the spread between sessions is how much they differ."
	s.Tables = append(s.Tables, passTable(r.Repeats))
	columns := document.Columns(2, "Metric", "Lane", "Mean", "Spread within a session", "Spread between sessions",
		"Share of chance")
	first := document.Table{Columns: columns}
	more := document.Table{Title: "More metrics", Fold: true, Columns: columns}
	variance := slices.Clone(r.Repeats.Variance)
	place := func(name string) int {
		return slices.IndexFunc(r.Metrics, func(m replay.MetricReport) bool { return m.Name == name })
	}
	slices.SortStableFunc(variance, func(a, b replay.RepeatVariance) int {
		return cmp.Compare(place(a.Metric),
			place(b.Metric))
	})
	still := 0
	for i := range variance {
		of := &variance[i]
		switch {
		case slices.ContainsFunc(groups.first, func(m *replay.MetricReport) bool { return m.Name == of.Metric }):
			first.Rows = append(first.Rows, varianceRow(r, of))
		case of.Model == 0 && of.Session != nil && *of.Session == 0:
			still++
		default:
			more.Rows = append(more.Rows, varianceRow(r, of))
		}
	}
	s.Tables = append(s.Tables, first, more)
	if still > 0 {
		s.Notes = append(s.Notes, text.Plural(still,
			"more figure")+" in which nothing varies; the JSON report has every one.")
	}
	return s
}

// passTable has pass^k of both lanes for the first k and the last.
func passTable(repeats *replay.Repeats) document.Table {
	t := document.Table{Title: "All of k replays of a session complete (pass^k)", Columns: document.Columns(1, "Lane")}
	var ks []string
	for k := 1; k <= repeats.K; k++ {
		if k < maxKs || k == repeats.K {
			ks = append(ks, strconv.Itoa(k))
			t.Columns = append(t.Columns, document.Column{Name: "pass^" + strconv.Itoa(k), Number: true})
		}
	}
	for _, lane := range []string{replay.Baseline, replay.Candidate} {
		of := repeats.PassHatK[lane]
		if of == nil {
			continue
		}
		row := document.Words(variantWord(lane))
		for _, k := range ks {
			cell := document.Cell{Text: unknown}
			if share, has := of[k]; has {
				cell.Text = quantity(share, replay.Share)
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	if left := repeats.K - len(ks); left > 0 {
		t.Title += "; " + text.Plural(left, "more number") + " of replays between these are in the JSON report"
	}
	return t
}

func varianceRow(r *replay.Report, of *replay.RepeatVariance) document.Row {
	unit := replay.Unit("")
	if m := metricOf(r, of.Metric); m != nil {
		unit = m.Unit
	}
	row := document.Words(wordsOf(of.Metric, r.Run.Mode).name, variantWord(of.Variant), quantity(of.Mean, unit),
		spread(of.Model, unit), unknown, unknown)
	if of.Session != nil {
		row.Cells[4].Text, row.Cells[5].Text = spread(*of.Session, unit), "no spread"
		if all := of.Model + *of.Session; all > 0 && finite(all) {
			share := of.Model / all
			row.Cells[5].Text, row.Cells[5].Bar = quantity(share, replay.Share), new(document.BarOf(share, [2]float64{0,
				share}))
		}
	}
	return row
}

// spread writes a variance as a standard deviation.
func spread(variance float64, unit replay.Unit) string {
	if !finite(variance) || variance < 0 {
		return unknown
	}
	return amount(math.Sqrt(variance), unit)
}

// fidelitySection says how like the real users the simulated one is, and how much it spoke; empty in other modes.
func fidelitySection(r *replay.Report) document.Section {
	s := document.Section{ID: "fidelity", Title: "How like the real users the simulated one is", Nav: "Simulated user"}
	if r.Run.Mode != replay.Simulated || r.Run.Sessions == 0 {
		return s
	}
	s.Lead = "How like the real users it is was not measured: the fidelity is unknown."
	if f := r.Fidelity; f != nil {
		s.Lead = fidelitySentence(f)
		t := document.Table{Columns: document.Columns(1, "Fidelity", "0 to 1")}
		for _, part := range fidelityParts(f) {
			row := document.Words(part.name, fmt.Sprintf("%.2f", part.value))
			row.Cells[0].Note = part.meaning
			row.Cells[1].Bar = new(document.BarOf(part.value, [2]float64{0, min(max(part.value, 0), 1)}))
			t.Rows = append(t.Rows, row)
		}
		t.Rows[0].Cells[0].Verdict = signOf(f.Overall >= f.Minimum)
		s.Tables = append(s.Tables, t)
	}
	t := document.Table{Columns: document.Columns(1, "Messages", "All", "Simulated", "Invented",
		"In a state the log never visited")}
	for _, lane := range []string{replay.Baseline, replay.Candidate} {
		if n, has := r.Simulated[lane]; has {
			t.Rows = append(t.Rows, document.Words(variantWord(lane), text.Count(n.Messages), ofAll(n.Simulated,
				n.Messages),
				ofAll(n.Invented, n.Messages), ofAll(n.Unvisited, n.Messages)))
		}
	}
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
		s.Notes = []string{"Invented: the log of that session does not have the message in these words."}
	}
	return s
}

func fidelitySentence(f *replay.Fidelity) string {
	return fmt.Sprintf("The simulated user talked to the logged bot in %s, from the first message. Its fidelity is "+
		"%.2f, and %.3g is needed for a verdict.", text.Plural(f.Sessions, "session"), f.Overall, f.Minimum)
}

type fidelityPart struct {
	name, meaning string
	value         float64
}

func fidelityParts(f *replay.Fidelity) []fidelityPart {
	return []fidelityPart{
		{"Overall", "the least of the four", f.Overall},
		{"Kinds", "messages are of the same kinds", f.Kinds},
		{"Fields", "the logged data is given", f.Fields},
		{"Length", "conversations are as long", f.Length},
		{"End", "they end where the log ends", f.End},
	}
}

// FidelityWords says how like the real users a simulated one is; nil is not known.
func FidelityWords(f *replay.Fidelity) string {
	if f == nil {
		return "How like the real users the simulated one is, its fidelity, is not kept with this replay."
	}
	var parts []string
	for _, part := range fidelityParts(f)[1:] {
		parts = append(parts, fmt.Sprintf("%s: %.2f", part.meaning, part.value))
	}
	return fidelitySentence(f) + " It is the least of four: " + strings.Join(parts, ", ") + "."
}

// ofAll writes a count with its share.
func ofAll(n, all int) string {
	if all == 0 {
		return text.Count(n)
	}
	return text.Count(n) + " (" + quantity(float64(n)/float64(all), replay.Share) + ")"
}

// notesSection lists why sessions were left out, then what else a reader must know.
func notesSection(r *replay.Report) document.Section {
	left := document.List{Title: "Left out", Noun: "reason", Elsewhere: " in the JSON report"}
	reasons, untold := dropReasons(r)
	for _, d := range reasons {
		left.Entries = append(left.Entries, document.Entry{Text: text.Plural(d.Sessions, "session"), Note: d.Text})
	}
	if untold > 0 {
		left.Entries = append(left.Entries, document.Entry{Text: text.Plural(untold, "session"),
			Note: "for reasons that are in the store"})
	}
	notes := document.List{Title: "Notes", Noun: "note", Elsewhere: " in the JSON report", Entries: readNotes(r)}
	return document.Section{ID: "notes", Title: "What to know", Nav: "What to know", Lists: []document.List{left,
		notes}}
}
