package experiment

import (
	"fmt"
	"maps"
	"slices"

	"rehearse/internal/langfuse"
)

// itemScores returns the scores of items, and what each is called by its id. What is logged again replaces what was.
func (s *sender) itemScores(sent []*Item) (all []langfuse.Score, names map[string]string) {
	r := s.run
	names = map[string]string{}
	for _, item := range sent {
		for _, name := range slices.Sorted(maps.Keys(item.Scores)) {
			id := langfuse.TraceID("score", r.Dataset, r.Name, item.ID, name)
			names[id] = fmt.Sprintf("the score %s of %s", name, item.ID)
			all = append(all, langfuse.Score{
				ID: id, Name: name, Value: langfuse.Numeric(item.Scores[name]),
				TraceID: r.trace(item.ID), ObservationID: r.span(item.ID), Comment: s.secrets.Text(item.Comment),
			})
		}
	}
	return all, names
}

// runScores returns the scores of the whole run, and what each is called by its id.
func (r *Run) runScores(scores map[string]float64, runID string) (all []langfuse.Score, names map[string]string) {
	names = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(scores)) {
		id := langfuse.TraceID("score", r.Dataset, r.Name, name)
		names[id] = "the score " + name + " of the run"
		all = append(all, langfuse.Score{ID: id, Name: name, Value: langfuse.Numeric(scores[name]), RunID: runID})
	}
	return all, names
}
