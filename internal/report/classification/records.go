package classification

import (
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/spec/label"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Records gathers the predictions of items from the records of a run. It reads each from the output, the node and the
// state of the record's last turn, as the grader label does. Not safe for concurrent use.
type Records struct {
	set        dataset.Set
	labels     grader.Labels
	items      map[string]int
	prediction [][]prediction
}

// prediction is the prediction of one trial.
type prediction struct {
	trial      int
	prediction label.Prediction
	start, end time.Time
}

// NewRecords returns an empty Records of a set. Labels are all that there are.
func NewRecords(set dataset.Set, labels []string) *Records {
	r := &Records{
		set: set, labels: grader.Labels{Known: labels, Several: set.Several},
		items: make(map[string]int, len(set.Items)), prediction: make([][]prediction, len(set.Items)),
	}
	for i := range set.Items {
		r.items[set.Items[i].ID] = i
	}
	return r
}

// Add reads a record and returns the number of its item; ok is false while the item has other trials to come, and where
// nothing was predicted.
func (r *Records) Add(t *result.Test) (i int, ok bool) {
	i, known := r.items[t.TestID]
	if !known || t.Verdict == result.Error || t.Verdict == result.Skip {
		return i, false
	}
	if n := len(t.Turns); n > 0 {
		turn := &t.Turns[n-1]
		p := r.labels.Prediction(turn.Output, turn.Node, turn.State)
		p.ID = t.TestID
		r.prediction[i] = append(r.prediction[i], prediction{
			t.Trial, p, t.StartedAt, t.StartedAt.Add(time.Duration(t.DurationMS * float64(time.Millisecond))),
		})
	}
	return i, t.Trial == 0 && len(r.prediction[i]) > 0
}

// Prediction returns the prediction of an item: of several trials the most frequent one, of equally frequent ones that
// of the earlier trial. Its ID is empty where there is none. The times are when the item was first asked about, and
// when it was last answered.
func (r *Records) Prediction(i int) (p label.Prediction, start, end time.Time) {
	all := r.prediction[i]
	if len(all) == 0 {
		return p, start, end
	}
	slices.SortFunc(all, func(a, b prediction) int { return a.trial - b.trial })
	most := 0
	for _, one := range all {
		n := 0
		for _, other := range all {
			if same(&one.prediction, &other.prediction) {
				n++
			}
		}
		if n > most {
			p, most = one.prediction, n
		}
	}
	start, end = all[0].start, all[0].end
	for _, one := range all {
		if one.start.Before(start) {
			start = one.start
		}
		if one.end.After(end) {
			end = one.end
		}
	}
	return p, start, end
}

// same reports whether two predictions have the same labels, in any order.
func same(a, b *label.Prediction) bool {
	return a.Null == b.Null &&
		slices.Equal(slices.Sorted(slices.Values(a.Labels)), slices.Sorted(slices.Values(b.Labels)))
}

// Predictions returns those of all items, in their order.
func (r *Records) Predictions() []label.Prediction {
	all := make([]label.Prediction, len(r.prediction))
	for i := range all {
		all[i], _, _ = r.Prediction(i)
	}
	return all
}
