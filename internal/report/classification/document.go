package classification

import (
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/document"
)

var pageTemplate = sync.OnceValue(func() *template.Template { return document.ParsePage(matrixStyle, matrixSource) })

// maxRows is how many confusions a page shows.
const maxRows = 20

// textWidth is the most that a line of Text takes.
const textWidth = 120

// Text writes the report for a terminal.
func (r *Report) Text(w io.Writer) error {
	return document.Text(w, r.document(r.show), textWidth, false)
}

// Markdown writes the report for a pull request.
func (r *Report) Markdown(w io.Writer) error { return document.Markdown(w, r.document(r.show)) }

// HTML writes one self-contained page, with the confusion matrix as a heat map.
func (r *Report) HTML(w io.Writer) error {
	d := r.document(maxRows)
	matrix, err := r.matrix()
	if err != nil {
		return err
	}
	d.Sections = append([]document.Section{matrix}, d.Sections...)
	return document.HTML(w, d, pageTemplate())
}

// document returns the report with that many rows of classes and confusions, 0 for all.
func (r *Report) document(rows int) *document.Document {
	d := &document.Document{Kind: "classification", Verdict: verdictOf(r.Passed), Headline: r.Verdict(),
		Signature: "rehearse · classification"}
	d.Facts = r.facts()
	d.Rate = &document.Rate{Fact: d.Facts[0], Bar: new(document.BarOf(r.Accuracy, r.AccuracyInterval))}
	d.Facts = d.Facts[1:]
	for _, note := range r.notes() {
		d.Lead = append(d.Lead, document.Fact{Value: note})
	}
	confusions := r.confusionTable(rows)
	d.Sections = []document.Section{
		{ID: "confusions", Title: title("Confusions", confusions), Nav: "Confusions",
			Tables: []document.Table{confusions}},
		{ID: "calibration", Title: "Calibration", Nav: "Calibration", Tables: []document.Table{r.calibrationTable()}},
	}
	classes := r.classTable(rows)
	d.Sections = append(d.Sections, document.Section{ID: "classes", Title: title("Classes", classes), Nav: "Classes",
		Tables: []document.Table{classes}})
	return d
}

func title(name string, t document.Table) string {
	if t.Left == 0 {
		return name
	}
	return fmt.Sprintf("%s, the %d worst of %d", name, len(t.Rows), len(t.Rows)+t.Left)
}

// shown returns how many of n rows are shown.
func shown(n, most int) int {
	if most == 0 {
		return n
	}
	return min(n, most)
}

func (r *Report) classTable(most int) document.Table {
	t := document.Table{Columns: document.Columns(1, "Label", "F1", "Precision", "Recall", "Support"),
		Elsewhere: " (--classes 0 shows all)"}
	for _, c := range r.classes[:shown(len(r.classes), most)] {
		row := document.Words(named(c.Label), score3(c.F1), score3(c.Precision), score3(c.Recall),
			text.Count(c.Support))
		row.Cells[0].Code = c.Label != stats.NullLabel
		t.Rows = append(t.Rows, row)
	}
	t.Left = len(r.classes) - len(t.Rows)
	return t
}

func (r *Report) confusionTable(most int) document.Table {
	t := document.Table{
		Columns: []document.Column{{Name: "Count", Number: true}, {Name: "True"}, {Name: "Predicted"},
			{Name: "For example"}},
		Elsewhere: " (--classes 0 shows all)",
	}
	for i, c := range r.confused[:shown(len(r.confused), most)] {
		var examples []string
		if i < len(r.Confusions) {
			for _, e := range r.Confusions[i].Examples {
				examples = append(examples, shownLabel(e.ID)+": "+shownLabel(e.Message))
			}
		}
		row := document.Words(text.Count(c.Count), named(c.Truth), named(c.Predicted),
			strings.Join(examples[:min(len(examples), 1)], ""))
		row.Cells[3].Note = strings.Join(examples[min(len(examples), 1):], " · ")
		row.Cells[1].Code, row.Cells[2].Code = c.Truth != stats.NullLabel, c.Predicted != stats.NullLabel
		t.Rows = append(t.Rows, row)
	}
	t.Left = len(r.confused) - len(t.Rows)
	return t
}

func (r *Report) calibrationTable() document.Table {
	t := document.Table{Columns: document.Columns(1, "Confidence", "Items", "Mean", "Correct")}
	if r.Calibration == nil {
		return t
	}
	for _, bin := range r.Calibration.Bins {
		row := document.Words(short(bin.Low)+" to "+short(bin.High), text.Count(bin.N), rounded(bin.Confidence),
			rounded(bin.Accuracy))
		row.Cells[2].Bar = new(document.BarOf(bin.Confidence, [2]float64{0, bin.Confidence}))
		row.Cells[3].Bar = new(document.BarOf(bin.Accuracy, [2]float64{0, bin.Accuracy}))
		t.Rows = append(t.Rows, row)
	}
	return t
}

