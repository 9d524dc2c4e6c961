package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rehearse/internal/langfuse"
)

// runSender sends the items of a run, some at a time, and its scores at the end. It is used by one goroutine.
type runSender struct {
	*langfuseLog
	run *loggedRun
	// datasetID is empty until the dataset was found, runID until an item is in the run.
	datasetID, runID string
	// faults are what did not get through, one line each; tried counts the items that came.
	faults []string
	tried  int
	// parked are items for which the dataset could not be looked up yet.
	parked []loggedItem
	// trouble is how often in a row Langfuse has failed; from maxLogTrouble on the rest is left alone, which gaveUp says.
	trouble int
	gaveUp  bool
	untried int
}

// maxLogTrouble is how often in a row adding an item may fail before the rest is left alone.
const maxLogTrouble = 3

// experiment is the id of the run as an experiment.
func (s *runSender) experiment() string { return langfuse.TraceID("run", s.run.Dataset, s.run.Name) }

func (s *runSender) fault(text string) { s.faults = append(s.faults, text) }

// items sends a trace of each item, adds it to the run, and scores it.
func (s *runSender) items(ctx context.Context, items []loggedItem) {
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

// end sends the scores of the run; nil is a run that broke off and has none.
func (s *runSender) end(ctx context.Context, scores map[string]float64) {
	for len(s.parked) > 0 {
		s.items(ctx, nil)
	}
	if s.untried > 0 && s.untried < s.tried {
		s.fault(plural(s.untried, "item") + " not tried")
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
		id = s.experiment()
	}
	all, names := s.run.runScores(scores, id)
	s.pushed(ctx, s.client.CreateScores(ctx, all), names)
}

// ready looks the dataset up, once it can be. Without it nothing can be logged; what may pass is tried again with the next items.
func (s *runSender) ready(ctx context.Context) bool {
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
		s.fault(fmt.Sprintf("%v; a run belongs to a dataset: create it with its items first (rehearse dataset push)", err))
	case s.trouble == maxLogTrouble || errors.Is(err, langfuse.ErrUnauthorized) || ctx.Err() != nil:
		s.fault(because(ctx, err.Error()))
	default:
		return false
	}
	s.gaveUp = true
	return false
}

// because is a text of an error; of requests that were given up it says why.
func because(ctx context.Context, text string) string {
	if cause := context.Cause(ctx); cause != nil {
		return strings.ReplaceAll(text, context.Canceled.Error(), cause.Error())
	}
	return text
}

// experiments reports whether the server has experiments instead of runs.
func (s *runSender) experiments(ctx context.Context) bool {
	health, err := s.client.Health(ctx)
	major, _, _ := strings.Cut(health.Version, ".")
	version, _ := strconv.Atoi(major)
	return err == nil && version >= 4
}

// pushed notes what did not get through of what was sent together.
func (s *runSender) pushed(ctx context.Context, err error, names map[string]string) {
	for _, line := range listed(err, names) {
		s.fault(because(ctx, line))
	}
	if partly, ok := errors.AsType[*langfuse.PushError](err); ok && len(partly.Rest) > 0 || errors.Is(err, langfuse.ErrUnauthorized) {
		s.gaveUp = true
	}
}

// traces sends a trace for each item and returns those items whose trace arrived.
func (s *runSender) traces(ctx context.Context, items []loggedItem) (sent []*loggedItem) {
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
		sent = slices.DeleteFunc(sent, func(item *loggedItem) bool { return !arrived[s.run.traceOf(item.ID)] })
	}
	s.pushed(ctx, err, names)
	return sent
}

// trace makes the trace of an item, without secrets.
func (s *runSender) trace(item *loggedItem) (langfuse.Trace, error) {
	r := s.run
	span := langfuse.Span{ID: r.rootOf(item.ID), Name: r.Kind, Start: item.Start, End: item.End, Failure: s.secrets.Text(item.Failure)}
	e := langfuse.Experiment{
		ID: s.experiment(), Name: r.Name, Description: r.Description, Metadata: r.Metadata, DatasetID: s.datasetID, ItemID: item.ID,
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
		ID: r.traceOf(item.ID), Name: r.Kind, Tags: []string{"rehearse"}, Metadata: r.Metadata, Experiment: &e, Spans: []langfuse.Span{span},
	}, nil
}

// add adds items to the run.
func (s *runSender) add(ctx context.Context, sent []*loggedItem) {
	metadata, err := json.Marshal(s.run.Metadata)
	if err != nil {
		s.fault(err.Error())
		return
	}
	for i, item := range sent {
		added, err := s.client.AddRunItem(ctx, langfuse.NewRunItem{
			Run: s.run.Name, Description: s.run.Description, Metadata: metadata, ItemID: item.ID,
			TraceID: s.run.traceOf(item.ID), ObservationID: s.run.rootOf(item.ID),
		})
		if err == nil {
			s.runID, s.trouble = added.RunID, 0
			continue
		}
		s.fault(because(ctx, err.Error()))
		if !errors.Is(err, langfuse.ErrNotFound) { // that one item alone
			s.trouble++
		}
		if s.trouble == maxLogTrouble || errors.Is(err, langfuse.ErrUnauthorized) || ctx.Err() != nil {
			s.gaveUp, s.untried = true, s.untried+len(sent)-i-1
			return
		}
	}
}

// itemScores returns the scores of items, and what each is called by its id. What is logged again replaces what was.
func (s *runSender) itemScores(sent []*loggedItem) (all []langfuse.Score, names map[string]string) {
	r := s.run
	names = map[string]string{}
	for _, item := range sent {
		for _, name := range slices.Sorted(maps.Keys(item.Scores)) {
			id := langfuse.TraceID("score", r.Dataset, r.Name, item.ID, name)
			names[id] = fmt.Sprintf("the score %s of %s", name, item.ID)
			all = append(all, langfuse.Score{
				ID: id, Name: name, Value: langfuse.Numeric(item.Scores[name]),
				TraceID: r.traceOf(item.ID), ObservationID: r.rootOf(item.ID), Comment: s.secrets.Text(item.Comment),
			})
		}
	}
	return all, names
}

// runScores returns the scores of the whole run, and what each is called by its id.
func (r *loggedRun) runScores(scores map[string]float64, runID string) (all []langfuse.Score, names map[string]string) {
	names = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(scores)) {
		id := langfuse.TraceID("score", r.Dataset, r.Name, name)
		names[id] = "the score " + name + " of the run"
		all = append(all, langfuse.Score{ID: id, Name: name, Value: langfuse.Numeric(scores[name]), RunID: runID})
	}
	return all, names
}

// listed returns what an error of many things tells, one line for all that have failed alike; names are what the things are called.
func listed(err error, names map[string]string) []string {
	partly, ok := errors.AsType[*langfuse.PushError](err)
	if !ok {
		if err == nil {
			return nil
		}
		return []string{err.Error()}
	}
	var reasons []string
	alike := map[string][]string{}
	for _, failed := range partly.Failed {
		reason := failed.Err.Error()
		if alike[reason] == nil {
			reasons = append(reasons, reason)
		}
		alike[reason] = append(alike[reason], names[failed.ID])
	}
	var said []string
	for _, reason := range reasons {
		things := alike[reason]
		const most = 5
		some := strings.Join(things[:min(len(things), most)], ", ")
		if more := len(things) - most; more > 0 {
			some += fmt.Sprintf(" and %d more", more)
		}
		said = append(said, some+": "+reason)
	}
	if n := len(partly.Rest); n > 0 {
		said = append(said, fmt.Sprintf("%d %s were not tried", n, partly.What))
	}
	return said
}
