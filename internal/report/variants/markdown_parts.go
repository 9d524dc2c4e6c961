package variants

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// mdGate writes the rules of the gate that decides, each with its sign.
func mdGate(b *strings.Builder, r *replay.Report) {
	g := gateOf(r)
	if g == nil {
		return
	}
	if len(g.Rules) > 0 {
		b.WriteString("| The gate | Seen |\n|---|---|\n")
		for _, rule := range g.Rules {
			name := mdSign(rule) + " " + text.Markdown(rule.Text)
			if rule.Decided {
				name += " **(decided here)**"
			}
			seen := make([]string, 0, len(rule.Seen))
			for _, s := range rule.Seen {
				seen = append(seen, text.Markdown(s))
			}
			fmt.Fprintf(b, "| %s | %s |\n", name, strings.Join(seen, "<br>"))
		}
		b.WriteString("\n")
	}
	for _, said := range []string{gateSentence(r), g.Alarms} {
		if said != "" {
			fmt.Fprintf(b, "<sub>%s</sub>\n\n", text.Markdown(said))
		}
	}
}

func mdSign(rule gateRule) string {
	if rule.Beyond {
		return "➖"
	}
	return emoji(rule.Sign)
}

func mdEnds(b *strings.Builder, r *replay.Report) {
	table, left := endsTable(r)
	if table == nil {
		return
	}
	mdTable(b, table)
	for _, said := range append(left, nonEmpty(endsMeans(r))...) {
		fmt.Fprintf(b, "<sub>%s</sub>\n\n", text.Markdown(said))
	}
}

// mdFunnel writes what became of the sessions of the log.
func mdFunnel(b *strings.Builder, r *replay.Report) {
	v := funnelOf(r)
	if v == nil {
		return
	}
	lines := [][]string{{"From log to figures", "Sessions"}}
	for _, row := range v.Rows {
		lines = append(lines, []string{row.Name + ": " + row.Meaning, text.Count(row.Sessions)})
	}
	mdTable(b, lines)
	if v.Short != "" {
		fmt.Fprintf(b, "**%s**\n\n", text.Markdown(v.Short))
	}
	if len(v.Faults) == 0 {
		return
	}
	b.WriteString("**Rows of the log that say nothing, or contradict themselves**\n\n")
	for _, f := range v.Faults {
		fmt.Fprintf(b, "- %s × %s: %s (%s)\n", text.Count(f.Count), text.Markdown(f.Kind), text.Markdown(f.Meaning), text.Markdown(strings.Join(f.Examples, ", ")))
	}
	if v.Left > 0 {
		fmt.Fprintf(b, "- … and %s in the JSON report\n", text.Plural(v.Left, "more kind"))
	}
	b.WriteString("\n")
}

func mdSliced(b *strings.Builder, r *replay.Report) {
	table, said := slicesTable(r, mdSlices, mdSliceMetrics)
	if table == nil {
		return
	}
	b.WriteString("<details><summary>Slices</summary>\n\n")
	mdTable(b, table)
	fmt.Fprintf(b, "<sub>%s</sub>\n\n</details>\n\n", text.Markdown(said))
}

func mdRepeats(b *strings.Builder, r *replay.Report) {
	v := repeatsOf(r, groupsOf(r))
	if v == nil {
		return
	}
	fmt.Fprintf(b, "<details><summary>Repeats</summary>\n\n%s\n\n", text.Markdown(v.Means))
	for _, said := range passWords(v) {
		fmt.Fprintf(b, "- %s\n", text.Markdown(said))
	}
	b.WriteString("\n")
	mdTable(b, repeatsTable(v))
	b.WriteString("</details>\n\n")
}

func mdFidelity(b *strings.Builder, r *replay.Report) {
	said := fidelityWords(r)
	if len(said) == 0 {
		return
	}
	b.WriteString("**The simulated user**\n\n")
	for _, one := range said {
		fmt.Fprintf(b, "- %s\n", text.Markdown(one))
	}
	b.WriteString("\n")
}

func mdClusters(b *strings.Builder, r *replay.Report) {
	v := clustersOf(r, groupsOf(r))
	if v == nil {
		return
	}
	fmt.Fprintf(b, "<details><summary>%s</summary>\n\n", text.MarkdownHTML(v.Said))
	if table := clustersTable(v); len(table) > 1 {
		mdTable(b, table)
	}
	fmt.Fprintf(b, "<sub>%s</sub>\n\n</details>\n\n", text.Markdown(v.Means))
}

func mdLists(b *strings.Builder, r *replay.Report) {
	lists := listsOf(r, nil, mdListed)
	if len(lists) == 0 {
		return
	}
	b.WriteString("**Sessions to look at**\n\n")
	for i := range lists {
		l := &lists[i]
		fmt.Fprintf(b, "- **%s**, %s: %s", l.Name, text.Markdown(l.Meaning), l.countWords())
		if names := l.names(text.Markdown); names != "" {
			fmt.Fprintf(b, " <details><summary>which</summary>%s</details>", names)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// mdTable writes a table whose first row is its head, words to the left and the rest to the right.
func mdTable(b *strings.Builder, table [][]string) {
	for i, row := range table {
		cells := make([]string, len(row))
		for j, cell := range row {
			cells[j] = text.Markdown(cell)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			b.WriteString("|---|" + strings.Repeat("--:|", len(row)-1) + "\n")
		}
	}
	b.WriteString("\n")
}
