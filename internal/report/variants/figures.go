package variants

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

const differenceColumn = "Difference [95% interval]"

// gateSection is what the gate looks at and what it found; empty where nothing was decided.
func gateSection(r *replay.Report) document.Section {
	s := document.Section{ID: "gate", Title: "The gate", Nav: "Gate"}
	if r.Gate == nil {
		return s
	}
	decides := r.Gate.Name == replay.GateSpec
	if !decides {
		s.Lead = text.Capital(text.OneLine(r.Gate.Name, 20)) + " gate: the first rule that does not hold decides."
		s.Tables = append(s.Tables, rulesTable("", pairedRules(r)))
	} else {
		s.Lead = "The specification’s gate decides here; the verdicts of single metrics do not."
	}
	if r.Spec != nil {
		title := "Specification’s rules: " + passedWord(r.Spec.Passed && r.Spec.Hard)
		if !decides {
			title += "; they do not decide here"
		}
		s.Tables = append(s.Tables, rulesTable(title, specRules(r)))
	}
	for _, note := range []string{gateSentence(r), alarmWords(r)} {
		s.Notes = append(s.Notes, nonEmpty(note)...)
	}
	return s
}

func rulesTable(title string, rules []gateRule) document.Table {
	t := document.Table{Title: title, Columns: document.Columns(2, "Rule", "Seen")}
	for _, rule := range rules {
		name := document.Cell{Text: rule.Text, Verdict: rule.Sign, Strong: rule.Decided}
		switch {
		case rule.Decided:
			name.Note = "decided here"
		case rule.Beyond:
			name.Note, name.Verdict = "not asked any more", result.Skip
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{name, {Text: strings.Join(rule.Seen, "; ")}}})
	}
	return t
}

// metricsSection has the metrics that decide and guard, as figures and, on a page, as drawings.
func metricsSection(r *replay.Report, groups metricGroups) document.Section {
	s := document.Section{ID: "differences", Title: "Metrics", Nav: "Metrics"}
	if len(groups.first) == 0 {
		return s
	}
	if r.Baseline == nil {
		s.Tables = []document.Table{metricTable(r, groups.first)}
		return s
	}
	s.Title = "Metrics: candidate less baseline"
	s.Draw = `<p class="lead">In a drawing, which has its own scale, the candidate is better right of the dotted line, which is 0. ` +
		`Below is the difference on supported turns; the shaded part is the margin.</p>`
	t := metricTable(r, groups.first)
	t.Columns = slices.Insert(t.Columns, 3, document.Column{})
	t.Columns = append(t.Columns, document.Column{Name: "Verdict"}, document.Column{Name: "Detectable", Number: true})
	for i, m := range groups.first {
		row := &t.Rows[i]
		verdict := document.Cell{Note: roleOf(m), Strong: m.Gated || m.Guard}
		drawn := document.Cell{}
		if key := keyOf(m.Name); key != "" {
			row.Cells[0].Note = strings.TrimPrefix(row.Cells[0].Note+" ("+key+")", " ")
		}
		if m.Baseline != nil {
			row.Cells[1].Note = estimateInterval(m.Baseline, m.Unit)
		}
		if m.Candidate != nil {
			row.Cells[2].Note = estimateInterval(m.Candidate, m.Unit)
		}
		if d := m.Difference; d != nil {
			if d.Verdict != "" {
				verdict.Text, verdict.Verdict = verdictPhrase(d.Verdict), verdictSign(d.Verdict)
			}
			verdict.Note = text.Count(d.Changed) + " of " + text.Plural(d.N, "session") + " differ; " + verdict.Note
			if marginOf(d) > 0 {
				verdict.Note += "; margin " + strings.ReplaceAll(text.OneLine(d.Margin, 60), " %", "%")
			}
			if plot := plotOf(m); plot != nil {
				drawn.Draw = draw("plot", plot)
			}
		} else if m.DifferenceOfAll != nil {
			verdict.Note = "not compared: all sessions are rescued or censored; " + verdict.Note
		} else {
			verdict.Note = "not compared: no session has it in both lanes; " + verdict.Note
		}
		if d := m.DifferenceOfAll; d != nil {
			verdict.Note += "; with the rescued and censored sessions " + differenceWords(d, m.Unit)
		}
		row.Cells = append(slices.Insert(row.Cells, 3, drawn), verdict, document.Cell{Text: detectable(m.Difference,
			m.Unit)})
		row.Attr = metricData(m)
	}
	s.Tables = []document.Table{t}
	s.Notes = []string{strings.Join(verdictMeanings(r, groups.first), ". ") + "."}
	return s
}

