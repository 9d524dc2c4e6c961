// Package experiment logs evaluations of datasets to Langfuse while they go on: a trace for each item with its scores,
// and at the end the scores of the run. Langfuse 3 shows them as dataset runs, Langfuse 4 as experiments.
package experiment

import (
	"time"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

// Run is one evaluation of a dataset, as it is logged.
type Run struct {
	// Kind is what the traces are called, such as classify.
	Kind string
	// Dataset is the name of the dataset in Langfuse. Name is the name of the run, unique among the runs of the
	// dataset.
	Dataset, Name string
	// Description says in a line what was evaluated; Metadata can be searched.
	Description string
	Metadata    map[string]string
}

// id is the id of the run as an experiment.
func (r *Run) id() string { return langfuse.TraceID("run", r.Dataset, r.Name) }

// trace returns the id of the trace of an item.
func (r *Run) trace(item string) string { return langfuse.TraceID("rehearse", r.Dataset, r.Name, item) }

// span returns the id of the only span of that trace.
func (r *Run) span(item string) string { return langfuse.SpanID("rehearse", r.Dataset, r.Name, item) }

// Item is what was done with one item.
type Item struct {
	// ID is that of the item in Langfuse.
	ID string
	// Input, Output and Expected are anything that is written as JSON; nil for none.
	Input, Output, Expected any
	Start, End              time.Time
	// Failure says why there is no output; it is empty when there is one.
	Failure string
	// Scores are the scores of the item. Comment is their reason; it is written to each score.
	Scores  map[string]float64
	Comment string
}

// Redactor takes secrets out of what is logged.
type Redactor interface {
	Text(text string) string
	Bytes(data []byte) []byte
}

// Config says where and how runs are logged.
type Config struct {
	Client  *langfuse.Client
	Secrets Redactor
	// OnWarning prints what became of a run, in sentences. Only Log.Finish and Log.BreakOff call it.
	OnWarning func(text string)
	Pace      Pace
}

// Pace is how a run is logged while it goes on, and how long that may take at its end.
type Pace struct {
	// Every is how long items gather before they are sent, unless there are Batch of them first.
	Every time.Duration
	Batch int
	// Waiting bounds the items that wait; further ones are sent at the end.
	Waiting int
	// Finish bounds the logging at the end of a run, plus Each for every item that still waits. BrokenOff bounds it
	// after an interruption.
	Finish, Each, BrokenOff time.Duration
}

// UsualPace loses two seconds of a run that is killed, and gives a slow Langfuse half a second for each item that is
// left.
func UsualPace() Pace {
	return Pace{
		Every: 2 * time.Second, Batch: 50, Waiting: 5000, Finish: time.Minute, Each: 500 * time.Millisecond,
		BrokenOff: 10 * time.Second,
	}
}
