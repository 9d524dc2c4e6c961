package classify

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/report/classification"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Submitted is a classification that a RunSpec asks for. Any process can hold its items.
type Submitted struct {
	config  Config
	request *request
}

// Submit reads the items of c.Spec.Classify through the files of c.Setup and chooses the classifier. It returns c with
// the items as tests, for evaluation.New and evaluation.NewConversationRunner. It opens nothing. What a submitted run
// names and may not is noted in the setup, also with an error.
func Submit(c evaluation.Config) (*Submitted, evaluation.Config, error) {
	of := c.Spec.Classify
	at, err := c.Setup.At(path.Dir(of.Items))
	if err != nil {
		return nil, c, err
	}
	at.NamesWritten(of.Target)
	at.NamesTarget(of.Target)
	s := &Submitted{config: Config{Setup: at, Dataset: titleOf(of.Items), Spec: c.Spec}}
	if s.config.Set, err = dataset.LoadFrom(c.Setup.Files, of.Items); err != nil {
		return nil, c, source.AsInvalid(err)
	}
	if s.config.Classifier, err = Choose(at, Selection{Target: of.Target, Model: c.Spec.Model}); err != nil {
		return nil, c, err
	}
	s.config.Set.Several = s.config.Set.Several || s.config.Classifier.Lists()
	s.config.View = viewOf(of.Thresholds.Named(), at.Config())
	if s.request, err = s.config.tests(); err != nil {
		return nil, c, err
	}
	c.Setup, c.Suites, c.Made = at.Making(s.request.makers), []*suite.Suite{s.request.suite},
		s.config.Classifier.decides()
	return s, c, nil
}

// titleOf returns the name of a dataset in a file.
func titleOf(file string) string {
	base, _, _ := strings.Cut(path.Base(file), ".")
	return base
}

// viewOf returns the thresholds that were given and, where none was, those of the configuration.
func viewOf(given map[string]*float64, c config.File) classification.Options {
	least := func(name string, configured float64) classification.Least {
		if value := given[name]; value != nil {
			return classification.Least{Value: *value, Always: true}
		}
		return classification.Least{Value: configured}
	}
	configured := c.Least()
	return classification.Options{Rows: shownRows, Thresholds: classification.Thresholds{
		MacroF1: least("macro_f1", configured.MacroF1), MinClassF1: least("min_class_f1", configured.MinClassF1),
		Recall: least("recall", configured.SkillRecall), Accuracy: least("accuracy", 0),
	}}
}

// shownRows is how many classes and confusions a report shows.
const shownRows = 20

// Decide reads the records of a run in its folder and sets how the run ended, as Outcome does. reports writes what the
// run came to there.
func (s *Submitted) Decide(run *result.Run, dir string) (reports func() error, err error) {
	o, err := s.Outcome(run, dir)
	return func() error { return s.Write(o) }, err
}

// Outcome reads the records of a run in its folder and sets how the run ended: by the thresholds, where every item was
// classified. Else the run stays as it is, without a report.
func (s *Submitted) Outcome(run *result.Run, dir string) (*Outcome, error) {
	records := classification.NewRecords(s.config.Set, s.request.labels)
	for t, err := range runlog.Read(dir) {
		if err != nil {
			return nil, err
		}
		records.Add(t)
	}
	o := &Outcome{Dir: dir, Records: records, Predictions: records.Predictions()}
	if run.Stopped() || run.Totals.Errors > 0 {
		return o, nil
	}
	for i := range o.Predictions {
		if o.Predictions[i].ID == "" {
			return nil, fmt.Errorf("the item %s was held and has no prediction", s.config.Set.Items[i].ID)
		}
	}
	o.Report = classification.New(s.config.Set, o.Predictions, s.config.View)
	run.Ended(result.ExitPassed, result.ReasonPassed)
	if !o.Report.Passed {
		run.Ended(result.ExitFailed, result.ReasonFailed)
	}
	return o, nil
}

// Write writes the reports of an outcome into its folder; without a report it writes nothing.
func (s *Submitted) Write(o *Outcome) error {
	if o.Report == nil {
		return nil
	}
	return o.Report.Write(o.Dir, s.config.Set, o.Predictions)
}

// Title returns the classifier in words.
func (s *Submitted) Title() string { return s.config.Title() }

// Several reports whether items have any number of labels.
func (s *Submitted) Several() bool { return s.config.Set.Several }

// Show bounds how many classes and confusions a report shows; 0 shows all.
func (s *Submitted) Show(rows int) { s.config.View.Rows = rows }

// Unreported says why a run that has ended came to no report: it was interrupted or stopped, or an item could not be
// classified.
func Unreported(run *result.Run, dir string) error {
	switch {
	case run.Code() == result.ExitInterrupted:
		return ErrInterrupted
	case run.Stopped():
		return fmt.Errorf("the run ended before every item was classified: %s", cmp.Or(run.ExitMessage, run.ExitReason))
	}
	for t, err := range runlog.Read(dir) {
		if err != nil {
			return err
		}
		if t.Verdict == result.Error {
			return unclassified(t)
		}
	}
	return errors.New("the run has no report, and its records do not say why")
}