// metricTable has a row for each metric: both means and their difference, or the candidate's mean alone.
func metricTable(r *replay.Report, metrics []*replay.MetricReport) document.Table {
	t := document.Table{Columns: document.Columns(1, "Metric", "Candidate", "95% interval")}
	if r.Baseline != nil {
		t.Columns = document.Columns(1, "Metric", "Baseline", "Candidate", differenceColumn)
	}
	for _, m := range metrics {
		row := document.Words(wordsOf(m.Name, r.Run.Mode).name, estimate(m.Candidate, m.Unit),
			estimateInterval(m.Candidate, m.Unit))
		if r.Baseline != nil {
			row = document.Words(row.Cells[0].Text, estimate(m.Baseline, m.Unit), estimate(m.Candidate, m.Unit),
				differenceWords(m.Difference, m.Unit))
		} else if e := m.Candidate; m.Unit == replay.Share && e != nil && e.Low != nil && e.High != nil &&
			finite(e.Value) && finite(*e.Low) && finite(*e.High) {
			row.Cells[1].Bar = new(document.BarOf(e.Value, [2]float64{*e.Low, *e.High}))
		}
		row.Cells[0].Note = meaningOf(m, r.Run.Mode)
		t.Rows = append(t.Rows, row)
	}
	return t
}

// metricData are the figures of a metric as attributes of its row.
func metricData(m *replay.MetricReport) template.HTMLAttr {
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	value := func(e *replay.Estimate) string {
		if e == nil {
			return ""
		}
		return number(&e.Value)
	}
	pairs := []string{"data-metric", text.OneLine(m.Name, 80), "data-a", value(m.Baseline), "data-b",
		value(m.Candidate)}
	if d := m.Difference; d != nil {
		pairs = append(pairs, "data-diff", number(&d.Mean), "data-low", number(d.Low), "data-high", number(d.High),
			"data-n", strconv.Itoa(d.N), "data-result", text.OneLine(d.Verdict, 20))
	}
	return document.Data(pairs...)
}

// differenceWords are a difference with its interval.
func differenceWords(d *replay.DifferenceReport, unit replay.Unit) string {
	if d == nil {
		return notApplicable
	}
	return change(d.Mean, unit) + " " + intervalOf(d, unit)
}

// supportSection has the figures on supported turns. A figure that lies outside the interval over whole sessions is
// marked.
func supportSection(r *replay.Report, groups metricGroups) document.Section {
	t := document.Table{Columns: document.Columns(1, "Metric", "Candidate", "95% interval", "Sessions")}
	if r.Baseline != nil {
		t.Columns = document.Columns(1, "Metric", "Baseline", "Candidate", differenceColumn, "Sessions")
	}
	var wide []string
	figure := func(on, whole *replay.Estimate, unit replay.Unit) document.Cell {
		if outside(on, whole, unit) {
			return document.Cell{Text: "! " + estimate(on, unit), Strong: true}
		}
		return document.Cell{Text: estimate(on, unit)}
	}
	for _, m := range slices.Concat(groups.first, groups.more) {
		if m.CandidateOnSupport == nil && m.BaselineOnSupport == nil {
			continue
		}
		name := document.Cell{Text: wordsOf(m.Name, r.Run.Mode).name}
		candidate := figure(m.CandidateOnSupport, m.Candidate, m.Unit)
		row := []document.Cell{name, candidate, {Text: estimateInterval(m.CandidateOnSupport, m.Unit)}}
		if r.Baseline != nil {
			row = []document.Cell{name, figure(m.BaselineOnSupport, m.Baseline, m.Unit), candidate,
				{Text: differenceWords(m.DifferenceOnSupport, m.Unit)}}
		}
		if slices.ContainsFunc(row, func(c document.Cell) bool { return c.Strong }) {
			wide = append(wide, metricLabel(m.Name, r.Run.Mode))
		}
		t.Rows = append(t.Rows, document.Row{Cells: append(row, document.Cell{Text: text.Count(sessionsOnSupport(m))})})
	}
	s := document.Section{ID: "figures", Title: "On supported turns", Tables: []document.Table{t}}
	if len(t.Rows) > 0 {
		s.Notes = []string{supportedMeans(r.Run.Mode) +
			". Where these figures differ from those above, messages that answer another question are part of " +
			"the reason."}
	}
	if len(wide) > 0 {
		s.Notes = append(s.Notes, "Look at "+listed(wide)+
			": a figure marked with ! lies outside the interval of the one over whole sessions.")
	}
	return s
}

