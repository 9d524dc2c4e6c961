package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/bench/machine"
)

// Limits of a ratio of this tree to the base. A total of CPU or private memory above overLimit fails the comparison.
const (
	nearLimit = 1.02
	overLimit = 1.05
)

// pairing is one job done by two builds in turn: a row of the comparison. The usages of one index are a pair.
type pairing struct {
	Job  string  `json:"job"`
	Base []usage `json:"base"`
	Tree []usage `json:"tree"`
	// NotComparable is why the base cannot do this job, such as a file in a format that it rejects.
	NotComparable string `json:"not_comparable,omitempty"`
	// Error is why a run is not a measurement, such as an unexpected exit code. The whole row does not count then.
	Error string `json:"error,omitempty"`
	// Note names files that only one of the builds wrote, since writing less is faster.
	Note string `json:"note,omitempty"`
}

// quantity is what is compared; of returns 0 where it is unknown.
type quantity struct {
	name string
	of   func(usage) float64
	text func(float64) string
	// gates is true when the total decides the exit code.
	gates bool
}

var quantities = []quantity{
	{name: "CPU", of: func(u usage) float64 { return u.CPU.Seconds() }, text: secondsOf, gates: true},
	{name: "private memory", of: func(u usage) float64 { return float64(u.Private) }, text: megabytesOf, gates: true},
	{name: "wall", of: func(u usage) float64 { return u.Wall.Seconds() }, text: secondsOf},
}

func secondsOf(s float64) string       { return seconds(time.Duration(s * float64(time.Second))) }
func megabytesOf(bytes float64) string { return fmt.Sprintf("%.1f MB", bytes/mb) }

// counts reports whether the row is part of the totals.
func (p *pairing) counts() bool {
	return p.NotComparable == "" && p.Error == "" && len(p.Base) > 0 && len(p.Base) == len(p.Tree)
}

// ratios returns the ratio of this tree to the base in each pair, and false if one of them is unknown.
func (p *pairing) ratios(q quantity) (machine.Spread[float64], bool) {
	if !p.counts() {
		return machine.Spread[float64]{}, false
	}
	var all []float64
	for i := range p.Base {
		base, tree := q.of(p.Base[i]), q.of(p.Tree[i])
		if base <= 0 || tree <= 0 {
			return machine.Spread[float64]{}, false
		}
		all = append(all, tree/base)
	}
	return machine.SpreadOf(all), true
}

// total returns the geometric mean of the rows that count, and false if there are none or one of them is unknown.
func total(rows []*pairing, q quantity) (float64, bool) {
	sum, n := 0.0, 0
	for _, p := range rows {
		if !p.counts() {
			continue
		}
		ratio, known := p.ratios(q)
		if !known {
			return 0, false
		}
		sum, n = sum+math.Log(ratio.Median), n+1
	}
	return math.Exp(sum / float64(max(n, 1))), n > 0
}

// mark returns the limit that a ratio is above, or nothing.
func mark(ratio float64) string {
	switch {
	case ratio > overLimit:
		return fmt.Sprintf("> %.2f", overLimit)
	case ratio > nearLimit:
		return fmt.Sprintf("> %.2f", nearLimit)
	}
	return ""
}

// marks joins the marks of several quantities.
func marks(of func(quantity) (float64, bool)) string {
	var all []string
	for _, q := range quantities {
		if ratio, known := of(q); !known {
			all = append(all, q.name+" unknown")
		} else if m := mark(ratio); m != "" {
			all = append(all, q.name+" "+m)
		}
	}
	return dash(len(all) > 0, strings.Join(all, ", "))
}

// comparisonTable returns the rows and their totals as text; of is how many rows a whole comparison has.
func comparisonTable(rows []*pairing, of int) [][]string {
	head, last := []string{"job", "pairs"}, []string{"", ""}
	for _, q := range quantities {
		head = append(head, q.name+" of base", "ratio (min–max)")
		ratio, known := total(rows, q)
		last = append(last, "", dash(known, fmt.Sprintf("%.3f", ratio)))
	}
	table, counted := [][]string{append(head, "limit")}, 0
	for _, p := range rows {
		if p.counts() {
			counted++
		}
		table = append(table, p.cells())
	}
	last[0] = fmt.Sprintf("geometric mean of %d of %d rows", counted, of)
	return append(table, append(last, marks(func(q quantity) (float64, bool) { return total(rows, q) })))
}

func (p *pairing) cells() []string {
	line := []string{p.Job, fmt.Sprint(min(len(p.Base), len(p.Tree)))}
	for _, q := range quantities {
		ratio, known := p.ratios(q)
		if !known {
			line = append(line, "–", "–")
			continue
		}
		var base []float64
		for _, u := range p.Base {
			base = append(base, q.of(u))
		}
		line = append(line, q.text(machine.SpreadOf(base).Median),
			fmt.Sprintf("%.3f (%.2f–%.2f)", ratio.Median, ratio.Least, ratio.Most))
	}
	switch {
	case p.Error != "":
		return append(line, "failed")
	case p.NotComparable != "":
		return append(line, "not comparable")
	case !p.counts():
		return append(line, "not measured")
	}
	return append(line, marks(func(q quantity) (float64, bool) {
		ratio, known := p.ratios(q)
		return ratio.Median, known
	}))
}

// judge returns why the comparison fails: a row that is not a measurement, or a total above the limit or unknown.
func judge(rows []*pairing) error {
	var errs []error
	for _, p := range rows {
		if p.Error != "" {
			errs = append(errs, fmt.Errorf("%s: %s", p.Job, p.Error))
		} else if p.NotComparable == "" && !p.counts() {
			errs = append(errs, fmt.Errorf("%s: not measured", p.Job))
		}
	}
	for _, q := range quantities {
		ratio, known := total(rows, q)
		switch {
		case !q.gates:
		case !known:
			errs = append(errs, fmt.Errorf("%s: the total is unknown", q.name))
		case ratio > overLimit:
			errs = append(errs, fmt.Errorf("%s: %.3f times the base, the limit is %.2f", q.name, ratio, overLimit))
		}
	}
	return errors.Join(errs...)
}

// compareFiles notes the files that only one side wrote in the last pair.
func (p *pairing) compareFiles() {
	if !p.counts() {
		return
	}
	base, tree := p.Base[len(p.Base)-1].Files, p.Tree[len(p.Tree)-1].Files
	only := func(these, those []string) []string {
		return slices.DeleteFunc(slices.Clone(these), func(name string) bool { return slices.Contains(those, name) })
	}
	var notes []string
	if names := only(base, tree); len(names) > 0 {
		notes = append(notes, "only the base writes "+strings.Join(names, ", "))
	}
	if names := only(tree, base); len(names) > 0 {
		notes = append(notes, "only this tree writes "+strings.Join(names, ", "))
	}
	p.Note = strings.Join(notes, "; ")
}

// summary is the row's line of progress.
func (p *pairing) summary() string {
	if !p.counts() {
		return dash(p.Error+p.NotComparable != "", p.Error+p.NotComparable)
	}
	var all []string
	for _, q := range quantities {
		ratio, known := p.ratios(q)
		all = append(all, q.name+" × "+dash(known, fmt.Sprintf("%.3f", ratio.Median)))
	}
	return strings.Join(all, ", ")
}
