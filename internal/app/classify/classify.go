// Package classify scores a classifier against labelled items: each item is a test of one turn with the assertion
// `label`, held by an evaluation like any other test. Its figures are a view of the run's records.
package classify

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/report/classification"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/label"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Config names the items, the classifier, and the folder of the results.
type Config struct {
	Setup *wire.Setup
	Set   dataset.Set
	// Dataset is the name of the dataset with the items.
	Dataset string
	// Classifier makes the predictions. If it is nil, Predictions are used: those of the file From, in the order of the
	// items.
	Classifier  *Classifier
	Predictions []label.Prediction
	From        string
	// View has the thresholds, and says how much is shown.
	View classification.Options
	// Spec says how the items are asked about: workers, trials, retries, time limits.
	Spec runspec.Spec
	// Out is the folder of the results; empty means a new folder below wire.StateDir. Resume continues the run in that
	// folder.
	Out     string
	Resume  bool
	Command []string
	Version string
	// Stop ends the run cleanly when it is closed. It may be nil.
	Stop <-chan struct{}
	// Sink is told how the run goes on. It is required.
	Sink evaluation.Sink
	// Log logs the items as they are finished; nil logs none.
	Log *Log
}

// Outcome is the outcome of a run.
type Outcome struct {
	// Dir is the folder of its results.
	Dir     string
	Records *classification.Records
	// Predictions are in the order of the items. A prediction without an ID was not made.
	Predictions []label.Prediction
	// Report is nil unless every item is classified.
	Report *classification.Report
}

// ErrInterrupted says that a run was stopped before every item was classified.
var ErrInterrupted = errors.New("interrupted before every item was classified")

// Title returns the classifier in words.
func (c *Config) Title() string {
	if c.Classifier == nil {
		return "the predictions of " + c.From
	}
	return c.Classifier.String()
}

// Run classifies the items and writes every report. It ends at the first item that cannot be classified. With an error,
// the outcome may be nil; otherwise it has the predictions so far.
func Run(ctx context.Context, c Config) (*Outcome, error) {
	tests, err := c.tests()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := c.watch(tests, cancel)
	go w.until(ctx, c.Stop)
	made := any(c.Predictions)
	if c.Classifier != nil {
		made = c.Classifier.decides()
	}
	e, err := evaluation.New(ctx, evaluation.Config{
		Made:  made,
		Setup: c.Setup.Making(tests.makers), Spec: c.Spec, Suites: []*suite.Suite{tests.suite}, Out: c.Out,
		Formats: []string{"junit"}, Writes: report.Owned(), Resume: c.Resume, Rerun: c.rerun(), Command: c.Command,
		Version: c.Version, Stop: w.stop, Sink: w,
	})
	if err != nil {
		return nil, err
	}
	held, err := e.Run(ctx)
	if err != nil {
		return nil, err
	}
	if c.Resume { // its log has more than what was held now, perhaps of other targets
		w.records = classification.NewRecords(c.Set, tests.labels)
		for t, err := range runlog.Read(held.Dir) {
			if err != nil {
				return nil, err
			}
			if tests.targets[t.TestID] == t.Target {
				w.records.Add(t)
			}
		}
	}
	return c.conclude(e, held, w)
}

// rerun classifies again the items of a resumed run that could not be classified.
func (c *Config) rerun() string {
	if c.Resume {
		return "errors"
	}
	return ""
}

// conclude writes the reports from the records, and the end of the run.
func (c *Config) conclude(e *evaluation.Evaluation, held *evaluation.Completed, w *watch) (*Outcome, error) {
	o := &Outcome{Dir: held.Dir, Records: w.records, Predictions: w.records.Predictions()}
	end := &held.Run
	var ended error
	switch {
	case w.failed != nil:
		end.Ended(result.ExitNotRun, "errors")
		ended = unclassified(w.failed)
	case end.Code() == result.ExitInterrupted:
		ended = ErrInterrupted
	case end.Stopped():
		ended = errors.New(end.ExitMessage)
	default:
		o.Report = classification.New(c.Set, o.Predictions, c.View)
		end.Ended(result.ExitPassed, "passed")
		if !o.Report.Passed {
			end.Ended(result.ExitFailed, "failed")
		}
	}
	_, err := e.Conclude(held)
	if o.Report != nil {
		err = errors.Join(err, o.Report.Write(held.Dir, c.Set, o.Predictions))
	}
	return o, errors.Join(ended, err)
}

// unclassified says that an item could not be classified, and why.
func unclassified(t *result.Test) error {
	return fmt.Errorf("classify the item %q: %s", t.TestID, why(t))
}

// why returns the reason why an item could not be classified.
func why(t *result.Test) string {
	if len(t.Failures) > 0 {
		return t.Failures[0].Message
	}
	for _, s := range t.Scores {
		if len(s.Failures) > 0 {
			return s.Failures[0].Message
		}
	}
	return string(t.Verdict)
}

// watch reports each finished item, and ends the run at the first that cannot be classified.
type watch struct {
	evaluation.Sink
	config  *Config
	records *classification.Records
	failed  *result.Test
	stop    chan struct{}
	end     func()
	cancel  func()
}

func (c *Config) watch(a *request, cancel func()) *watch {
	w := &watch{
		Sink: c.Sink, config: c, records: classification.NewRecords(c.Set, a.labels), stop: make(chan struct{}),
		cancel: cancel,
	}
	w.end = sync.OnceFunc(func() { close(w.stop) })
	return w
}

// until passes a stop on, until ctx ends.
func (w *watch) until(ctx context.Context, stop <-chan struct{}) {
	select {
	case <-stop:
		w.end()
	case <-ctx.Done():
	}
}

// Begin implements evaluation.Sink.
func (w *watch) Begin(run result.Run, tests int) {
	w.config.Log.begin(w.config, run.ID)
	w.Sink.Begin(run, tests)
}

// Store implements evaluation.Sink.
func (w *watch) Store(t *result.Test) {
	if t.Verdict == result.Error && w.failed == nil {
		w.failed = t
		w.end()
		w.cancel()
	}
	if i, ok := w.records.Add(t); ok {
		w.config.Log.add(w.config, w.records, i)
	}
	w.Sink.Store(t)
}
