package main

import (
	"fmt"
	"html/template"
	"io"
	"slices"

	"rehearse/internal/stats"
)

// maxMatrix is how many labels the page's matrix has room for: the worst ones, and what they are taken for.
const maxMatrix = 200

// matrixPage is what the page shows.
type matrixPage struct {
	*classification
	Verdict string
	Summary [][3]string
	Notes   []string
	Shown   string
	Labels  []string
	Rows    []matrixRow
}

type matrixRow struct {
	Label string
	Cells []matrixCell
}

// matrixCell is how often a label was predicted for another. Style colours it by its share of the row; the diagonal is right.
type matrixCell struct {
	Count int
	Title string
	Style template.CSS
}

// page writes a page that needs nothing else: the summary and the confusion matrix as a heat map.
func (r *classification) page(w io.Writer) error {
	p := matrixPage{classification: r, Verdict: r.verdict(), Summary: r.summary(), Notes: r.notes()}
	p.Labels = r.matrixLabels()
	if n := len(r.PerClass); len(p.Labels) < n {
		p.Shown = fmt.Sprintf("The %d labels of %d that are worst or taken for these.", len(p.Labels), n)
	}
	counts := map[[2]string]int{}
	for _, c := range r.confused {
		counts[[2]string{c.Truth, c.Predicted}] = c.Count
	}
	for _, c := range r.classes {
		counts[[2]string{c.Label, c.Label}] = c.Correct
		if slices.Contains(p.Labels, c.Label) {
			p.Rows = append(p.Rows, matrixRowOf(c, p.Labels, counts))
		}
	}
	return matrixTemplate().Execute(w, p)
}

// matrixLabels returns the columns: true labels, the worst first, then those that were only predicted.
func (r *classification) matrixLabels() (labels []string) {
	for _, c := range r.classes {
		labels = append(labels, c.Label)
	}
	for _, name := range sortedNames(r.PerClass) {
		if r.PerClass[name].Support == 0 {
			labels = append(labels, name)
		}
	}
	return labels[:min(len(labels), maxMatrix)]
}

func matrixRowOf(c stats.ClassScore, labels []string, counts map[[2]string]int) matrixRow {
	row := matrixRow{Label: label(c.Label)}
	for _, predicted := range labels {
		n := counts[[2]string{c.Label, predicted}]
		if n == 0 {
			row.Cells = append(row.Cells, matrixCell{})
			continue
		}
		colour := "200,40,40"
		if predicted == c.Label {
			colour = "40,120,200"
		}
		share := 0.15 + 0.85*float64(n)/float64(c.Support)
		row.Cells = append(row.Cells, matrixCell{
			Count: n, Title: fmt.Sprintf("%s as %s: %d of %d", label(c.Label), label(predicted), n, c.Support),
			Style: template.CSS(fmt.Sprintf("background:rgba(%s,%.2f)", colour, share)), //nolint:gosec // made of numbers only
		})
	}
	return row
}

func matrixTemplate() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{"label": label}).Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Classification</title>
<style>
body{font:14px/1.5 system-ui,sans-serif;margin:2rem;color:#222}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.15rem .5rem;text-align:left;border-bottom:1px solid #eee;font-weight:normal}
.matrix td{width:1.6rem;min-width:1.6rem;padding:0;text-align:center;font-size:11px;border:1px solid #f4f4f4}
.matrix th{font-size:11px;white-space:nowrap;border:0}.matrix thead th{writing-mode:vertical-rl;transform:rotate(180deg);padding:.3rem 0}
.matrix{display:block;overflow:auto}
</style>
<h1>Classification: {{.Verdict}}</h1>
<table>{{range .Summary}}<tr><th>{{index . 0}}<td>{{index . 1}}<td>{{index . 2}}{{end}}</table>
{{range .Notes}}<p>{{label .}}</p>{{end}}
<h2>Confusion matrix</h2>
<p>A row is what was true, a column what was predicted. Blue is right, red is not; the darker, the larger the share of the row. {{.Shown}}</p>
<table class="matrix"><thead><tr><td>{{range .Labels}}<th scope="col">{{label .}}{{end}}</thead>
{{range .Rows}}<tr><th scope="row">{{.Label}}
{{- range .Cells}}<td{{if .Count}} style="{{.Style}}" title="{{.Title}}">{{.Count}}{{else}}>{{end}}{{end}}
{{end}}</table>
</html>
`))
}
