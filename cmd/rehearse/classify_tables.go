package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

func (r *classification) classTable(w io.Writer) {
	fmt.Fprintf(w, "\nClasses%s\n", r.shown(len(r.classes)))
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "label\tF1\tprecision\trecall\tsupport")
	for _, c := range r.classes[:r.most(len(r.classes))] {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\n", label(c.Label), score3(c.F1), score3(c.Precision), score3(c.Recall), c.Support)
	}
	_ = table.Flush() // into memory
}

func (r *classification) confusionList(w io.Writer) {
	if len(r.confused) == 0 {
		return
	}
	fmt.Fprintf(w, "\nConfusions%s\n", r.shown(len(r.confused)))
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "count\ttrue\tpredicted\tfor example")
	for i, c := range r.confused[:r.most(len(r.confused))] {
		example := ""
		if i < len(r.Confusions) && len(r.Confusions[i].Examples) > 0 {
			first := r.Confusions[i].Examples[0]
			example = label(first.ID) + ": " + label(first.Message)
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\n", c.Count, label(c.Truth), label(c.Predicted), example)
	}
	_ = table.Flush() // into memory
}

func (r *classification) calibrationTable(w io.Writer) {
	if r.Calibration == nil {
		return
	}
	fmt.Fprintln(w, "\nConfidence")
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "from\tto\titems\tmean\tcorrect")
	for _, bin := range r.Calibration.Bins {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", short(bin.Low), short(bin.High), bin.N, rounded(bin.Confidence), rounded(bin.Accuracy))
	}
	_ = table.Flush() // into memory
}

// most returns how many of n rows are shown.
func (r *classification) most(n int) int {
	if r.show == 0 {
		return n
	}
	return min(n, r.show)
}

func (r *classification) shown(n int) string {
	if m := r.most(n); m < n {
		return fmt.Sprintf(", the %d worst of %d (--classes 0 shows all)", m, n)
	}
	return ""
}
