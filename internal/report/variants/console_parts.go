package variants

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// parts writes what stands between the figures and the notes: ends, lists, slices, repeats, the simulated user and the clusters.
func (p console) parts(r *replay.Report, groups metricGroups) {
	p.ends(r)
	p.funnel(r)
	p.lists(r)
	if table, said := slicesTable(r, consoleSlices, consoleSliceMetrics); table != nil {
		p.Line()
		p.Table(table, func(column int) bool { return column > 1 })
		p.Wrap("", "", said)
	}
	if v := repeatsOf(r, groups); v != nil {
		p.Line()
		p.Table(repeatsTable(v), func(column int) bool { return column > 1 })
		p.Wrap("", "", v.Means)
		for _, said := range passWords(v) {
			p.Wrap("", "", said)
		}
	}
	if said := fidelityWords(r); len(said) > 0 {
		p.Line()
		for _, one := range said {
			p.Wrap("", "", one)
		}
	}
	if v := clustersOf(r, groups); v != nil {
		p.Line()
		p.Wrap("", "", v.Said)
		if table := clustersTable(v); len(table) > 1 {
			p.Table(table, func(column int) bool { return column > 0 })
		}
	}
}

func (p console) ends(r *replay.Report) {
	table, left := endsTable(r)
	if table == nil {
		return
	}
	p.Line()
	p.Table(table, func(column int) bool { return column > 0 })
	for _, said := range append(left, nonEmpty(endsMeans(r))...) {
		p.Wrap("", "", said)
	}
}

func (p console) funnel(r *replay.Report) {
	v := funnelOf(r)
	if v == nil {
		return
	}
	p.Line()
	p.columns(funnelTable(v))
	p.Wrap("", "", v.Short)
	if len(v.Faults) == 0 {
		return
	}
	p.Line()
	p.Line("Rows of these sessions that say nothing, or contradict themselves:")
	for _, f := range v.Faults {
		p.Wrap("  "+text.Count(f.Count)+" ", "", f.Kind+": "+f.Meaning+" ("+strings.Join(f.Examples, ", ")+")")
	}
	if v.Left > 0 {
		p.Line("  … and ", text.Plural(v.Left, "more kind"), " in the JSON report")
	}
}

func (p console) lists(r *replay.Report) {
	lists := listsOf(r, nil, consoleListed)
	if len(lists) == 0 {
		return
	}
	p.Line()
	p.Line("Sessions to look at:")
	for i := range lists {
		l := &lists[i]
		said := l.countWords()
		if names := l.names(func(id string) string { return id }); names != "" {
			said += ": " + names
		}
		p.Wrap("  ", "", l.Name+" ("+l.Meaning+"): "+said)
	}
}

// names joins the sessions of a list and says how many it leaves out.
func (v *listView) names(write func(string) string) string {
	names := make([]string, 0, len(v.Entries)+1)
	for _, e := range v.Entries {
		names = append(names, write(e.ID))
	}
	if v.Left > 0 {
		where := " more in the JSON report"
		if v.ID == "left-out" {
			where = " more in the store"
		}
		names = append(names, "… and "+text.Count(v.Left)+where)
	}
	return strings.Join(names, ", ")
}

// clustersTable says what the clusters mean for each metric that decides or guards.
func clustersTable(v *clustersView) [][]string {
	table := [][]string{{"Independent of each other", "Clusters", "ICC", "Design effect", "Method"}}
	for _, row := range v.Rows {
		table = append(table, []string{row.Metric, row.Clusters, row.ICC, row.Effect, row.Method})
	}
	return table
}
