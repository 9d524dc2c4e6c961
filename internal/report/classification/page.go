package classification

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/report/page"
)

//go:embed page.html.tmpl
var pageSource string

//go:embed page.css
var pageStyle string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return page.Parse(pageStyle, pageSource, template.FuncMap{"label": shownLabel, "named": named})
})

// maxMatrix is how many labels the page's matrix has room for: the worst ones, and what they are taken for.
const maxMatrix = 200

// pageView is what the page shows.
type pageView struct {
	*Report
	Headline                   string
	Reasons                    []string
	AccuracyText, AccuracyNote string
	Bar                        page.Bar
	Facts                      []page.Fact
	Notes                      []string
	Shown                      string
	Labels                     []string
	Rows                       []matrixRow
	Bins                       []calibrationBar
}

// calibrationBar is a bin of the calibration: how sure the classifier was and how often it was right, with the width of both bars in percent.
type calibrationBar struct {
	Range, Sure, Right    string
	N                     int
	SureWidth, RightWidth float64
}

type matrixRow struct {
	Label string
	Cells []matrixCell
}

// matrixCell is how often a shownLabel was predicted for another. Class colours it by its share of the row; the diagonal is right.
type matrixCell struct {
	Count        int
	Title, Class string
}

// HTML writes one self-contained page: the summary, the confusion matrix as a heat map, the worst confusions with examples, and the calibration.
func (r *Report) HTML(w io.Writer) error {
	summary := r.summary()
	p := pageView{
		Report: r, Headline: "The classifier passed", AccuracyText: summary[0][1], AccuracyNote: summary[0][2],
		Bar: page.BarOf(r.Accuracy, r.AccuracyInterval), Notes: r.notes(), Bins: calibrationBars(r.Calibration),
	}
	if !r.Passed {
		p.Headline, p.Reasons = "The classifier missed a threshold", r.missed()
	}
	for _, row := range summary[1:] {
		p.Facts = append(p.Facts, page.Fact{Name: row[0], Value: row[1], Note: row[2]})
	}
	for i := range p.Notes {
		p.Notes[i] = strings.Replace(p.Notes[i], " (the class "+stats.NullLabel+")", "", 1)
	}
	p.matrix()
	return pageTemplate().ExecuteTemplate(w, "classification", p)
}

// matrix fills in the rows and columns of the matrix.
func (p *pageView) matrix() {
	p.Labels = p.matrixLabels()
	if n := len(p.PerClass); len(p.Labels) < n {
		p.Shown = fmt.Sprintf("The %d labels of %d that are worst or taken for these.", len(p.Labels), n)
	}
	counts := map[[2]string]int{}
	for _, c := range p.confused {
		counts[[2]string{c.Truth, c.Predicted}] = c.Count
	}
	for _, c := range p.classes[:min(len(p.classes), len(p.Labels))] {
		counts[[2]string{c.Label, c.Label}] = c.Correct
		p.Rows = append(p.Rows, matrixRowOf(c, p.Labels, counts))
	}
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

// shades is how many strengths of a colour the cells of the matrix have.
const shades = 8

func matrixRowOf(c stats.ClassScore, labels []string, counts map[[2]string]int) matrixRow {
	row := matrixRow{Label: named(c.Label), Cells: make([]matrixCell, 0, len(labels))}
	for _, predicted := range labels {
		n := counts[[2]string{c.Label, predicted}]
		if n == 0 {
			row.Cells = append(row.Cells, matrixCell{})
			continue
		}
		class := fmt.Sprintf("s%d", 1+min(shades-1, shades*n/max(1, c.Support)))
		if predicted == c.Label {
			class = "right " + class
		}
		row.Cells = append(row.Cells, matrixCell{n, fmt.Sprintf("%s as %s: %d of %d", named(c.Label), named(predicted), n, c.Support), class})
	}
	return row
}

func calibrationBars(c *stats.Calibration) (bars []calibrationBar) {
	if c == nil {
		return nil
	}
	for _, bin := range c.Bins {
		bars = append(bars, calibrationBar{
			Range: short(bin.Low) + " to " + short(bin.High), Sure: rounded(bin.Confidence), Right: rounded(bin.Accuracy), N: bin.N,
			SureWidth: page.Round(100 * bin.Confidence), RightWidth: page.Round(100 * bin.Accuracy),
		})
	}
	return bars
}

// named is a shownLabel as people read it on the page: no prediction is said in words.
func named(name string) string {
	if name == stats.NullLabel {
		return "no prediction"
	}
	return shownLabel(name)
}
