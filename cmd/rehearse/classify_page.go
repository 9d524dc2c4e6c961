package main

import (
	"fmt"
	"html/template"
	"io"
	"slices"

	"rehearse/internal/setup"
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
	Bins    []calibrationBar
}

// calibrationBar is a bin of the calibration: how sure the classifier was and how often it was right, with the width of both bars.
type calibrationBar struct {
	Range, Sure, Right    string
	N                     int
	SureStyle, RightStyle template.CSS
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

// page writes a page that needs nothing else: the summary, the worst confusions with examples, the confusion matrix as a heat map, and the
// calibration.
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
	p.Bins = calibrationBars(r.Calibration)
	return matrixTemplate().Execute(w, p)
}

func calibrationBars(c *stats.Calibration) (bars []calibrationBar) {
	if c == nil {
		return nil
	}
	width := func(share float64) template.CSS {
		return template.CSS(fmt.Sprintf("width:%.1f%%", 100*share)) //nolint:gosec // made of a number only
	}
	for _, bin := range c.Bins {
		bars = append(bars, calibrationBar{
			Range: short(bin.Low) + " to " + short(bin.High), Sure: rounded(bin.Confidence), Right: rounded(bin.Accuracy), N: bin.N,
			SureStyle: width(bin.Confidence), RightStyle: width(bin.Accuracy),
		})
	}
	return bars
}

// matrixLabels returns the columns: true labels, the worst first, then those that were only predicted.
func (r *classification) matrixLabels() (labels []string) {
	for _, c := range r.classes {
		labels = append(labels, c.Label)
	}
	for _, name := range setup.Names(r.PerClass) {
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
.bars{width:16rem}.bars i{display:block;height:.5rem;margin:.1rem 0;background:#bbb}.bars i+i{background:#2878c8}
</style>
<h1>Classification: {{.Verdict}}</h1>
<table>{{range .Summary}}<tr><th>{{index . 0}}<td>{{index . 1}}<td>{{index . 2}}{{end}}</table>
{{range .Notes}}<p>{{label .}}</p>{{end}}
<p>Each item with its labels: <a href="items.jsonl">items.jsonl</a>; all numbers: <a href="classification.json">classification.json</a>.</p>
{{if .Confusions}}<h2>Worst confusions</h2>
<table><tr><th>count<th>true<th>predicted<th>for example
{{range .Confusions}}<tr><td>{{.Count}}<td>{{label .Truth}}<td>{{label .Predicted}}<td>{{range $i, $e := .Examples}}{{if $i}}<br>{{end}}{{label .ID}}: {{label .Message}}{{end}}
{{end}}</table>{{end}}
<h2>Confusion matrix</h2>
<p>A row is what was true, a column what was predicted. Blue is right, red is not; the darker, the larger the share of the row. {{.Shown}}</p>
<table class="matrix"><thead><tr><td>{{range .Labels}}<th scope="col">{{label .}}{{end}}</thead>
{{range .Rows}}<tr><th scope="row">{{.Label}}
{{- range .Cells}}<td{{if .Count}} style="{{.Style}}" title="{{.Title}}">{{.Count}}{{else}}>{{end}}{{end}}
{{end}}</table>
{{if .Bins}}<h2>Calibration</h2>
<p>Grey is how sure the classifier was, blue how often it was right. Where blue is shorter it was too sure of itself.</p>
<table><tr><th>confidence<th>items<th>mean<th>correct<th>
{{range .Bins}}<tr><td>{{.Range}}<td>{{.N}}<td>{{.Sure}}<td>{{.Right}}<td class="bars"><i style="{{.SureStyle}}"></i><i style="{{.RightStyle}}"></i>
{{end}}</table>{{end}}
</html>
`))
}
