package classification

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Text writes the report for a terminal.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	var rows [][]string
	for _, row := range r.summary() {
		rows = append(rows, row[:])
	}
	writeTable(&b, rows)
	for _, note := range r.notes() {
		fmt.Fprintln(&b, shownLabel(note))
	}
	r.classTable(&b)
	r.confusionList(&b)
	r.calibrationTable(&b)
	fmt.Fprintln(&b, "\n"+r.Verdict())
	_, err := io.WriteString(w, text.NoCommand(b.String()))
	return err
}

func writeTable(b *strings.Builder, rows [][]string) {
	for _, line := range text.Table(rows, nil) {
		b.WriteString(line + "\n")
	}
}

// metricName says how people call a metric.
func metricName(metric string) string {
	return strings.ReplaceAll(strings.ReplaceAll(metric, "_", " "), " f1", " F1")
}

// summary returns the rows metric, value, and what the value is to be read with.
func (r *Report) summary() (rows [][3]string) {
	known := map[string]string{}
	for _, t := range r.Thresholds {
		verdict := "reached"
		if !t.Passed {
			verdict = "MISSED"
		}
		known[t.Metric] = fmt.Sprintf("; threshold %s %s", short(t.Least), verdict)
	}
	add := func(metric, name string, value float64, about string) {
		rows = append(rows, [3]string{name, score3(value), strings.TrimPrefix(about+known[metric], "; ")})
	}
	add("accuracy", "accuracy", r.Accuracy, fmt.Sprintf("95 %% interval %s to %s, %d of %d correct",
		rounded(r.AccuracyInterval[0]), rounded(r.AccuracyInterval[1]), r.Correct, r.N))
	if r.trueLabels {
		add("macro_f1", "macro F1", r.MacroF1True, fmt.Sprintf("mean over the %s; %s over all %d",
			plural(len(r.classes), "true label"), score3(r.MacroF1), len(r.PerClass)))
	} else {
		add("macro_f1", "macro F1", r.MacroF1, fmt.Sprintf("mean over %s; %s over the %d true ones",
			plural(len(r.PerClass), "label"), score3(r.MacroF1True), len(r.classes)))
	}
	add("weighted_f1", "weighted F1", r.WeightedF1, "")
	worst := ""
	if len(r.classes) > 0 {
		worst = shownLabel(r.classes[0].Label)
	}
	add("min_class_f1", "min class F1", r.MinClassF1, worst)
	if _, gated := known["recall"]; gated || r.Several {
		add("recall", "recall", r.MicroRecall, "share of the true labels that were found; precision "+score3(r.MicroPrecision))
	}
	if r.Calibration != nil {
		add("", "calibration", r.Calibration.ECE, fmt.Sprintf("mean distance of confidence and accuracy (ECE) over %s; Brier score %s",
			plural(r.Calibration.N, "prediction"), rounded(r.Calibration.Brier)))
	}
	return rows
}

// notes says what no number shows.
func (r *Report) notes() (notes []string) {
	if r.Null > 0 {
		notes = append(notes, fmt.Sprintf("%s no prediction (the class %s).", has(r.Null, "item"), stats.NullLabel))
	}
	if n := len(r.Unseen); n > 0 {
		some := strings.Join(r.Unseen[:min(n, 10)], ", ")
		if n > 10 {
			some += ", …"
		}
		notes = append(notes, fmt.Sprintf("%s predicted that no item has: %s.", was(n, "label"), some))
	}
	return notes
}

// missed says which thresholds were missed.
func (r *Report) missed() (missed []string) {
	for _, t := range r.Thresholds {
		if !t.Passed {
			missed = append(missed, fmt.Sprintf("%s %s is below %s", metricName(t.Metric), score3(t.Value), short(t.Least)))
		}
	}
	return missed
}

// Verdict says in a line whether the classifier passed and, if not, why.
func (r *Report) Verdict() string {
	if missed := r.missed(); len(missed) > 0 {
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

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func has(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " has"
	}
	return plural(n, noun) + " have"
}

func was(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " was"
	}
	return plural(n, noun) + " were"
}

// maxShown is how much of a text fits in a table.
const maxShown = 80

// shownLabel returns a text that came from a file fit for a line of a terminal, a page or Markdown.
func shownLabel(s string) string { return text.OneLine(s, maxShown) }
