package replay

import (
	"encoding/json"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

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
