package classification

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Markdown writes the report for a pull request. Texts from files stand in code spans, where they can do nothing.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## Classification: %s\n\n", r.Verdict())
	rows := make([][]string, 0, 8)
	for _, row := range r.summary() {
		about := row[2]
		if row[0] == "min class F1" && len(r.classes) > 0 {
			about = strings.Replace(about, shownLabel(r.classes[0].Label), code(r.classes[0].Label), 1)
		}
		rows = append(rows, []string{row[0], row[1], about})
	}
	MarkdownTable(&b, []string{"metric", "value", ""}, rows)
	if r.Null > 0 {
		fmt.Fprintf(&b, "\n%s no prediction.\n", has(r.Null, "item"))
	}
	if n := len(r.Unseen); n > 0 {
		fmt.Fprintf(&b, "\n%s predicted that no item has, such as %s.\n", was(n, "label"), code(r.Unseen[0]))
	}
	fmt.Fprintf(&b, "\n### Classes%s\n\n", r.shown(len(r.classes)))
	rows = rows[:0]
	for _, c := range r.classes[:r.most(len(r.classes))] {
		rows = append(rows, []string{code(c.Label), score3(c.F1), score3(c.Precision), score3(c.Recall), strconv.Itoa(c.Support)})
	}
	MarkdownTable(&b, []string{"label", "F1", "precision", "recall", "support"}, rows)
	r.markdownConfusions(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) markdownConfusions(w io.Writer) {
	if len(r.confused) == 0 {
		return
	}
	fmt.Fprintf(w, "\n### Confusions%s\n\n", r.shown(len(r.confused)))
	var rows [][]string
	for i, c := range r.confused[:r.most(len(r.confused))] {
		example := ""
		if i < len(r.Confusions) && len(r.Confusions[i].Examples) > 0 {
			example = code(r.Confusions[i].Examples[0].Message)
		}
		rows = append(rows, []string{strconv.Itoa(c.Count), code(c.Truth), code(c.Predicted), example})
	}
	MarkdownTable(w, []string{"count", "true", "predicted", "for example"}, rows)
}

// MarkdownTable writes a table. The texts of its cells have to fit into one.
func MarkdownTable(w io.Writer, header []string, rows [][]string) {
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(header, " | "), strings.Repeat("---|", len(header)))
	for _, row := range rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
}

// code returns a text as a code span that fits in a cell of a table.
func code(s string) string {
	s = strings.NewReplacer("`", "'", "|", `\|`).Replace(shownLabel(s))
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
