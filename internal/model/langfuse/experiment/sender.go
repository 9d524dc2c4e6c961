package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

// sender sends the items of a run, some at a time, and its scores at the end. It is used by one goroutine.
type sender struct {
	client  *langfuse.Client
	secrets Redactor
	run     *Run
	// datasetID is empty until the dataset was found, runID until an item is in the run.
	datasetID, runID string
	// faults are the lines on what was not logged; tried counts the items that came.
	faults []string
	tried  int
	// parked are items for which the dataset could not be looked up yet.
	parked []Item
	// trouble is how often in a row Langfuse has failed. From maxTrouble on gaveUp is set, and the rest is not tried.
	trouble int
	gaveUp  bool
	untried int
}

// maxTrouble is how often in a row adding an item may fail before the rest is not tried.
const maxTrouble = 3

func (s *sender) fault(text string) { s.faults = append(s.faults, text) }

// items sends a trace of each item, adds it to the run, and scores it.
func (s *sender) items(ctx context.Context, items []Item) {
	s.tried += len(items)
	items = append(s.parked, items...)
	s.parked = nil
	switch {
	case len(items) == 0:
	case s.ready(ctx):
		sent := s.traces(ctx, items)
		s.add(ctx, sent)
		scores, names := s.itemScores(sent)
		s.pushed(ctx, s.client.CreateScores(ctx, scores), names)
	case s.gaveUp:
		s.untried += len(items)
	default:
		s.parked = items
	}
}

// end sends the scores of the run; nil means that the run broke off and has none.
func (s *sender) end(ctx context.Context, scores map[string]float64) {
	for len(s.parked) > 0 {
		s.items(ctx, nil)
	}
	if s.untried > 0 && s.untried < s.tried {
		s.fault(text.Plural(s.untried, "item") + " not tried")
	}
	switch {
	case scores == nil || s.datasetID == "":
		return
	case s.runID == "":
		s.fault("the scores: there is no run to put them on")
		return
	}
	id := s.runID
	if s.experiments(ctx) {
		id = s.run.id()
	}
	all, names := s.run.runScores(scores, id)
	s.pushed(ctx, s.client.CreateScores(ctx, all), names)
}

// ready looks the dataset up, without which nothing can be logged. After a failure that may pass, it tries again with
// the next items.
func (s *sender) ready(ctx context.Context) bool {
	if s.gaveUp || s.datasetID != "" {
		return !s.gaveUp
	}
	d, err := s.client.Dataset(ctx, s.run.Dataset)
	if err == nil {
		s.datasetID, s.trouble = d.ID, 0
		return true
	}
	s.trouble++
	absent := errors.Is(err, langfuse.ErrNotFound)
	switch {
	case absent:
		s.fault(
			fmt.Sprintf("%v; a run belongs to a dataset: create it with its items first (rehearse dataset push)", err))
	case s.trouble == maxTrouble || errors.Is(err, langfuse.ErrUnauthorized) || ctx.Err() != nil:
		s.fault(because(ctx, err.Error()))
	default:
		return false
	}
	s.gaveUp = true
	return false
}

// experiments reports whether the server has experiments instead of runs.
func (s *sender) experiments(ctx context.Context) bool {
	health, err := s.client.Health(ctx)
	major, _, _ := strings.Cut(health.Version, ".")
	version, _ := strconv.Atoi(major)
	return err == nil && version >= 4
}

// pushed notes which of the things that were sent together were not accepted.
func (s *sender) pushed(ctx context.Context, err error, names map[string]string) {
	for _, line := range listed(err, names) {
		s.fault(because(ctx, line))
	}
	if partly, ok := errors.AsType[*langfuse.PushError](err); ok && len(partly.Rest) > 0 ||
		errors.Is(err, langfuse.ErrUnauthorized) {
		s.gaveUp = true
	}
}

