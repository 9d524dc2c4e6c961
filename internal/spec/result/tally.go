package result

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// Tally adds up records as they come. The zero value is ready to use. It is not safe for concurrent use.
type Tally struct {
	records int
	totals  Totals
	scores  float64
	// clusters count the graded tests that depend on each other, by suite and cluster; the others count in alone.
	clusters map[[2]string]*stats.Repeated
	alone    stats.Repeated
	// tags have no failures by code: the product of tags and codes has no bound.
	tags map[string]*tagTally
	// repeated are the tests with trials that could all be graded, clustered their clusters; unrepeated counts the
	// others with trials.
	repeated   []stats.Repeated
	clustered  []string
	unrepeated int
}

// Add counts one record. For a test with trials, the trials count for usage and the aggregate for the verdict and
// for what it took to judge transcripts again.
func (y *Tally) Add(t *Test) {
	y.records++
	y.add(t)
	if t.Verdict != Skip && t.Trial == 0 && t.Quarantined == nil {
		for _, f := range t.Failures {
			if y.totals.Failures == nil {
				y.totals.Failures = map[Code]int{}
			}
			y.totals.Failures[f.Code]++
		}
	}
	for _, tag := range t.Tags {
		of := y.tags[tag]
		switch {
		case of == nil:
			if y.tags == nil {
				y.tags = map[string]*tagTally{}
			}
			of = &tagTally{}
			y.tags[tag] = of
		case of.last == y.records: // the test has the tag twice
			continue
		}
		of.last = y.records
		of.add(t)
	}
}

// tagTally counts the records with a tag; last is the number of the latest of them among all records.
type tagTally struct {
	Tally
	last int
}

func (y *Tally) add(t *Test) {
	if t.Trials == nil && t.Ran() {
		y.totals.Conversations++
		y.totals.Turns += len(t.Turns)
		y.totals.Usage = y.totals.Usage.Add(t.Usage)
		y.totals.Cost = y.totals.Cost.Add(t.Cost)
		y.totals.Judge = y.totals.Judge.Add(t.Judge)
		if t.User != nil {
			y.totals.User = y.totals.User.with(t.User)
		}
	}
	if t.Trials != nil && t.Trials.Attribution != nil {
		y.totals.Judge = y.totals.Judge.Add(t.Trials.Attribution.Use)
		y.totals.Cost = y.totals.Cost.Add(t.Trials.Attribution.Use.Cost)
	}
	if t.Trial > 0 {
		return
	}
	y.totals.Tests++
	if t.User != nil {
		if y.totals.User == nil { // the trials are in another tally
			y.totals.User = &UserTotals{}
		}
		of := *y.totals.User
		of.Tests++
		y.totals.User = &of
	}
	if t.Verdict == Skip {
		y.totals.Skipped++ // its failures are those of another test
		if t.UserInvalid() {
			y.totals.UserInvalid++
		}
		return
	}
	y.totals.Completed++
	if t.Quarantined != nil { // its outcome decides nothing
		y.totals.Quarantined++
		return
	}
	y.outcome(t)
}

// outcome counts the verdict of a test that was run.
func (y *Tally) outcome(t *Test) {
	switch t.Verdict {
	case Pass:
		y.totals.Passed++
	case Fail:
		y.totals.Failed++
	case Error:
		y.totals.Errors++
	case Ungraded:
		y.totals.Ungraded++
	}
	if t.PassedWithFailures() {
		y.totals.PassedWithFailures++
	}
	if t.Verdict.Graded() {
		y.scores += t.Score
		y.graded(t)
	}
	y.trial(t)
}

// graded counts a graded test in its cluster.
func (y *Tally) graded(t *Test) {
	of := &y.alone
	if t.Cluster != "" {
		key := [2]string{t.Suite, t.Cluster}
		if of = y.clusters[key]; of == nil {
			if y.clusters == nil {
				y.clusters = map[[2]string]*stats.Repeated{}
			}
			of = &stats.Repeated{}
			y.clusters[key] = of
		}
	}
	of.N++
	if t.Verdict == Pass {
		of.Passed++
	}
}

