package grader

import (
	"context"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// maxNesting bounds composites within composites.
const maxNesting = 10

// composite grades by combining the grades of its children.
type composite struct {
	check    runner.Check
	children []runner.Check
	mode     string
}

func newComposite(a *Args) runner.Grader {
	list, ok := a.either("assertions", "graders", "list of assertions",
		"what is combined: criteria in words and assertions of any type, each with its own weight, required, negate, "+
			"min_score and threshold", true)
	mode := a.OneOf("mode", "weighted: the weighted mean; threshold: the share of members that pass by their own "+
		"mark, passed from threshold; all: the least score; any: the greatest", "weighted", "threshold", "all", "any")
	aggregator, hasAggregator := a.Node("aggregator", "mapping",
		"mode, threshold and weights by name in one place: {type: weighted_average | threshold | all | any, "+
			"threshold, weights}", false)
	a.refers("aggregator")
	c := &composite{mode: mode}
	if ok {
		c.children = a.children(list)
	}
	if hasAggregator {
		if a.node.Has("mode") {
			aggregator.Report("keep mode", "mode and aggregator say the same")
		}
		c.readAggregator(a, aggregator)
	}
	c.check = runner.Check{Assertion: a.Assertion}
	return c
}

// children makes the checks of a composite.
func (a *Args) children(list source.Node) []runner.Check {
	if a.depth >= maxNesting {
		list.Report("flatten the assertions", "composites are nested deeper than %d levels", maxNesting)
		return nil
	}
	if list.Kind == source.List && len(list.Items) == 0 {
		list.Report("add at least one assertion", "the list is empty")
	}
	var checks []runner.Check
	for _, child := range suite.Assertions(list, a.Assertion.Dir) {
		child.Vars = a.Assertion.Vars
		if child.Type == "" {
			continue // reported already
		}
		check, problems := a.set.build(child, a.depth+1)
		list.Add(problems)
		checks = append(checks, check)
	}
	return checks
}

// aggregator has the keys of a composite's aggregator.
type aggregator struct {
	Type      string             `json:"type" enum:"weighted_average,weighted,threshold,all,any"`
	Threshold *float64           `json:"threshold" minimum:"0" maximum:"1"`
	Weights   map[string]float64 `json:"weights" minimum:"0" maximum:"1000000"`
}

func (c *composite) readAggregator(a *Args, n source.Node) {
	var g aggregator
	source.Decode(n, &g)
	switch g.Type {
	case "":
	case "weighted_average":
		c.mode = "weighted"
	default:
		c.mode = g.Type
	}
	switch {
	case g.Threshold == nil:
	case a.node.Has("threshold"):
		n.Field("threshold").Report("keep one of the two", "threshold and aggregator.threshold are the same")
	case c.mode == "threshold":
		a.PassFrom(*g.Threshold)
	default:
		n.Field("threshold").Report("write `type: threshold`, or `threshold:` beside `type: composite`",
			"only an aggregator of type threshold has a threshold")
	}
	var names []string
	for i := range c.children {
		child := &c.children[i]
		if weight, ok := g.Weights[child.Name]; ok && child.Name != "" {
			child.Weight = weight
		}
		names = append(names, child.Name)
	}
	weights := n.Field("weights")
	for _, entry := range weights.Fields {
		if !slices.Contains(names, entry.Name) {
			weights.ReportUnknown(entry, names)
		}
	}
}

// Judged reports whether a child asks a model.
func (c *composite) Judged() bool {
	return slices.ContainsFunc(c.children, func(child runner.Check) bool { return child.Judged })
}

// Embeds reports whether a child asks an embedding model.
func (c *composite) Embeds() bool {
	return slices.ContainsFunc(c.children, Embeds)
}

// Always reports whether a child is asked even when short_circuit spares the judge.
func (c *composite) Always() bool {
	return slices.ContainsFunc(c.children, func(child runner.Check) bool { return child.Always })
}

// Grade asks the children, those with a model last, and combines their grades.
// If a child cannot decide, the composite cannot either; the grade then holds nothing but the judge's use.
func (c *composite) Grade(ctx context.Context, x *runner.Exchange) (result.Grade, error) {
	grades := make([]result.Grade, len(c.children))
	var use result.JudgeUse
	for _, judged := range []bool{false, true} {
		for i, child := range c.children {
			if child.Judged != judged {
				continue
			}
			grade, err := child.Grader.Grade(ctx, x)
			use = use.Add(grade.Judge)
			if err != nil {
				return result.Grade{Judge: use}, fmt.Errorf("%s: %w", nameOf(child), err)
			}
			grades[i] = child.Adjust(grade)
		}
	}
	g := c.combine(grades, x)
	g.Judge = use
	return g, nil
}
