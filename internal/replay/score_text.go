package replay

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Notes says in sentences which replays do not count, and what the log has wrong. What makes all figures doubtful comes
// first.
func (out *Scored) Notes() []string {
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(out.Flows)) {
		if warning := out.Flows[name].States.Warning(); warning != "" {
			notes = append(notes, "warning: "+line(name)+": "+warning)
		}
	}
	if out.Missing > 0 {
		notes = append(notes, text.Plural(out.Missing, "replay")+
			" of conversations that are not in the store, or too short, or of another flow")
	}
	if out.Unpaired > 0 {
		notes = append(notes, text.Plural(out.Unpaired, "replay")+
			" dropped, as another variant has not played the conversation")
	}
	if out.NegativeLatencies > 0 {
		notes = append(notes, text.Plural(out.NegativeLatencies, "turn")+
			" of replays with a negative latency, which counts as unknown")
	}
	for _, kind := range slices.Sorted(maps.Keys(out.Faults.Counts)) {
		notes = append(notes, fmt.Sprintf("%d times in the log: %s (%s)", out.Faults.Counts[kind], FaultText(kind),
			line(strings.Join(out.Faults.Examples[kind], ", "))))
	}
	return notes
}

// Text writes a table for each flow: a row for each metric and a column for each variant, with the verdict of the gate.
func (out *Scored) Text(w io.Writer) error {
	b := &strings.Builder{}
	for _, name := range slices.Sorted(maps.Keys(out.Flows)) {
		out.Flows[name].text(b, name)
	}
	if len(out.Flows) == 0 {
		b.WriteString("no replay belongs to a conversation of the store\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *FlowScore) text(b *strings.Builder, name string) {
	fmt.Fprintf(b, "%s: %s\n", line(name), text.Plural(f.Sessions, "conversation"))
	fmt.Fprintf(b, "  %s\n", f.States.Words())
	variants := slices.Sorted(maps.Keys(f.Variants))
	fmt.Fprintf(b, "  %-26s %s\n", "", columns(variants))
	for _, metric := range MetricNames {
		cells := make([]string, 0, len(variants))
		for _, v := range variants {
			cells = append(cells, f.Variants[v][metric].cell())
		}
		verdict := ""
		if f.Comparison != nil {
			if passed, applies := f.Comparison.Tests[metric]; applies {
				verdict = either(passed, "passed", "failed")
			}
		}
		fmt.Fprintln(b, strings.TrimRight(fmt.Sprintf("  %-26s %s %s", metric, columns(cells), verdict), " "))
	}
	if f.Paired != nil && f.Paired.Gate != nil {
		fmt.Fprintf(b, "  paired: %s\n", line(f.Paired.Gate.Headline))
		if w := f.Paired.Watch; w != nil && w.Alarmed {
			fmt.Fprintf(b, "  watch: alarm at the look of %s, of %s in all\n", *w.AlarmedAt,
				text.Plural(len(w.Interims), "look"))
		} else if w != nil {
			fmt.Fprintf(b, "  watch: no alarm in %s", text.Plural(len(w.Interims), "look"))
			if hidden := w.Concealed(); len(hidden) > 0 {
				fmt.Fprintf(b, "; the candidate does not report %s", strings.Join(hidden, ", "))
			}
			b.WriteByte('\n')
		}
	}
	if c := f.Comparison; c != nil {
		fmt.Fprintf(b, "  gate: %s with %.0f %% of the metrics; completion match of 80 %%: %s\n",
			either(c.Passed, "passed", "failed"), 100*c.PassedRatio, either(c.Hard, "reached", "not reached"))
	}
}

func (m *Mean) cell() string {
	if m == nil || m.Value == nil {
		return "–"
	}
	return fmt.Sprintf("%.4g (%d)", *m.Value, m.N)
}

// columns writes cells to the right of their columns.
func columns(cells []string) string {
	wide := make([]string, len(cells))
	for i, cell := range cells {
		wide[i] = fmt.Sprintf("%16s", line(cell))
	}
	return strings.Join(wide, " ")
}

func either(yes bool, one, other string) string {
	if yes {
		return one
	}
	return other
}

// line makes text of a log fit for a table: in one line, steering no terminal and commanding no CI system.
func line(s string) string { return strings.Join(strings.Fields(text.NoCommand(text.Visible(s))), " ") }
