package variants

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// variationsOf returns the session's lanes in their order on the page, as far as they were played: what was logged
// comes first.
func variationsOf(p *replay.Pair) (lanes []*replay.Variation) {
	for _, name := range []string{replay.Observed, replay.Baseline, replay.Candidate} {
		if l := p.Variation(name); l != nil {
			lanes = append(lanes, l)
		}
	}
	return lanes
}

// turnsOf is how many turns the longest lane has. Turn n of every lane stands in row n, whatever became of it there.
func turnsOf(lanes []*replay.Variation) int {
	most := 0
	for _, l := range lanes {
		most = max(most, len(l.Turns))
	}
	return most
}

// turnOf is a lane's turn of that number from 0, nil where it has none.
func turnOf(l *replay.Variation, n int) *replay.VariationTurn {
	if n >= len(l.Turns) {
		return nil
	}
	return &l.Turns[n]
}

// leavesAt is the number from 0 of the turn in which a lane first leaves the log's path, or −1.
func leavesAt(l *replay.Variation) int {
	if l.Metrics == nil || l.Metrics.FirstDivergence == nil || l.NoStates {
		return -1
	}
	return *l.Metrics.FirstDivergence - 1
}

// mostDifferent returns the sessions with those first in which the lanes differ most, and those that were left out
// last.
func mostDifferent(sessions []replay.Pair) []*replay.Pair {
	all := make([]*replay.Pair, len(sessions))
	for i := range sessions {
		all[i] = &sessions[i]
	}
	slices.SortStableFunc(all, func(a, b *replay.Pair) int { return cmp.Compare(unlike(b), unlike(a)) })
	return all
}

// unlike says how much the lanes of a session differ. The candidate's difference from the baseline weighs more than
// that from the log.
func unlike(p *replay.Pair) float64 {
	if p.Dropped != "" {
		return -1
	}
	observed, baseline, candidate := p.Variation(replay.Observed), p.Variation(replay.Baseline),
		p.Variation(replay.Candidate)
	if candidate == nil {
		return 0
	}
	sum := 1 - progression(candidate)
	if observed != nil && p.Outcome != "unknown" && !candidate.Censored && observed.Completed != candidate.Completed {
		sum++
	}
	if baseline != nil {
		sum += 2 * math.Abs(progression(baseline)-progression(candidate))
		if baseline.Completed != candidate.Completed {
			sum += 2
		}
	}
	return sum
}

func progression(l *replay.Variation) float64 {
	if l.Metrics == nil || l.Metrics.StateProgression == nil {
		return 1
	}
	return *l.Metrics.StateProgression
}

// dataField is what the lanes have collected of one field.
type dataField struct {
	Name  string
	Cells []dataCell
}

// dataCell is one lane's value, and how it compares with the logged one: missing, extra, wrong, alike, or empty.
type dataCell struct{ Variant, Value, Mark string }

const maxFields = 40

// dataOf lines up what the lanes have collected, and says how many fields it leaves out.
func dataOf(lanes []*replay.Variation) (fields []dataField, left int) {
	names := map[string]bool{}
	for _, l := range lanes {
		for name := range l.Data {
			names[name] = true
		}
	}
	logged := map[string]any(nil)
	if len(lanes) > 0 && lanes[0].Name == replay.Observed {
		logged = lanes[0].Data
	}
	sorted := slices.Sorted(maps.Keys(names))
	for _, name := range sorted[:min(len(sorted), maxFields)] {
		f := dataField{Name: text.OneLine(name, 60)}
		want, wanted := logged[name]
		for i, l := range lanes {
			got, has := l.Data[name]
			c := dataCell{Variant: variantWord(l.Name)}
			if has {
				c.Value = fieldValue(got)
			}
			switch {
			case i == 0 || logged == nil:
			case wanted && !has:
				c.Mark = "missing"
			case has && !wanted:
				c.Mark = "extra"
			case has:
				c.Mark = valueMark(want, got)
			}
			f.Cells = append(f.Cells, c)
		}
		fields = append(fields, f)
	}
	return fields, max(len(sorted)-maxFields, 0)
}

// valueMark says how a value differs from the logged one. Alike are those that only case, white space or format tell
// apart.
func valueMark(want, got any) string {
	switch {
	case reflect.DeepEqual(want, got):
		return ""
	case replay.MatchData(map[string]any{"field": want}, map[string]any{"field": got}).Equal > 0:
		return "alike"
	}
	return "wrong"
}

// fieldValue writes a value as JSON does, so that a number differs from its text.
func fieldValue(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return notApplicable
	}
	return text.OneLine(b.String(), 160)
}

// variantWord names a lane for people.
func variantWord(name string) string {
	switch name {
	case replay.Observed:
		return "Log"
	case replay.Baseline:
		return "Baseline"
	case replay.Candidate:
		return "Candidate"
	}
	return text.OneLine(name, 20)
}
