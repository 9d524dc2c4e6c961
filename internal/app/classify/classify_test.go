package classify_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/classify"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/report/classification"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/label"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

type unheard struct{}

func (unheard) Begin(result.Run, int)         {}
func (unheard) Observe(orchestrator.Progress) {}
func (unheard) Store(*result.Test)            {}
func (unheard) End()                          {}

// stopped stops a run with its first record.
type stopped struct {
	unheard
	stop chan struct{}
	once sync.Once
}

func (s *stopped) Store(*result.Test) {
	s.once.Do(func() { close(s.stop) })
	time.Sleep(time.Millisecond)
}

// predictedConfig has 100 items with the label a and a file of predictions: the first 50 are right, one is missing, and
// the others are wrong.
func predictedConfig(t *testing.T) classify.Config {
	t.Helper()
	t.Chdir(t.TempDir())
	s, err := wire.Open(wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	c := classify.Config{
		Setup: s, Dataset: "items", From: "predictions.jsonl", Spec: runspec.Spec{Schema: runspec.Schema},
		Sink: unheard{}, Out: "out", View: classification.Options{Thresholds: classification.Thresholds{
			Accuracy: classification.Least{Value: 0.5, Always: true},
		}},
	}
	for i := range 100 {
		p := label.Prediction{ID: fmt.Sprint(i), Labels: []string{"a"}}
		switch {
		case i == 50:
			p.Labels, p.Null = nil, true
		case i > 50:
			p.Labels = []string{"b"}
		}
		c.Set.Items = append(c.Set.Items, dataset.Item{ID: p.ID, Message: "hello", Labels: []string{"a"}})
		c.Predictions = append(c.Predictions, p)
	}
	return c
}

func TestRun(t *testing.T) {
	c := predictedConfig(t)
	o, err := classify.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if r := o.Report; r.N != 100 || r.Correct != 50 || r.Null != 1 || !r.Passed {
		t.Errorf("%d items, %d correct, %d without a prediction, passed %v", r.N, r.Correct, r.Null, r.Passed)
	}
	for i, p := range o.Predictions {
		if p.ID != c.Predictions[i].ID || p.Null != c.Predictions[i].Null {
			t.Fatalf("prediction %d is %+v", i, p)
		}
	}
	for _, file := range []string{
		"results.jsonl", "run.json", "junit.xml", "classification.json", "items.jsonl", "report.md", "report.html",
	} {
		if found, err := filepath.Glob(filepath.Join("out", file)); err != nil || len(found) != 1 {
			t.Errorf("%s is missing", file)
		}
	}
}

// TestRunStops checks that a stopped run has no figures, and that it can be resumed.
func TestRunStops(t *testing.T) {
	c := predictedConfig(t)
	stop := make(chan struct{})
	c.Stop = stop
	c.Spec.Limits.Workers = 1
	c.Sink = &stopped{stop: stop}
	o, err := classify.Run(t.Context(), c)
	if !errors.Is(err, classify.ErrInterrupted) || o == nil || o.Report != nil {
		t.Fatalf("outcome %+v, error %v", o, err)
	}
	c.Stop, c.Sink, c.Resume = nil, unheard{}, true
	if o, err = classify.Run(t.Context(), c); err != nil || o.Report.N != 100 || o.Report.Correct != 50 {
		t.Errorf("resumed: %+v, error %v", o, err)
	}
}
