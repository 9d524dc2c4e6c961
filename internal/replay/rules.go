package replay

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// Rules are what the paired gate asks of a candidate. DefaultRules returns those that hold when nothing else is said.
type Rules struct {
	Require Requirement
	// MinSupport is the least mean support coverage of a lane in recorded mode, MinFidelity the least fidelity of a
	// simulated user, MaxLost the largest share of lost pairs, and MinPower the probability with which a loss beyond
	// the margin must have been found; 0 asks for none.
	MinSupport, MinFidelity, MaxLost, MinPower float64
	Cluster                                    Clustering
	// Margins are those that differ from the table's, by the name of their metric.
	Margins map[string]stats.Margin
	// Slices are fields of the log's context or metadata, or kinds of slices, whose slices are guards.
	Slices []string
	// Judged is true where a judge compares the replies.
	Judged bool
	// Apart is true of agents of different kinds, whose latencies are not compared: one may run in this process, the
	// other behind a network.
	Apart bool
}

// DefaultRules returns the rules of a run that names none.
func DefaultRules() Rules {
	return Rules{
		Require: NotWorse, MinSupport: 0.5, MinFidelity: 0.7, MaxLost: 0.02, MinPower: stats.Power, Cluster: ByAuto,
	}
}

// Check returns wrong input as an error (source.IsInvalid).
func (r *Rules) Check() error {
	for _, share := range []struct {
		name  string
		value float64
	}{
		{"min_support", r.MinSupport},
		{"min_fidelity", r.MinFidelity},
		{"max_lost", r.MaxLost},
		{"min_power", r.MinPower},
	} {
		if !(share.value >= 0 && share.value <= 1) {
			return source.Invalid("--%s %v is no share: use 0 to 1", share.name, share.value)
		}
	}
	switch {
	case !slices.Contains(Requirements, r.Require):
		return source.Invalid("unknown --require %q: use not_worse, non_inferior or better", r.Require)
	case !slices.Contains(Clusterings, r.Cluster):
		return source.Invalid("unknown --cluster %q: use auto, session or unit", r.Cluster)
	case r.MinPower == 1:
		return source.Invalid(
			"--min_power 1 asks for a certainty that no number of sessions gives: use less, such as 0.9")
	}
	for i, field := range r.Slices {
		switch {
		case strings.TrimSpace(field) == "" || len(field) > maxSliceValue:
			return source.Invalid("--slice %q: name a field of context or metadata, such as language", field)
		case slices.Contains(r.Slices[:i], field):
			return source.Invalid("--slice %s is given twice: remove one", field)
		case i == maxSliceFields:
			return source.Invalid("--slice is given more than %d times: use fewer", maxSliceFields)
		}
	}
	for name, margin := range r.Margins {
		if columnOf(name) < 0 {
			return unknownMetric("--margin", name)
		}
		if !(margin.Absolute >= 0 && margin.Relative >= 0) || math.IsInf(margin.Absolute+margin.Relative, 0) {
			return source.Invalid("--margin %s: a margin is 0 or more", name)
		}
	}
	return nil
}

// SetMargins reads margins METRIC=VALUE. VALUE is a number in the metric's unit, points of a share such as 5pp, or a
// share of the baseline such as 10%.
func (r *Rules) SetMargins(margins []string) error {
	for _, one := range margins {
		name, value, ok := strings.Cut(one, "=")
		if !ok {
			return source.Invalid(
				"--margin %q is not METRIC=VALUE, such as completion_match=5pp or avg_latency_ms=10%%", one)
		}
		name = strings.ReplaceAll(strings.TrimSpace(name), "-", "_")
		i := columnOf(name)
		if i < 0 {
			return unknownMetric("--margin", name)
		}
		if _, twice := r.Margins[name]; twice {
			return source.Invalid("--margin %s is given twice: keep one", name)
		}
		margin, err := readMargin(&table[i], strings.TrimSpace(value))
		if err != nil {
			return err
		}
		if r.Margins == nil {
			r.Margins = map[string]stats.Margin{}
		}
		r.Margins[name] = margin
	}
	return nil
}

func unknownMetric(flag, name string) error {
	names := make([]string, len(table))
	for i := range table {
		names[i] = table[i].name
	}
	return source.Invalid("%s names the unknown metric %q: %s", flag, name, source.Suggest(name, names))
}

func readMargin(m *metric, value string) (stats.Margin, error) {
	number, scale, relative := value, 1.0, false
	if cut, ok := strings.CutSuffix(value, "pp"); ok {
		if m.unit != Share {
			return stats.Margin{}, source.Invalid(
				"--margin %s=%s: it is no share, so that it has no points; write a number of %s, or 10%%", m.name,
				value, m.unit)
		}
		number, scale = cut, 0.01
	} else if cut, ok := strings.CutSuffix(value, "%"); ok {
		number, scale, relative = cut, 0.01, true
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return stats.Margin{}, source.Invalid(
			"--margin %s=%s: write a number, points such as 5pp, or a share of the baseline such as 10%%",
			m.name, value)
	}
	if x < 0 {
		return stats.Margin{}, source.Invalid("--margin %s=%s: a margin is 0 or more", m.name, value)
	}
	if relative {
		return stats.Margin{Relative: x * scale}, nil
	}
	return stats.Margin{Absolute: x * scale}, nil
}

