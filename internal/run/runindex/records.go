package runindex

import (
	"cmp"
	"math"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Figures are the numbers of a test: those of its record or, of a test with trials, the means over them. NaN is one
// that is unknown.
type Figures struct {
	// TurnMS is the latency of a turn.
	TurnMS, Turns, Tokens, CostUSD float64
	// Print is that of the row.
	Print uint64
}

func figuresOf(e *Entry) Figures {
	rows := e.Of
	if e.Trials == nil {
		rows = []*Row{e.Row}
	}
	f, n, turns := Figures{Print: e.Print}, float64(len(rows)), 0
	for _, row := range rows {
		turns += row.Turns
		f.TurnMS += row.LatencyMS
		f.Tokens += orNaN(float64(row.Tokens().Total()), row.Tokens().Unknown)
		f.CostUSD += orNaN(row.Cost.USD, row.Cost.Unknown)
	}
	f.TurnMS, f.Turns, f.Tokens, f.CostUSD = f.TurnMS/float64(turns), float64(turns)/n, f.Tokens/n, f.CostUSD/n
	return f
}

func orNaN(x float64, unknown bool) float64 {
	if unknown {
		return math.NaN()
	}
	return x
}

// digest is what a comparison reads of a test. Digests lie one behind the other, and rows do not: reading those of
// 100,000 tests is a third of the time.
type digest struct {
	facts
	of      []*Row
	figures Figures
}

// facts are what a comparison reads of a record.
type facts struct {
	result.Key
	verdict             result.Verdict
	score, threshold    float64
	graded              *float64
	strict, required    bool
	cluster, definition string
	// judged counts the verdicts of judges.
	judged      int
	codes       []result.Code
	user        *result.User
	trials      *result.Trials
	quarantined *quarantine.Terms
}

func factsOf(r *Row) facts {
	return facts{
		Key: r.Key, verdict: r.Verdict, score: r.Score, threshold: r.Threshold, graded: r.Graded, strict: r.Strict,
		required: r.Required, cluster: r.Cluster, definition: r.Definition, judged: r.Judge.Calls + r.Judge.CacheHits,
		codes: r.Codes, user: r.User, trials: r.Trials, quarantined: r.Quarantined,
	}
}

// fill writes them into a record, each field by itself: a whole record is large.
func (f *facts) fill(t *result.Test) {
	t.Suite, t.TestID, t.Target, t.Trial, t.Verdict, t.Score = f.Suite, f.TestID, f.Target, f.Trial, f.verdict, f.score
	t.Threshold, t.GradedScore, t.Strict, t.Required, t.Cluster, t.Definition = f.threshold, f.graded, f.strict,
		f.required, f.cluster, f.definition
	t.Judge.Calls, t.User, t.Trials, t.Quarantined = f.judged, f.user, f.trials, f.quarantined
	t.Failures = t.Failures[:0]
	for _, code := range f.codes {
		t.Failures = append(t.Failures, result.Failure{Code: code})
	}
}

// digestsOf returns those of the tests of some lists by suite, id and target.
func digestsOf(lists ...[]*Entry) []digest {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.Suite, b.Suite), cmp.Compare(a.TestID, b.TestID), cmp.Compare(a.Target, b.Target))
	})
	digests := make([]digest, len(all))
	for i, e := range all {
		digests[i] = digest{factsOf(e.Row), e.Of, figuresOf(e)}
	}
	return digests
}

// Records yields what counts of each record of the index, for a comparison: keys, verdicts, scores, failure codes and
// all that decides whether two records can be compared, with the figures of its test; nil for a trial. A record counts
// until the next. Tests come by suite, id and target, the trials of each before itself.
func (x *Index) Records(yield func(*result.Test, *Figures) bool) {
	t := &result.Test{}
	digests := x.digests()
	for i := range digests {
		d := &digests[i]
		for _, row := range d.of {
			f := factsOf(row)
			if f.fill(t); !yield(t, nil) {
				return
			}
		}
		if d.verdict == "" {
			continue
		}
		if d.fill(t); !yield(t, &d.figures) {
			return
		}
	}
}
