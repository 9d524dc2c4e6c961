package classification

import (
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

//go:embed matrix.css
var matrixStyle string

const matrixSource = `{{define "matrix"}}
<div class="wide"><table class="matrix"><thead><tr><td></td>{{range .Labels}}<th scope="col">{{.}}</th>{{end}}</tr></thead>
{{range .Rows}}<tr><th scope="row">{{.Label}}</th>
{{- range .Cells}}<td{{with .Class}} class="{{.}}"{{end}}{{with .Title}} title="{{.}}"{{end}}>{{with .Count}}{{.}}{{end}}</td>{{end}}</tr>
{{end}}</table></div>
<p class="note">Each item with its labels: <a href="` + rowsFile + `">` + rowsFile + `</a>; all figures: <a href="` +
	dataFile + `">` + dataFile + `</a>.</p>
{{end}}`

// maxMatrix is how many labels the matrix has room for: the worst ones, and those that they are taken for.
const maxMatrix = 200

// shades is how many strengths of a colour the cells of the matrix have.
const shades = 8

// matrixRow is how often each label was predicted for one that is true.
type matrixRow struct {
	Label string
	Cells []matrixCell
}

// matrixCell is how often a label was predicted for another. Class colours it by its share of the row; the diagonal is
// right.
type matrixCell struct {
	Count        int
	Title, Class string
}

// matrix returns the confusion matrix as a heat map.
func (r *Report) matrix() (document.Section, error) {
	labels := r.matrixLabels()
	lead := "A row is the true label, a column the predicted one. Blue is right, red is not; the darker, " +
		"the larger the share of the row."
	if n := len(r.PerClass); len(labels) < n {
		lead += fmt.Sprintf(" The %d labels of %d that are worst or taken for these.", len(labels), n)
	}
	counts := map[[2]string]int{}
	for _, c := range r.confused {
		counts[[2]string{c.Truth, c.Predicted}] = c.Count
	}
	view := struct {
		Labels []string
		Rows   []matrixRow
	}{}
	for _, name := range labels {
		view.Labels = append(view.Labels, named(name))
	}
	for _, c := range r.classes[:min(len(r.classes), len(labels))] {
		counts[[2]string{c.Label, c.Label}] = c.Correct
		row := matrixRow{Label: named(c.Label), Cells: make([]matrixCell, len(labels))}
		for i, predicted := range labels {
			n := counts[[2]string{c.Label, predicted}]
			if n == 0 {
				continue
			}
			class := fmt.Sprintf("s%d", 1+min(shades-1, shades*n/max(1, c.Support)))
			if predicted == c.Label {
				class = "right " + class
			}
			row.Cells[i] = matrixCell{n, fmt.Sprintf("%s as %s: %d of %d", named(c.Label), named(predicted), n,
				c.Support), class}
		}
		view.Rows = append(view.Rows, row)
	}
	var drawn strings.Builder
	err := pageTemplate().ExecuteTemplate(&drawn, "matrix", view)
	return document.Section{
		ID: "matrix", Title: "Confusion matrix", Nav: "Confusion matrix", Lead: lead,
		Draw: template.HTML(drawn.String()),
	}, err
}

// matrixLabels returns the columns: true labels, the worst first, then those that were only predicted.
func (r *Report) matrixLabels() (labels []string) {
	for _, c := range r.classes {
		labels = append(labels, c.Label)
	}
	for _, name := range slices.Sorted(maps.Keys(r.PerClass)) {
		if r.PerClass[name].Support == 0 {
			labels = append(labels, name)
		}
	}
	return labels[:min(len(labels), maxMatrix)]
}

func verdictOf(passed bool) result.Verdict {
	if passed {
		return result.Pass
	}
	return result.Fail
}
