package classification

import (
	"fmt"
	"strconv"
	"strings"
)

func (r *Report) classTable(b *strings.Builder) {
	fmt.Fprintf(b, "\nClasses%s\n", r.shown(len(r.classes)))
	rows := [][]string{{"label", "F1", "precision", "recall", "support"}}
	for _, c := range r.classes[:r.most(len(r.classes))] {
		rows = append(rows, []string{shownLabel(c.Label), score3(c.F1), score3(c.Precision), score3(c.Recall), strconv.Itoa(c.Support)})
	}
	writeTable(b, rows)
}

func (r *Report) confusionList(b *strings.Builder) {
	if len(r.confused) == 0 {
		return
	}
	fmt.Fprintf(b, "\nConfusions%s\n", r.shown(len(r.confused)))
	rows := [][]string{{"count", "true", "predicted", "for example"}}
	for i, c := range r.confused[:r.most(len(r.confused))] {
		example := ""
		if i < len(r.Confusions) && len(r.Confusions[i].Examples) > 0 {
			first := r.Confusions[i].Examples[0]
			example = shownLabel(first.ID) + ": " + shownLabel(first.Message)
		}
		rows = append(rows, []string{strconv.Itoa(c.Count), shownLabel(c.Truth), shownLabel(c.Predicted), example})
	}
	writeTable(b, rows)
}

func (r *Report) calibrationTable(b *strings.Builder) {
	if r.Calibration == nil {
		return
	}
	fmt.Fprintln(b, "\nConfidence")
	rows := [][]string{{"from", "to", "items", "mean", "correct"}}
	for _, bin := range r.Calibration.Bins {
		rows = append(rows, []string{short(bin.Low), short(bin.High), strconv.Itoa(bin.N), rounded(bin.Confidence), rounded(bin.Accuracy)})
	}
	writeTable(b, rows)
}

// most returns how many of n rows are shown.
func (r *Report) most(n int) int {
	if r.show == 0 {
		return n
	}
	return min(n, r.show)
}

func (r *Report) shown(n int) string {
	if m := r.most(n); m < n {
		return fmt.Sprintf(", the %d worst of %d (--classes 0 shows all)", m, n)
	}
	return ""
}
