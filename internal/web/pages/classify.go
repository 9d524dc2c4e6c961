package pages

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/classification"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// classificationsPage lists the reports of classifiers.
type classificationsPage struct {
	frame.Page
	List frame.List
	Rows []classificationRow
}

type classificationRow struct {
	ID, Address string
	Figures     []frame.Figure
}

// classifyPage is the report of one classifier.
type classifyPage struct {
	frame.Page
	ID string
	// Run is the run that the folder holds as well, whose conversations are the items; empty where there is none.
	Run        string
	Figures    []frame.Figure
	Report     classification.Report
	Labels     []string
	Matrix     []matrixLine
	Confusions []confusionRow
	Query      frame.Query
	List       frame.List
	Items      []classifiedItem
}

// matrixLine has the items of one true label by what was predicted.
type matrixLine struct {
	True  string
	Cells []confusionRow
}

type confusionRow struct {
	True, Predicted string
	Count           int
	Address         string
}

// classifiedItem is an item with its labels.
type classifiedItem struct {
	ID         string   `json:"id"`
	Expected   []string `json:"expected"`
	Predicted  []string `json:"predicted"`
	Correct    float64  `json:"correct"`
	Confidence *float64 `json:"confidence"`
}

// noLabels stands for labels of which there are none, where there may be several. What was not predicted at all is
// stats.NullLabel, which no label is called.
const noLabels = "none"

func labelled(labels []string) string {
	if labels == nil {
		return stats.NullLabel
	}
	if len(labels) == 0 {
		return noLabels
	}
	return strings.Join(labels, ", ")
}

// True returns what the item is labelled with, Guess what was predicted.
func (i classifiedItem) True() string { return labelled(i.Expected) }

// Guess returns what was predicted.
func (i classifiedItem) Guess() string { return labelled(i.Predicted) }

// Bounds of one report.
const (
	maxReport     = 32 << 20
	maxClassified = 500_000
	maxLabels     = 200
	maxConfusions = 20
)

// classifications answers with the reports of classifiers.
func (p *Pages) classifications(w http.ResponseWriter, r *http.Request) {
	page := classificationsPage{Page: p.frame.Base(r, "classifications", "Classifiers")}
	all := p.Runs.Classifications()
	var first, last int
	page.List, first, last = frame.QueryOf(r, "/classify", "page", "per").Page("classifications", len(all))
	for _, c := range all[first:last] {
		row := classificationRow{ID: c.ID, Address: "/classify/" + frame.Segment(c.ID)}
		report, err := readReport(c)
		if err != nil {
			page.Warnings = append(page.Warnings, "The report in the folder "+c.ID+" cannot be read.")
		} else {
			row.Figures = classified(report)
		}
		page.Rows = append(page.Rows, row)
	}
	if len(all) == 0 {
		page.List.Empty = "There are no reports of classifiers in these folders. `rehearse classify ITEMS --out DIR` " +
			"writes one; `rehearse view DIR` shows it."
	}
	p.frame.Show(w, http.StatusOK, "classifications", page)
}

func readReport(c runindex.Classification) (report classification.Report, err error) {
	file, err := os.Open(filepath.Join(c.Dir, runindex.ClassificationFile))
	if err != nil {
		return report, err
	}
	defer func() { _ = file.Close() }() // nothing was written
	return report, json.NewDecoder(io.LimitReader(file, maxReport)).Decode(&report)
}

// classified are the figures of a report.
func classified(r classification.Report) []frame.Figure {
	share := func(name, label string, x float64) frame.Figure {
		return frame.Figure{Name: name, Label: label, Value: text.Percent(x), Data: frame.Plain(x)}
	}
	accuracy := share("accuracy", "Accuracy", r.Accuracy)
	accuracy.Low, accuracy.High = frame.Plain(r.AccuracyInterval[0]), frame.Plain(r.AccuracyInterval[1])
	accuracy.Note = "95% interval " + text.PercentRange(r.AccuracyInterval)
	return []frame.Figure{
		count("n", "Items", r.N), accuracy, share("macro_f1", "Macro F1", r.MacroF1),
		share("weighted_f1", "Weighted F1", r.WeightedF1), share("min_class_f1", "Lowest F1 of a class", r.MinClassF1),
	}
}