// traces sends a trace for each item and returns those items whose trace arrived.
func (s *sender) traces(ctx context.Context, items []Item) (sent []*Item) {
	var all []langfuse.Trace
	names := map[string]string{}
	for i := range items {
		item := &items[i]
		trace, err := s.trace(item)
		if err != nil {
			s.fault(fmt.Sprintf("the trace of %s: %v", item.ID, err))
			continue
		}
		all, sent = append(all, trace), append(sent, item)
		names[trace.ID] = "the trace of " + item.ID
	}
	err := s.client.Export(ctx, all)
	if partly, ok := errors.AsType[*langfuse.PushError](err); ok {
		arrived := map[string]bool{}
		for _, id := range partly.Done {
			arrived[id] = true
		}
		sent = slices.DeleteFunc(sent, func(item *Item) bool { return !arrived[s.run.trace(item.ID)] })
	}
	s.pushed(ctx, err, names)
	return sent
}

// trace makes the trace of an item, without secrets.
func (s *sender) trace(item *Item) (langfuse.Trace, error) {
	r := s.run
	span := langfuse.Span{
		ID: r.span(item.ID), Name: r.Kind, Start: item.Start, End: item.End, Failure: s.secrets.Text(item.Failure),
	}
	e := langfuse.Experiment{
		ID: s.run.id(), Name: r.Name, Description: r.Description, Metadata: r.Metadata, DatasetID: s.datasetID,
		ItemID: item.ID,
	}
	for _, part := range []struct {
		value any
		to    *json.RawMessage
	}{{item.Input, &span.Input}, {item.Output, &span.Output}, {item.Expected, &e.ExpectedOutput}} {
		data, err := json.Marshal(part.value)
		if err != nil {
			return langfuse.Trace{}, err
		}
		if *part.to = s.secrets.Bytes(data); !json.Valid(*part.to) {
			return langfuse.Trace{}, errors.New("without its secrets it is no JSON")
		}
	}
	return langfuse.Trace{
		ID: r.trace(item.ID), Name: r.Kind, Tags: []string{"rehearse"}, Metadata: r.Metadata, Experiment: &e,
		Spans: []langfuse.Span{span},
	}, nil
}

// add adds items to the run.
func (s *sender) add(ctx context.Context, sent []*Item) {
	metadata, err := json.Marshal(s.run.Metadata)
	if err != nil {
		s.fault(err.Error())
		return
	}
	for i, item := range sent {
		added, err := s.client.AddRunItem(ctx, langfuse.NewRunItem{
			Run: s.run.Name, Description: s.run.Description, Metadata: metadata, ItemID: item.ID,
			TraceID: s.run.trace(item.ID), ObservationID: s.run.span(item.ID),
		})
		if err == nil {
			s.runID, s.trouble = added.RunID, 0
			continue
		}
		s.fault(because(ctx, err.Error()))
		if !errors.Is(err, langfuse.ErrNotFound) { // that one item alone
			s.trouble++
		}
		if s.trouble == maxTrouble || errors.Is(err, langfuse.ErrUnauthorized) || ctx.Err() != nil {
			s.gaveUp, s.untried = true, s.untried+len(sent)-i-1
			return
		}
	}
}

// itemScores returns the scores of items, and the name of each by its id. A score that is logged again replaces the
// earlier one.
func (s *sender) itemScores(sent []*Item) (all []langfuse.Score, names map[string]string) {
	r := s.run
	names = map[string]string{}
	for _, item := range sent {
		for _, name := range slices.Sorted(maps.Keys(item.Scores)) {
			id := langfuse.TraceID("score", r.Dataset, r.Name, item.ID, name)
			names[id] = fmt.Sprintf("the score %s of %s", name, item.ID)
			all = append(all, langfuse.Score{
				ID: id, Name: name, Value: item.Scores[name],
				TraceID: r.trace(item.ID), ObservationID: r.span(item.ID), Comment: s.secrets.Text(item.Comment),
			})
		}
	}
	return all, names
}

// runScores returns the scores of the run, and the name of each by its id.
func (r *Run) runScores(scores map[string]float64, runID string) (all []langfuse.Score, names map[string]string) {
	names = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(scores)) {
		id := langfuse.TraceID("score", r.Dataset, r.Name, name)
		names[id] = "the score " + name + " of the run"
		all = append(all, langfuse.Score{ID: id, Name: name, Value: scores[name], RunID: runID})
	}
	return all, names
}
