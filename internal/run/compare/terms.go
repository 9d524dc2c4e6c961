package compare

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// terms are what must be equal for the records of a test in two runs to be compared.
type terms struct {
	// definition is empty, and strictness unknown, in records of earlier versions.
	definition string
	threshold  float64
	strict     bool
	// trials is how many were planned, 1 for a test without trials and 0 where that is unknown. A single trial has no
	// strategy.
	trials   int
	strategy string
	// judged is true where a judge decided the test, user the model of its simulated user.
	judged bool
	user   string
}

func termsOf(t *result.Test) terms {
	x := terms{
		definition: t.Definition, threshold: t.Threshold, strict: t.Strict, trials: 1,
		judged: t.Judge.Calls+t.Judge.CacheHits > 0,
	}
	if t.User != nil {
		x.user = t.User.Model
	}
	if t.Trials == nil {
		return x
	}
	x.strategy, x.trials = t.Trials.Strategy, t.Trials.Planned
	if x.trials == 0 && x.strategy != string(suite.PassAtK) { // which may have stopped before the last one
		x.trials = t.Trials.Count
	}
	if x.trials == 1 {
		x.strategy = ""
	}
	return x
}

// sameThreshold is the difference of thresholds below which they are equal.
const sameThreshold = 1e-9

// setting is a setting that may differ, with its value on both sides.
type setting struct{ what, was, now string }

// differ returns the settings that keep two records of a test from being compared. Unknown settings do not differ.
func (x *terms) differ(y *terms, judges judging) (differ []setting) {
	known := x.definition != "" && y.definition != ""
	if known && x.definition != y.definition {
		differ = append(differ, setting{what: result.DifferentDefinition})
	}
	if d := x.threshold - y.threshold; d > sameThreshold || d < -sameThreshold {
		differ = append(differ, setting{result.DifferentThreshold, decimal(x.threshold), decimal(y.threshold)})
	}
	if known && x.strict != y.strict {
		differ = append(differ, setting{result.DifferentStrictness, strictness(x.strict), strictness(y.strict)})
	}
	if x.trials != y.trials && x.trials > 0 && y.trials > 0 {
		differ = append(differ, setting{result.DifferentTrials, strconv.Itoa(x.trials), strconv.Itoa(y.trials)})
	}
	if x.strategy != y.strategy && x.strategy != "" && y.strategy != "" {
		differ = append(differ, setting{result.DifferentStrategy, x.strategy, y.strategy})
	}
	if (x.judged || y.judged) && judges.differ {
		differ = append(differ, judges.setting())
	}
	if x.user != y.user && x.user != "" && y.user != "" {
		differ = append(differ, setting{result.DifferentUser, x.user, y.user})
	}
	return differ
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func strictness(strict bool) string {
	if strict {
		return "strict"
	}
	return "not strict"
}

// judging is how the judges of a suite compare in two runs.
type judging struct {
	was, now string
	differ   bool
}

func (j judging) setting() setting { return setting{result.DifferentJudge, j.was, j.now} }

// judgings compares the judges of two runs, suite by suite.
type judgings struct {
	was, now result.Run
	of       map[string]judging
}

// suite returns how the judges of a suite compare. A run of an earlier version has only the name of its judge.
func (j *judgings) suite(name string) judging {
	if known, ok := j.of[name]; ok {
		return known
	}
	was, now := j.was.JudgeOf(name), j.now.JudgeOf(name)
	x := judging{was: was.Name, now: now.Name}
	switch {
	case was.Definition != "" && now.Definition != "":
		x.differ = was.Definition != now.Definition
	default:
		x.differ = was.Name != "" && now.Name != "" && was.Name != now.Name
	}
	if x.differ && x.was == x.now { // the settings of the same model
		x.was, x.now = shortly(was), shortly(now)
	}
	if j.of == nil {
		j.of = map[string]judging{}
	}
	j.of[name] = x
	return x
}

// shortly names a judge with the first digits of its definition.
func shortly(j result.JudgeIdentity) string {
	return fmt.Sprintf("%s (settings %.8s)", j.Name, j.Definition)
}

// differences collects the settings that differ between two runs.
type differences struct {
	order []string
	of    map[string]*difference
}

type difference struct {
	was, now map[string]bool
	tests    int
}

// add adds a setting that differs for a test.
func (d *differences) add(s setting) { d.note(s).tests++ }

// note adds a setting that differs.
func (d *differences) note(s setting) *difference {
	if d.of == nil {
		d.of = map[string]*difference{}
	}
	x := d.of[s.what]
	if x == nil {
		x = &difference{was: map[string]bool{}, now: map[string]bool{}}
		d.of[s.what], d.order = x, append(d.order, s.what)
	}
	if s.was != s.now {
		x.was[s.was], x.now[s.now] = true, true
	}
	return x
}

// list returns what differs: settings of the runs first, then those of tests in the order in which tests have them.
// unknown counts the tests of which a record has no definition.
func (d *differences) list(judges *judgings, unknown int) []result.SettingDifference {
	was, now := judges.was, judges.now
	for _, suite := range slices.Sorted(slices.Values(was.JudgedSuites())) { // also where no test is judged
		if j := judges.suite(suite); j.differ && now.JudgeOf(suite).Name != "" {
			d.note(j.setting())
		}
	}
	list := []result.SettingDifference{}
	a, b := was.Selection(), now.Selection()
	for _, s := range []setting{
		{result.DifferentSample, a.Sample, b.Sample}, {result.DifferentFilter, a.Filter, b.Filter},
		{result.DifferentTags, a.Tags, b.Tags},
	} {
		if s.was != s.now {
			list = append(list, result.SettingDifference{What: s.what, Was: s.was, Now: s.now})
		}
	}
	for _, what := range d.order {
		x := d.of[what]
		list = append(list, result.SettingDifference{
			What: what, Was: several(x.was), Now: several(x.now), Tests: x.tests,
		})
	}
	if unknown > 0 {
		list = append(list, result.SettingDifference{
			What: result.DifferentDefinition, Was: result.Unknown, Now: result.Unknown, Tests: unknown,
		})
	}
	return list
}

// mostValues is how many values of a setting are named.
const mostValues = 5

// several lists values of a setting.
func several(values map[string]bool) string {
	all := slices.SortedFunc(maps.Keys(values), strings.Compare)
	if len(all) > mostValues {
		all = append(all[:mostValues], "…")
	}
	return strings.Join(all, ", ")
}
