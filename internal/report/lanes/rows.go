package lanes

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"rehearse/internal/replay"
	"rehearse/internal/stats"
	"rehearse/internal/text"
)

// alignedRow is one line of a session side by side: the index of each lane's turn, or stats.Gap where a lane has none.
type alignedRow []int

// lanesOf returns the session's lanes in their order on the page, as far as they were played: what was logged comes first.
func lanesOf(p *replay.Pair) (lanes []*replay.Lane) {
	for _, name := range []string{replay.Observed, replay.Baseline, replay.Candidate} {
		if l := p.Lane(name); l != nil {
			lanes = append(lanes, l)
		}
	}
	return lanes
}

// rowsOf lines up the turns of several lanes along those of the first. Turns that the first has no partner for stand where they were said.
func rowsOf(lanes []*replay.Lane) (rows []alignedRow) {
	if len(lanes) == 0 {
		return nil
	}
	logged := len(lanes[0].Turns)
	partner := make([][]int, len(lanes)) // of each logged turn
	extra := make([][][]int, len(lanes)) // before each logged turn, and after the last
	for i, lane := range lanes {
		partner[i], extra[i] = make([]int, logged), make([][]int, logged+1)
		at := 0
		for _, step := range stepsOf(lane, i == 0, logged) {
			switch {
			case step.Original == stats.Gap:
				extra[i][at] = append(extra[i][at], step.Replay)
			default:
				partner[i][step.Original], at = step.Replay, step.Original+1
			}
		}
	}
	for at := range logged + 1 {
		inserted := 0
		for i := range lanes {
			inserted = max(inserted, len(extra[i][at]))
		}
		for k := range inserted {
			row := make(alignedRow, len(lanes))
			for i := range lanes {
				row[i] = stats.Gap
				if k < len(extra[i][at]) {
					row[i] = extra[i][at][k]
				}
			}
			rows = append(rows, row)
		}
		if at < logged {
			row := make(alignedRow, len(lanes))
			for i := range lanes {
				row[i] = partner[i][at]
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// stepsOf returns the lane's alignment with the logged turns; turn by turn where there is none, or none that can be right.
func stepsOf(lane *replay.Lane, first bool, logged int) []stats.Aligned {
	if !first && covers(lane.Alignment, logged, len(lane.Turns)) {
		return lane.Alignment
	}
	steps := make([]stats.Aligned, 0, max(logged, len(lane.Turns)))
	for i := range max(logged, len(lane.Turns)) {
		step := stats.Aligned{Original: i, Replay: i}
		if i >= logged {
			step.Original = stats.Gap
		}
		if i >= len(lane.Turns) {
			step.Replay = stats.Gap
		}
		steps = append(steps, step)
	}
	return steps
}

// covers reports whether an alignment goes through every turn of both sides, in their order.
func covers(steps []stats.Aligned, logged, replayed int) bool {
	i, j := 0, 0
	for _, s := range steps {
		if s.Original != stats.Gap {
			if s.Original != i {
				return false
			}
			i++
		}
		if s.Replay != stats.Gap {
			if s.Replay != j {
				return false
			}
			j++
		}
	}
	return i == logged && j == replayed && len(steps) > 0
}

// divergesAt returns the row in which a lane first leaves the log's path, or −1.
func divergesAt(rows []alignedRow, lane int, of *replay.Lane) int {
	if of.Metrics == nil || of.Metrics.FirstDivergence == nil {
		return -1
	}
	turn := *of.Metrics.FirstDivergence - 1
	column := lane
	if turn >= len(of.Turns) {
		column = 0 // the lane had ended, the log went on
	}
	return slices.IndexFunc(rows, func(r alignedRow) bool { return r[column] == turn })
}

// mostDifferent returns the sessions with those first in which the lanes differ most, and those that were left out last.
func mostDifferent(sessions []replay.Pair) []*replay.Pair {
	all := make([]*replay.Pair, len(sessions))
	for i := range sessions {
		all[i] = &sessions[i]
	}
	slices.SortStableFunc(all, func(a, b *replay.Pair) int { return cmp.Compare(unlike(b), unlike(a)) })
	return all
}

// unlike says how much the lanes of a session differ. The candidate's difference from the baseline weighs more than that from the log.
func unlike(p *replay.Pair) float64 {
	if p.Dropped != "" {
		return -1
	}
	observed, baseline, candidate := p.Lane(replay.Observed), p.Lane(replay.Baseline), p.Lane(replay.Candidate)
	if candidate == nil {
		return 0
	}
	sum := 1 - progression(candidate)
	if observed != nil && p.Outcome != "unknown" && observed.Completed != candidate.Completed {
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

func progression(l *replay.Lane) float64 {
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
type dataCell struct{ Lane, Value, Mark string }

const maxFields = 40

// dataOf lines up what the lanes have collected, and says how many fields it leaves out.
func dataOf(lanes []*replay.Lane) (fields []dataField, left int) {
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
			c := dataCell{Lane: laneWord(l.Name)}
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

// valueMark says how a value differs from the logged one. Alike are those that only case, white space or format tell apart.
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

// laneWord names a lane for people.
func laneWord(name string) string {
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