// trial notes how the trials of a test came out, unless they stopped at the first pass.
func (y *Tally) trial(t *Test) {
	switch n := t.Trials; {
	case n == nil || n.Early() || t.Verdict == Ungraded:
	case t.Verdict == Error, len(n.PassHatK) > 0 && len(n.PassHatK) < n.Count:
		y.unrepeated++
	default:
		y.repeated = append(y.repeated, stats.Repeated{N: n.Count, Passed: n.Passed})
		cluster := ""
		if t.Cluster != "" {
			cluster = t.Suite + "\x00" + t.Cluster
		}
		y.clustered = append(y.clustered, cluster)
	}
}

// Totals returns what was counted so far. A plan that is larger than what was counted is known to the Run alone.
func (y *Tally) Totals() Totals {
	t, _ := y.summary(0)
	t.Planned, t.NotRun = 0, 0
	return t
}

// summary returns totals and rates of the records, of which planned were to come.
func (y *Tally) summary(planned int) (Totals, PassRate) {
	t := y.totals
	t.Planned = max(planned, t.Completed+t.Skipped)
	t.NotRun = t.Planned - t.Completed - t.Skipped
	if graded, unknown := t.Graded(), t.Unknown(); graded+unknown > 0 {
		t.MeanScoreBounds = boundsOf(y.scores, graded, unknown)
		if tellable(graded, unknown) {
			t.MeanScore = new(y.scores / float64(graded))
		}
	}
	return t, t.PassRate(y.interval())
}

// interval returns the interval of the pass rate over the graded tests.
func (y *Tally) interval() [2]float64 {
	if y.clusters == nil {
		return stats.Wilson(y.totals.Passed, y.totals.Graded())
	}
	clusters := make([]stats.Repeated, 0, len(y.clusters))
	for _, c := range y.clusters {
		clusters = append(clusters, *c)
	}
	slices.SortFunc(clusters, func(a, b stats.Repeated) int { // sums must not depend on the order of a map
		return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.Passed, b.Passed))
	})
	return stats.ClusteredWilson(y.alone, clusters)
}

// byTag returns the totals and rates of each tag; nil without tags.
func (y *Tally) byTag() map[string]GroupResult {
	if len(y.tags) == 0 {
		return nil
	}
	tags := make(map[string]GroupResult, len(y.tags))
	for tag, of := range y.tags {
		r := GroupResult{}
		r.Totals, r.PassRate = of.summary(0)
		tags[tag] = r
	}
	return tags
}

// trials returns how trials came out; nil if no test ran all of its trials.
func (y *Tally) trials() *TrialTotals {
	if len(y.repeated)+y.unrepeated == 0 {
		return nil
	}
	return trialTotals(y.repeated, y.clustered, y.unrepeated)
}

// Tallies adds up the records of a run, as a whole and for each target. The zero value is ready to use. It is not safe
// for concurrent use.
type Tallies struct {
	all  Tally
	each map[string]*Tally
	lost int
}

// Add counts one record.
func (y *Tallies) Add(t *Test) {
	if y.each == nil {
		y.each = map[string]*Tally{}
	}
	if y.each[t.Target] == nil {
		y.each[t.Target] = &Tally{}
	}
	y.each[t.Target].Add(t)
	y.all.Add(t)
	for _, a := range t.Attempts {
		if a.Code == WorkerLost {
			y.lost++
		}
	}
}

// Lost returns how many attempts ended with their worker. Nobody knows what they have used.
func (y *Tallies) Lost() int { return y.lost }

// Totals returns what was counted over all targets.
func (y *Tallies) Totals() Totals { return y.all.Totals() }

// Of returns what was counted of a target.
func (y *Tallies) Of(target string) Totals {
	if y.each[target] == nil {
		return Totals{}
	}
	return y.each[target].Totals()
}

// targets returns the targets of the records and of the plan, in order.
func (y *Tallies) targets(planned map[string]int) []string {
	names := maps.Clone(planned)
	if names == nil {
		names = map[string]int{}
	}
	for name := range y.each {
		names[name] = 0
	}
	return slices.Sorted(maps.Keys(names))
}
