package variants

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// clustersView says how many sessions are independent of each other.
type clustersView struct {
	Said, Means string
	Rows        []clusterRow
}

// clusterRow is what the clusters mean for a metric.
type clusterRow struct{ Metric, Clusters, ICC, Effect, Method string }

// clustersOf is nil where nothing was compared.
func clustersOf(r *replay.Report, groups metricGroups) *clustersView {
	c := r.Clusters
	if c.Sessions == 0 {
		return nil
	}
	v := &clustersView{Said: clustersWords(c), Means: clustersMean}
	for _, m := range slices.Concat(groups.first, groups.more) {
		d := m.Difference
		if d == nil || !m.Gated && !m.Guard {
			continue
		}
		row := clusterRow{wordsOf(m.Name, r.Run.Mode).name, text.Count(d.Clusters), unknown, unknown, methodWords(d.Method)}
		if d.ICC != nil && finite(*d.ICC) {
			row.ICC = fmt.Sprintf("%.2f", *d.ICC)
		}
		if finite(d.DesignEffect) && d.DesignEffect > 0 {
			row.Effect = fmt.Sprintf("%.2f", d.DesignEffect)
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

func clustersWords(c replay.Clusters) string {
	if c.By != replay.ByUnit {
		return text.Plural(c.Sessions, "session") + ", each of which counts as independent of the others."
	}
	return fmt.Sprintf("%s in %s: the user (unit) where a session has one, else the session. The largest has %s.",
		text.Plural(c.Sessions, "session"), text.Plural(c.Units, "cluster"), text.Plural(c.Largest, "session"))
}

// clustersMean explains the figures.
const clustersMean = "ICC: how alike the differences of one user’s sessions are, from 0 to 1; unknown where no user has two. " +
	"Design effect: by how much that widens an interval’s square; 1 when every session is independent."

func methodWords(method string) string {
	return strings.ReplaceAll(text.OneLine(method, 30), "_", " ")
}