// sessionsOnSupport counts the sessions that have a figure on supported turns in every lane, as far as is known.
func sessionsOnSupport(m *replay.MetricReport) int {
	if m.DifferenceOnSupport != nil {
		return m.DifferenceOnSupport.N
	}
	for _, e := range []*replay.Estimate{m.CandidateOnSupport, m.BaselineOnSupport} {
		if e != nil {
			return e.N
		}
	}
	return 0
}

// unnoticed is a latency in milliseconds that the engine counts as none.
const unnoticed = 10

// outside reports whether a figure lies outside the interval of another, by more than is noticed.
func outside(supported, whole *replay.Estimate, unit replay.Unit) bool {
	if supported == nil || whole == nil {
		return false
	}
	v := supported.Value
	if unit == replay.Milliseconds && math.Abs(v-whole.Value) < unnoticed {
		return false
	}
	return whole.Low != nil && v < *whole.Low || whole.High != nil && v > *whole.High
}

// moreSection has the metrics that decide nothing.
func moreSection(r *replay.Report, groups metricGroups) document.Section {
	s := document.Section{ID: "more", Title: "More figures", Fold: true, Notes: nonEmpty(stillWords(groups.still,
		r.Run.Mode))}
	s.Notes = append(s.Notes, timeWords(r)...)
	if len(groups.more) > 0 {
		s.Lead = "They decide nothing. Among so many some differ by chance."
		s.Tables = []document.Table{metricTable(r, groups.more)}
	}
	return s
}

// clustersSection says how many sessions are independent of each other.
func clustersSection(r *replay.Report, groups metricGroups) document.Section {
	s := document.Section{ID: "clusters", Title: "Users: how many sessions are independent", Nav: "Users"}
	c := r.Clusters
	if c.Sessions == 0 {
		return s
	}
	s.Lead = text.Plural(c.Sessions, "session") + ", each of which counts as independent of the others."
	if c.By == replay.ByUnit {
		s.Lead = fmt.Sprintf("%s in %s: the user (unit) where a session has one, else the session. The largest has %s.",
			text.Plural(c.Sessions, "session"), text.Plural(c.Units, "cluster"), text.Plural(c.Largest, "session"))
	}
	t := document.Table{Columns: document.Columns(1, "Metric", "Clusters", "ICC", "Design effect", "Method")}
	for _, m := range slices.Concat(groups.first, groups.more) {
		d := m.Difference
		if d == nil || !m.Gated && !m.Guard {
			continue
		}
		icc, effect := unknown, unknown
		if d.ICC != nil && finite(*d.ICC) {
			icc = fmt.Sprintf("%.2f", *d.ICC)
		}
		if finite(d.DesignEffect) && d.DesignEffect > 0 {
			effect = fmt.Sprintf("%.2f", d.DesignEffect)
		}
		t.Rows = append(t.Rows, document.Words(wordsOf(m.Name, r.Run.Mode).name, text.Count(d.Clusters), icc, effect,
			strings.ReplaceAll(text.OneLine(d.Method, 30), "_", " ")))
	}
	if len(t.Rows) > 0 {
		s.Tables = []document.Table{t}
		s.Notes = []string{
			"ICC: how alike the differences of one user’s sessions are, from 0 to 1; unknown where no user has two. " +
				"Design effect: by how much that widens an interval’s square; 1 when every session is independent.",
		}
	}
	return s
}

// significant is the level of a difference among all slices.
const significant = 0.05

