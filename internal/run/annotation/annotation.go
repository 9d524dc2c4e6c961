// Package annotation is what people say of a run: verdicts over those of the machine, labels for judges, tests put in
// quarantine, conversations taken into datasets. It is only ever added to; of two that contradict each other the later
// one holds.
package annotation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// The kinds of annotations.
const (
	Override   = "override"
	Label      = "label"
	Quarantine = "quarantine"
	Dataset    = "dataset"
)

// None as the verdict of an override takes an earlier one back.
const None = "none"

// Annotation is one thing that somebody said. Which fields it has is decided by its kind.
type Annotation struct {
	Kind string `json:"kind"`
	// RunID is the run's; a file in the folder of a run leaves it out.
	RunID  string `json:"run_id,omitempty"`
	Suite  string `json:"suite"`
	TestID string `json:"test_id"`
	Target string `json:"target"`
	Trial  int    `json:"trial"`
	// Item is the part of the test that is meant, such as turn-2 or assertions; empty means all of it.
	Item string `json:"item"`
	// Assertion is the text of the judged assertion, Judged what the judge said of it, pass or fail, and Model who that
	// was. Of a label.
	Assertion string `json:"assertion,omitempty"`
	Judged    string `json:"judged,omitempty"`
	Model     string `json:"model,omitempty"`
	// Verdict is that of an override: pass, fail or none.
	Verdict string `json:"verdict,omitempty"`
	// Label is pass, fail or unclear.
	Label   string `json:"label,omitempty"`
	Comment string `json:"comment,omitempty"`
	// Owner, Until and Reason are the terms of a quarantine.
	Owner  string `json:"owner,omitempty"`
	Until  string `json:"until,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Dataset has got the conversation up to Turn, as the item ItemID.
	Dataset string `json:"dataset,omitempty"`
	Turn    int    `json:"turn,omitempty"`
	ItemID  string `json:"item_id,omitempty"`
	// Author is who said it, as they call themselves.
	Author string    `json:"author"`
	At     time.Time `json:"at"`
}

// maxText bounds each text of an annotation, in characters.
const maxText = 20_000

// Key returns the record that is meant.
func (a *Annotation) Key() result.Key {
	return result.Key{Suite: a.Suite, TestID: a.TestID, Target: a.Target, Trial: a.Trial}
}

// Terms returns the terms of a quarantine.
func (a *Annotation) Terms() quarantine.Terms {
	return quarantine.Terms{Owner: a.Owner, Until: a.Until, Reason: a.Reason}
}

// Check refuses an annotation that lacks something or cannot be meant.
func (a *Annotation) Check(now time.Time) error {
	for _, text := range []string{
		a.Suite, a.TestID, a.Target, a.Item, a.Assertion, a.Comment, a.Owner, a.Reason, a.Dataset, a.Author,
	} {
		if utf8.RuneCountInString(text) > maxText {
			return fmt.Errorf("a text has more than %d characters", maxText)
		}
	}
	if strings.TrimSpace(a.Author) == "" {
		return errors.New("say who you are: the author is missing")
	}
	if err := a.known(); err != nil {
		return err
	}
	switch a.Kind {
	case Override:
		if strings.TrimSpace(a.Comment) == "" {
			return errors.New("an override needs a comment: say why the machine is wrong")
		}
	case Label:
	case Quarantine:
		return a.Terms().Begins(now)
	case Dataset:
		if strings.TrimSpace(a.Dataset) == "" {
			return errors.New("name the dataset")
		}
	default:
		return fmt.Errorf("unknown kind %q", a.Kind)
	}
	return nil
}

// known refuses a verdict or a label that nothing counts.
func (a *Annotation) known() error {
	switch {
	case a.Kind == Override && !slices.Contains([]string{"pass", "fail", None}, a.Verdict):
		return fmt.Errorf("the verdict %q is none of pass, fail and none", a.Verdict)
	case a.Kind == Label && !slices.Contains([]string{"pass", "fail", "unclear"}, a.Label):
		return fmt.Errorf("the label %q is none of pass, fail and unclear", a.Label)
	}
	return nil
}