// metrics returns the table as these rules have it: with their margins, by which any metric decides that was only
// shown. In simulated mode the user says the rest in other words, so that an unsaid message is no loss there.
func (r *Rules) metrics(mode Mode) []metric {
	metrics := slices.Clone(table)
	for i := range metrics {
		m := &metrics[i]
		if r.Judged && m.name == ReplyWinRate {
			m.role = guards
		}
		if mode == Simulated && m.name == MessagesUnsent {
			m.role = shown
		}
		if margin, set := r.Margins[m.name]; set {
			m.margin = margin
			if m.role == shown || m.byMargin {
				m.role = decides
			}
		}
		if r.Apart && (m.unit == Milliseconds || m.unit == Seconds) {
			m.role, m.apart = shown, true
		}
	}
	return metrics
}

// marginWords says a margin to people: "10 % of the baseline".
func (m *metric) marginWords() string {
	var parts []string
	if m.margin.Relative > 0 {
		parts = append(parts, strconv.FormatFloat(100*m.margin.Relative, 'g', 4, 64)+" % of the baseline")
	}
	if m.margin.Absolute > 0 {
		parts = append(parts, m.amount(m.margin.Absolute))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, " and ")
}

// amount says an amount of a metric to people: "3.1 points", "12 ms".
func (m *metric) amount(x float64) string {
	switch m.unit {
	case Share:
		return strconv.FormatFloat(100*x, 'f', 1, 64) + " points"
	case Milliseconds, Seconds, USD, Tokens, Turns:
		return strconv.FormatFloat(x, 'g', 3, 64) + " " + string(m.unit)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// asMargin writes an amount as a value of --margin, rounded up so that it is wide enough.
func (m *metric) asMargin(x float64) string {
	if m.unit == Share {
		return strconv.FormatFloat(math.Ceil(1000*x-1e-9)/10, 'f', -1, 64) + "pp"
	}
	step := math.Pow(10, math.Floor(math.Log10(max(x, 1e-9)))-1)
	// it was just written
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(math.Ceil(x/step-1e-9)*step, 'g', 2, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// storedRules are rules as a run keeps them, so that whoever reads it later judges as it was judged.
type storedRules struct {
	Require     Requirement             `json:"require"`
	MinSupport  float64                 `json:"min_support"`
	MinFidelity float64                 `json:"min_fidelity"`
	MaxLost     float64                 `json:"max_lost"`
	MinPower    float64                 `json:"min_power"`
	Cluster     Clustering              `json:"cluster"`
	Margins     map[string]storedMargin `json:"margins,omitempty"`
	Apart       bool                    `json:"apart,omitempty"`
	Slices      []string                `json:"slices,omitempty"`
	Judged      bool                    `json:"judged,omitempty"`
}

type storedMargin struct {
	Absolute float64 `json:"absolute,omitempty"`
	Relative float64 `json:"relative,omitempty"`
}

// kept writes rules.
func (r *Rules) kept() (json.RawMessage, error) {
	k := storedRules{r.Require, r.MinSupport, r.MinFidelity, r.MaxLost, r.MinPower, r.Cluster, nil, r.Apart, r.Slices,
		r.Judged}
	for name, m := range r.Margins {
		if k.Margins == nil {
			k.Margins = map[string]storedMargin{}
		}
		k.Margins[name] = storedMargin(m)
	}
	return json.Marshal(k)
}

// StoredRules returns the rules by which a run was judged. ok is false of one that has kept none, as runs of earlier
// versions, or none that can be read.
func (r *Run) StoredRules() (rules Rules, ok bool) {
	rules, err := readRules(r.Rules)
	return rules, err == nil
}

// StoredFidelity returns how like the real users the simulated user of a run was; nil where that is not kept, or cannot
// be read.
func (r *Run) StoredFidelity() *Fidelity {
	f := &Fidelity{}
	if len(r.Fidelity) == 0 || json.Unmarshal(r.Fidelity, f) != nil {
		return nil
	}
	return f
}

func readRules(data json.RawMessage) (Rules, error) {
	var k storedRules
	if err := json.Unmarshal(data, &k); err != nil {
		return Rules{}, fmt.Errorf("read the rules of a run: %w", err)
	}
	rules := Rules{
		Require: k.Require, MinSupport: k.MinSupport, MinFidelity: k.MinFidelity, MaxLost: k.MaxLost,
		MinPower: k.MinPower, Cluster: k.Cluster, Slices: k.Slices, Judged: k.Judged, Apart: k.Apart,
	}
	for name, m := range k.Margins {
		if rules.Margins == nil {
			rules.Margins = map[string]stats.Margin{}
		}
		rules.Margins[name] = stats.Margin(m)
	}
	return rules, rules.Check()
}