// slicesSection groups the slices of the report by their kind, in its order. A kind adds up to the sessions that were
// compared.
func slicesSection(r *replay.Report) document.Section {
	s := document.Section{ID: "slices", Title: "Slices: candidate less baseline in parts of the sessions",
		Nav: "Slices"}
	var metrics []*replay.MetricReport
	for i := range r.Metrics {
		m := &r.Metrics[i]
		shown := slices.ContainsFunc(r.Slices, func(s replay.Slice) bool {
			d, has := s.Metrics[m.Name]
			return d.Verdict != "" || has && m.Name == replay.CompletedShare
		})
		if m.Gated || shown {
			metrics = append(metrics, m)
		}
	}
	scales := sliceScales(r, metrics)
	sum := 0
	for i := range r.Slices {
		of := &r.Slices[i]
		if i == 0 || r.Slices[i-1].By != of.By {
			t := document.Table{Columns: document.Columns(1, "Slice", "Sessions")}
			for _, m := range metrics {
				t.Columns = append(t.Columns, document.Column{Name: wordsOf(m.Name, r.Run.Mode).name, Number: true})
			}
			s.Tables, sum = append(s.Tables, t), 0
		}
		t := &s.Tables[len(s.Tables)-1]
		row := document.Words(text.OneLine(of.Value, 80), text.Count(of.Sessions))
		for _, m := range metrics {
			row.Cells = append(row.Cells, sliceCell(of, m, scales[m.Name]))
		}
		sum += of.Sessions
		t.Rows = append(t.Rows, row)
		t.Title = text.Capital(text.OneLine(of.By, 30)) + sliceMeaning(of) + " · together " + text.Plural(sum,
			"session")
	}
	if len(s.Tables) > 0 {
		s.Lead = "A slice decides nothing. "
		among := "among all slices of all kinds"
		if slices.ContainsFunc(r.Slices, func(s replay.Slice) bool { return s.Guard }) {
			s.Lead = "A slice that --slice names is a guard; the others decide nothing. "
			among = "among all slices that are guards, or among all others"
		}
		s.Lead += "Slices of fewer than 10 sessions, and those beyond the 20 largest of a kind, are together in " +
			"other, so that each kind adds up to the sessions that were compared. " +
			"A difference is told apart from chance " + among + " (Holm, p < 0.05)."
	}
	return s
}

func sliceMeaning(s *replay.Slice) string {
	meaning := ""
	if s.Guard {
		meaning = ", which is a guard"
	}
	switch s.By {
	case "flow":
		return meaning + ", by the flow of the log"
	case "length":
		return meaning + ", by the number of user messages in the log"
	case "unit":
		return meaning + ", by user (unit), those with 10 sessions or more"
	case "day":
		return meaning + ", by the day on which the session began (UTC)"
	}
	return meaning
}

// sliceScales gives each metric one scale over all slices, so that their drawings can be compared.
func sliceScales(r *replay.Report, metrics []*replay.MetricReport) map[string]scale {
	scales := map[string]scale{}
	for _, m := range metrics {
		s := scale{sign: 1}
		if m.LowerIsBetter {
			s.sign = -1
		}
		for i := range r.Slices {
			if d, has := r.Slices[i].Metrics[m.Name]; has && finite(d.Mean) {
				s.reach = max(s.reach, farthest(asDifference(d)))
			}
		}
		if s.reach == 0 {
			s.reach = 1
		}
		scales[m.Name] = s
	}
	return scales
}

func asDifference(d replay.SliceDifference) *replay.DifferenceReport {
	return &replay.DifferenceReport{Mean: d.Mean, Low: d.Low, High: d.High}
}

// sliceCell is the difference of a metric in a slice.
func sliceCell(s *replay.Slice, m *replay.MetricReport, by scale) document.Cell {
	d, has := s.Metrics[m.Name]
	if !has || !finite(d.Mean) {
		return document.Cell{Text: notApplicable}
	}
	c := document.Cell{
		Text: change(d.Mean, m.Unit) + " " + interval(d.Low, d.High, m.Unit),
		Draw: draw("slice-plot", &forestPlot{All: by.view(asDifference(d))}),
	}
	if d.AdjustedP < significant {
		c.Strong, c.Note = true, "worse, told apart"
		if d.Mean*by.sign > 0 {
			c.Note = "better, told apart"
		}
	}
	return c
}