// metricName writes a metric as people do.
func metricName(metric string) string {
	return strings.ReplaceAll(strings.ReplaceAll(metric, "_", " "), " f1", " F1")
}

// facts returns the metrics, each with what it is to be read with and its threshold.
func (r *Report) facts() (facts []document.Fact) {
	known := map[string]string{}
	for _, t := range r.Thresholds {
		verdict := "reached"
		if !t.Passed {
			verdict = "MISSED"
		}
		known[t.Metric] = fmt.Sprintf("; threshold %s %s", short(t.Least), verdict)
	}
	add := func(metric, name string, value float64, about string) {
		facts = append(facts, document.Fact{Name: name, Value: score3(value),
			Note: strings.TrimPrefix(about+known[metric], "; ")})
	}
	add("accuracy", "accuracy", r.Accuracy, fmt.Sprintf("95%% interval %s to %s, %d of %d correct",
		rounded(r.AccuracyInterval[0]), rounded(r.AccuracyInterval[1]), r.Correct, r.N))
	if r.trueLabels {
		add("macro_f1", "macro F1", r.MacroF1True, fmt.Sprintf("mean over the %s; %s over all %d",
			text.Plural(len(r.classes), "true label"), score3(r.MacroF1), len(r.PerClass)))
	} else {
		add("macro_f1", "macro F1", r.MacroF1, fmt.Sprintf("mean over %s; %s over the %d true ones",
			text.Plural(len(r.PerClass), "label"), score3(r.MacroF1True), len(r.classes)))
	}
	add("weighted_f1", "weighted F1", r.WeightedF1, "")
	worst := ""
	if len(r.classes) > 0 {
		worst = shownLabel(r.classes[0].Label)
	}
	add("min_class_f1", "min class F1", r.MinClassF1, worst)
	if _, gated := known["recall"]; gated || r.Several {
		add("recall", "recall", r.MicroRecall,
			"share of the true labels that were found; precision "+score3(r.MicroPrecision))
	}
	if r.Calibration != nil {
		add("", "calibration", r.Calibration.ECE,
			fmt.Sprintf("mean distance of confidence and accuracy (ECE) over %s; Brier score %s",
				text.Plural(r.Calibration.N, "prediction"), rounded(r.Calibration.Brier)))
	}
	return facts
}

// notes returns what no number shows.
func (r *Report) notes() (notes []string) {
	if r.Null > 0 {
		have := map[bool]string{true: " has", false: " have"}[r.Null == 1]
		notes = append(notes, text.Plural(r.Null, "item")+have+" no prediction")
	}
	if n := len(r.Unseen); n > 0 {
		some := make([]string, 0, 11)
		for _, name := range r.Unseen[:min(n, 10)] {
			some = append(some, shownLabel(name))
		}
		if n > 10 {
			some = append(some, "…")
		}
		notes = append(notes, text.Plural(n, "predicted label")+" that no item has: "+strings.Join(some, ", "))
	}
	return notes
}

// Verdict returns in a line whether the classifier passed and, if not, why.
func (r *Report) Verdict() string {
	var missed []string
	for _, t := range r.Thresholds {
		if !t.Passed {
			missed = append(missed, fmt.Sprintf("%s %s is below %s", metricName(t.Metric), score3(t.Value),
				short(t.Least)))
		}
	}
	if len(missed) > 0 {
		return "FAILED: " + strings.Join(missed, ", ")
	}
	return "passed"
}

// score3 writes a score with three digits, never rounding one that misses its threshold up to it.
func score3(s float64) string { return text.Score(s, 3) }

// rounded writes a number that is compared with nothing, or whose distance to a threshold does not matter.
func rounded(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }

// short writes a number as it was given, with two digits at least.
func short(x float64) string {
	return strconv.FormatFloat(x, 'f', max(2, len(strconv.FormatFloat(x, 'f', -1, 64))-2), 64)
}

// maxShown is how much of a text fits in a table.
const maxShown = 80

// shownLabel returns a text from a file for a cell.
func shownLabel(s string) string { return text.OneLine(s, maxShown) }

// named returns a label as people read it: no prediction is in words.
func named(name string) string {
	if name == stats.NullLabel {
		return "no prediction"
	}
	return shownLabel(name)
}
