package variants

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// WatchLine writes a look of a watch on one line: until when, how many sessions are new and how many there are, and the
// difference in each metric with its always-valid interval.
func WatchLine(look *replay.Interim, metrics []string) string {
	parts := []string{fmt.Sprintf("%s  +%s of %s", look.Until, text.Count(look.New), text.Plural(look.Sessions,
		"session"))}
	if look.New == 0 {
		parts = append(parts, "nothing new")
	}
	if look.Lost > 0 {
		parts = append(parts, text.Count(look.Lost)+" lost")
	}
	for _, name := range withAlarms(metrics, *look) {
		parts = append(parts, watchedWords(name, look.Metrics[name]))
	}
	if len(look.Concealed) > 0 {
		parts = append(parts, "not reported by the candidate: "+strings.Join(look.Concealed, ", "))
	}
	if look.Alarm {
		parts = append(parts, "ALARM")
	}
	return strings.Join(parts, " · ")
}

// withAlarms returns metrics, with the others of some looks that are worse in one of them.
func withAlarms(metrics []string, looks ...replay.Interim) []string {
	names := slices.Clone(metrics)
	for _, look := range looks {
		for _, name := range slices.Sorted(maps.Keys(look.Metrics)) {
			if look.Metrics[name].Verdict == stats.Worse && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func watchedWords(name string, of replay.Watched) string {
	if of.Mean == nil {
		return name + ": nothing to compare"
	}
	unit := replay.UnitOf(name)
	bounds := "[−∞, +∞]"
	if of.Low != nil || of.High != nil {
		bounds = interval(of.Low, of.High, unit)
	}
	return fmt.Sprintf("%s %s %s %s", name, change(*of.Mean, unit), bounds, of.Verdict)
}

// WatchTrend writes how the mean of each metric went from look to look, and whether there was an alarm.
func WatchTrend(r *replay.WatchReport, metrics []string) string {
	var b strings.Builder
	for _, name := range withAlarms(metrics, r.Interims...) {
		means := make([]*float64, len(r.Interims))
		for i := range r.Interims {
			means[i] = r.Interims[i].Metrics[name].Mean
		}
		fmt.Fprintf(&b, "%s %s\n", name, trend(means))
	}
	switch {
	case r.Alarmed:
		fmt.Fprintf(&b, "Alarm at the look of %s.\n", *r.AlarmedAt)
	case len(r.Interims) == 0:
		b.WriteString("No look yet.\n")
	case !r.Compared():
		fmt.Fprintf(&b,
			"Nothing could be compared in %s: nothing could have alarmed. Has the log of the flow been imported?\n",
			text.Plural(len(r.Interims), "look"))
	default:
		fmt.Fprintf(&b, "No alarm in %s%s.\n", text.Plural(len(r.Interims), "look"), butFor(r.Interims))
	}
	return b.String()
}

// butFor says in how many looks there was no new session, which may be a log that was not imported, and in how many
// sessions an agent failed: they are in no metric but answered.
func butFor(looks []replay.Interim) string {
	empty, lost := 0, 0
	for i := range looks {
		if lost += looks[i].Lost; looks[i].New == 0 {
			empty++
		}
	}
	said := ""
	if empty > 0 {
		said += fmt.Sprintf(", %s of them without a new session", text.Count(empty))
	}
	if lost > 0 {
		said += fmt.Sprintf("; %s of %s lost, as an agent failed", text.Count(lost),
			text.Plural(looks[len(looks)-1].Sessions, "session"))
	}
	return said
}

// maxTrend is how many looks a trend shows at most: the latest.
const maxTrend = 60

// trend draws numbers from the least to the greatest; a dot stands for none.
func trend(means []*float64) string {
	means = means[max(0, len(means)-maxTrend):]
	low, high := math.Inf(1), math.Inf(-1)
	for _, m := range means {
		if m != nil {
			low, high = min(low, *m), max(high, *m)
		}
	}
	signs := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, m := range means {
		switch {
		case m == nil:
			b.WriteByte('.')
		case high == low:
			b.WriteRune(signs[len(signs)/2])
		default:
			b.WriteRune(signs[int((*m-low)/(high-low)*float64(len(signs)-1)+0.5)])
		}
	}
	return b.String()
}
