package runindex

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// ByTarget returns what the run found with each of several targets: what its record says or, where that leaves one out,
// what its log has. It is nil for a run with one target.
func (x *Index) ByTarget() map[string]result.TargetResult {
	var names []string
	for _, e := range x.Tests {
		if len(names) == 0 || e.Target != names[len(names)-1] && !slices.Contains(names, e.Target) {
			names = append(names, e.Target)
		}
	}
	left := slices.ContainsFunc(names, func(name string) bool { _, ok := x.Run.ByTarget[name]; return !ok })
	if len(names) < 2 || !left {
		return x.Run.ByTarget
	}
	rows := x.rows()
	turns := make([]result.Turn, mostTurns(rows))
	var records result.Tallies
	for _, r := range rows {
		records.Add(r.counted(turns))
	}
	var counted result.Run
	counted.Count(&records, nil)
	return counted.ByTarget
}