// classify answers with the report of a classifier.
func (p *Pages) classify(w http.ResponseWriter, r *http.Request) {
	id := frame.Part(r, "id")
	all := p.Runs.Classifications()
	at := slices.IndexFunc(all, func(c runindex.Classification) bool { return c.ID == id })
	if at < 0 {
		p.frame.NotFound(w, r, "There is no such report of a classifier.", frame.Link{
			Label: "Classifiers", Address: "/classify",
		})
		return
	}
	report, err := readReport(all[at])
	if err != nil {
		p.Frame.Log.Error("a report cannot be read", "folder", id, "error", err)
		p.frame.Unavailable(w, r, "The report cannot be read.")
		return
	}
	address := "/classify/" + frame.Segment(id)
	page := classifyPage{
		Page: p.frame.Base(r, "classify", "Classifier "+id), ID: id, Report: report, Figures: classified(report),
		Query: frame.QueryOf(r, address, "true", "predicted", "correct", "page", "per"),
	}
	page.Trail = []frame.Link{{Label: "Classifiers", Address: "/classify", Up: true}}
	runs, _ := p.Runs.Runs()
	for _, run := range runs {
		if run.Dir == all[at].Dir {
			page.Run = run.Record.ID
		}
	}
	items, unreadable := readItems(all[at].Dir)
	if unreadable > 0 {
		page.Warnings = append(page.Warnings, text.Plural(unreadable, "item")+" of this report cannot be read.")
	}
	page.Warnings = append(page.Warnings, itemsWarning(report, items)...)
	page.matrix(items, address)
	fs := itemFilters(page.Query)
	var kept []classifiedItem
	for _, item := range items {
		if fs.all(item, "") {
			kept = append(kept, item)
		}
	}
	var first, last int
	page.List, first, last = page.Query.Page("items", len(kept))
	page.Items = kept[first:last]
	switch {
	case len(items) == 0:
		page.List.Empty = "The folder has no items.jsonl: `rehearse classify ITEMS --out DIR` writes it beside " +
			"the report."
	case len(kept) == 0:
		page.List.Empty, page.List.Drop = "No item fits these filters.", dropped(page.Query, fs, items)
	}
	p.frame.Show(w, http.StatusOK, "classify", page)
}

func itemFilters(q frame.Query) (fs filters[classifiedItem]) {
	fs.add(q, "true", func(i classifiedItem, value string) bool {
		return i.True() == value || slices.Contains(i.Expected, value)
	})
	fs.add(q, "predicted", func(i classifiedItem, value string) bool {
		return i.Guess() == value || slices.Contains(i.Predicted, value)
	})
	fs.add(q, "correct", func(i classifiedItem, value string) bool {
		return (i.Correct >= 1) == (value == "yes") && (value == "yes" || value == "no")
	})
	return fs
}

// readItems returns the items of a report, and how many lines are none.
func readItems(dir string) (items []classifiedItem, unreadable int) {
	file, err := os.Open(filepath.Join(dir, runindex.ItemsFile))
	if err != nil {
		return nil, 0
	}
	defer func() { _ = file.Close() }() // nothing was written
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && len(items) < maxClassified {
		var item classifiedItem
		if json.Unmarshal(lines.Bytes(), &item) != nil {
			unreadable++
			continue
		}
		items = append(items, item)
	}
	if lines.Err() != nil {
		unreadable++
	}
	return items, unreadable
}

// itemsWarning says where the figures of a report are not those of its items. A folder without items bears out nothing,
// which its list says.
func itemsWarning(report classification.Report, items []classifiedItem) []string {
	right := 0
	for _, i := range items {
		if i.Correct >= 1 {
			right++
		}
	}
	switch {
	case len(items) == 0:
		return nil
	case len(items) != report.N:
		return []string{
			fmt.Sprintf(
				"The report counts %d items, but %d are here. The figures of the report are those that it counts.",
				report.N, len(items)),
		}
	case math.Abs(report.Accuracy-float64(right)/float64(len(items))) > 1e-6:
		return []string{fmt.Sprintf("The report says that its accuracy is %s, but %d of its %d items are right.",
			text.Percent(report.Accuracy), right, len(items))}
	}
	return nil
}

// matrix counts the items by their labels and by what was predicted.
func (p *classifyPage) matrix(items []classifiedItem, address string) {
	type cell struct{ truth, guess string }
	counts := map[cell]int{}
	labels := map[string]bool{}
	for _, i := range items {
		counts[cell{i.True(), i.Guess()}]++
		labels[i.True()], labels[i.Guess()] = true, true
	}
	at := func(c cell) confusionRow {
		return confusionRow{
			c.truth, c.guess, counts[c], frame.Address(address, url.Values{"true": {c.truth}, "predicted": {c.guess}}),
		}
	}
	for c := range counts {
		if c.truth != c.guess {
			p.Confusions = append(p.Confusions, at(c))
		}
	}
	slices.SortFunc(p.Confusions, func(a, b confusionRow) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.True, b.True), cmp.Compare(a.Predicted, b.Predicted))
	})
	p.Confusions = p.Confusions[:min(len(p.Confusions), maxConfusions)]
	if len(labels) > maxLabels {
		p.Warnings = append(p.Warnings, fmt.Sprintf("The matrix of %s is too large for a page.",
			text.Plural(len(labels), "label")))
		return
	}
	for label := range labels {
		p.Labels = append(p.Labels, label)
	}
	slices.Sort(p.Labels)
	for _, truth := range p.Labels {
		line := matrixLine{True: truth}
		for _, guess := range p.Labels {
			line.Cells = append(line.Cells, at(cell{truth, guess}))
		}
		p.Matrix = append(p.Matrix, line)
	}
}
