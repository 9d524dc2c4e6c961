package evaluation

import (
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// SubmittedAnswers are the next answers of recorded conversations that a RunSpec asks for. Any process can hold them.
type SubmittedAnswers struct {
	*Recorded
	// Least is the share of good answers from which the run passes.
	Least float64
}

// SubmitAnswers reads the items of c.Spec.E2E through the files of c.Setup. It returns c with them as tests, for New
// and NewHolder. It opens nothing. What a submitted run names and may not is noted in the setup, also with an error.
func SubmitAnswers(c Config) (*SubmittedAnswers, Config, error) {
	of := c.Spec.E2E
	items, err := dataset.LoadRecordsFrom(c.Setup.Files, of.Items)
	if err != nil {
		return nil, c, source.AsInvalid(err)
	}
	judged := c.Spec.Judge != runspec.NoJudge
	r, err := ReadRecorded(c.Setup, dataset.Name{Kind: dataset.InFile, Dataset: of.Items}, items, RecordedConfig{
		Sites: of.Sites, Prompts: of.Prompts, Site: of.Site, Judged: judged,
	})
	if err != nil {
		return nil, c, err
	}
	if of.Item != "" {
		others, err := r.Only(of.Item)
		if err != nil {
			return nil, c, err
		}
		if others != "" {
			r.Setup().WarnOnce(others)
		}
	}
	if !judged {
		c.Spec.Judge = ""
	}
	if c.Spec.Threshold == nil {
		c.Spec.Threshold = new(DefaultAnswerThreshold)
	}
	s := &SubmittedAnswers{Recorded: r, Least: r.Config.Least().AnswerAccuracy}
	if of.Accuracy != nil {
		s.Least = *of.Accuracy
	}
	c.Setup, c.Suites = r.Setup(), r.Suites()
	return s, c, nil
}

// Decide reads the records of a run in its folder and has the share of good answers decide how the run ended. There are
// no reports of its own.
func (s *SubmittedAnswers) Decide(run *result.Run, dir string) (reports func() error, err error) {
	a, err := ReadAnswers(dir)
	if err != nil {
		return nil, err
	}
	a.Decide(run, s.Least)
	return func() error { return nil }, nil
}
