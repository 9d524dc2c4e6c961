package stats_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// published allows for values that were computed elsewhere with fractions and written with ten digits.
func published() cmp.Option { return cmpopts.EquateApprox(0, 1e-9) }

func confusionOf(truth, predicted []string) *stats.Confusion {
	var c stats.Confusion
	for i := range truth {
		c.Add([]string{truth[i]}, []string{predicted[i]})
	}
	return &c
}

type number struct {
	Value float64 `json:"value"`
}

// expectation is what testdata/classification_cases.json, computed independently with exact fractions, says of a case.
type expectation struct {
	N                 int    `json:"n"`
	Accuracy          number `json:"accuracy"`
	MacroF1           number `json:"macro_f1_union_labels"`
	MacroF1True       number `json:"macro_f1_true_labels"`
	MacroPrecision    number `json:"macro_precision_union"`
	MacroRecall       number `json:"macro_recall_union"`
	WeightedF1        number `json:"weighted_f1"`
	WeightedPrecision number `json:"weighted_precision"`
	WeightedRecall    number `json:"weighted_recall"`
	MinClassF1        number `json:"min_class_f1_true_labels"`
	PerClass          map[string]struct {
		Precision, Recall, F1 float64
		Support               int
	} `json:"per_class"`
}

func TestClassificationCases(t *testing.T) {
	data, err := os.ReadFile("testdata/classification_cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Case      string      `json:"case"`
		Truth     []string    `json:"y_true"`
		Predicted []string    `json:"y_pred"`
		Expected  expectation `json:"expected"`
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, tc := range cases {
		s, want := confusionOf(tc.Truth, tc.Predicted).Score(), tc.Expected
		got := []float64{
			s.Accuracy, s.MacroF1, s.MacroF1True, s.MacroPrecision, s.MacroRecall,
			s.WeightedF1, s.WeightedPrecision, s.WeightedRecall, s.MinClassF1,
		}
		expected := []float64{
			want.Accuracy.Value, want.MacroF1.Value, want.MacroF1True.Value, want.MacroPrecision.Value,
			want.MacroRecall.Value, want.WeightedF1.Value, want.WeightedPrecision.Value, want.WeightedRecall.Value,
			want.MinClassF1.Value,
		}
		if d := cmp.Diff(expected, got, published()); d != "" || s.N != want.N || len(s.Classes) != len(want.PerClass) {
			t.Errorf("%s: n %d, %d classes, metrics (-want +got):\n%s", tc.Case, s.N, len(s.Classes), d)
		}
		for _, c := range s.Classes {
			w := want.PerClass[c.Label]
			if d := cmp.Diff([]float64{w.Precision, w.Recall, w.F1}, []float64{c.Precision, c.Recall, c.F1},
				published()); d != "" || c.Support != w.Support {
				t.Errorf("%s, %s: support %d, metrics (-want +got):\n%s", tc.Case, c.Label, c.Support, d)
			}
		}
	}
	if len(cases) < 5 {
		t.Errorf("only %d cases", len(cases))
	}
}

func TestNullPredictionIsAClass(t *testing.T) {
	c := confusionOf([]string{"a", "a", "b", "b"}, []string{"a", stats.NullLabel, "b", "x"})
	s := c.Score()
	// F1: a 2·1/(2+1), b 2·1/(2+1), x and null 0; over four labels 1/3, over the two true ones 2/3.
	got := []float64{s.Accuracy, s.MacroF1, s.MacroF1True, s.WeightedF1, s.MinClassF1}
	if d := cmp.Diff([]float64{0.5, 1. / 3, 2. / 3, 2. / 3, 2. / 3}, got, published()); d != "" {
		t.Errorf("metrics mismatch (-want +got):\n%s", d)
	}
	want := []stats.Confused{{Truth: "a", Predicted: stats.NullLabel, Count: 1}, {Truth: "b", Predicted: "x", Count: 1}}
	if d := cmp.Diff(want, c.Confused()); d != "" {
		t.Errorf("confusions mismatch (-want +got):\n%s", d)
	}
}

func TestSeveralLabels(t *testing.T) {
	var c stats.Confusion
	c.Add([]string{"ask", "show"}, []string{"show", "ask"})    // order does not count
	c.Add([]string{"ask", "show"}, []string{"ask"})            // show is missed, nothing instead
	c.Add([]string{"ask"}, []string{"show", "sell", "sell"})   // ask is taken for show and for sell
	c.Add([]string{}, []string{})                              // nothing fits, rightly
	c.Add([]string{"show", "show"}, []string{stats.NullLabel}) // no answer
	s := c.Score()
	// 3 of 6 true labels found; 3 of 6 predicted ones (null counts as one) true.
	if d := cmp.Diff([]float64{0.5, 0.5, 0.5, 0.4}, []float64{s.MicroRecall, s.MicroPrecision, s.MicroF1, s.Accuracy},
		published()); d != "" {
		t.Errorf("metrics mismatch (-want +got):\n%s", d)
	}
	want := []stats.Confused{{"show", stats.NullLabel, 2}, {"ask", "sell", 1}, {"ask", "show", 1}}
	if d := cmp.Diff(want, c.Confused()); d != "" {
		t.Errorf("confusions mismatch (-want +got):\n%s", d)
	}
}

func TestEmptyConfusion(t *testing.T) {
	var c stats.Confusion
	if d := cmp.Diff(stats.Classification{}, c.Score()); d != "" || len(c.Confused()) != 0 {
		t.Errorf("an empty confusion says something:\n%s", d)
	}
}

func TestConfusionLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", stats.NullLabel})
		truth := rapid.SliceOfN(label, 1, 60).Draw(t, "truth")
		predicted := rapid.SliceOfN(label, len(truth), len(truth)).Draw(t, "predicted")
		s := confusionOf(truth, predicted).Score()
		for _, x := range []float64{s.MicroF1, s.MicroPrecision, s.MicroRecall} {
			if x != s.Accuracy {
				t.Fatalf("micro %v is not the accuracy %v", x, s.Accuracy)
			}
		}
		if math.Abs(s.WeightedRecall-s.Accuracy) > 1e-12 {
			t.Fatalf("weighted recall %v is not the accuracy %v", s.WeightedRecall, s.Accuracy)
		}
		if s.MacroF1 > s.MacroF1True+1e-12 || s.MinClassF1 > s.MacroF1True+1e-12 {
			t.Fatalf("macro %v, over true labels %v, lowest %v", s.MacroF1, s.MacroF1True, s.MinClassF1)
		}
		support := 0
		for _, c := range s.Classes {
			support += c.Support
			if c.F1 < 0 || c.F1 > 1 || c.F1 > max(c.Precision, c.Recall)+1e-12 ||
				c.F1 < min(c.Precision, c.Recall)-1e-12 {
				t.Fatalf("class %+v: F1 is not between precision and recall", c)
			}
		}
		if support != s.N || s.N != len(truth) {
			t.Fatalf("supports add up to %d of %d", support, len(truth))
		}
		order := rapid.Permutation(indices(len(truth))).Draw(t, "order")
		var mixed stats.Confusion
		for _, i := range order {
			mixed.Add(truth[i:i+1], predicted[i:i+1])
		}
		if d := cmp.Diff(s, mixed.Score()); d != "" { // to the last bit
			t.Fatalf("the order of items counts:\n%s", d)
		}
	})
}

func indices(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestCalibrate(t *testing.T) {
	// Two at 0.9 of which one is right: |0.9 - 0.5|; two at 0.2 of which none is: |0.2 - 0|. ECE is the mean, (0.4 +
	// 0.2)/2.
	c := stats.Calibrate([]float64{0.9, 0.2, 0.9, 0.2}, []bool{true, false, false, false})
	want := stats.Calibration{N: 4, ECE: 0.3, Brier: (0.01 + 0.04 + 0.81 + 0.04) / 4, Bins: []stats.CalibrationBin{
		{Low: 0.1, High: 0.2, N: 2, Confidence: 0.2, Accuracy: 0},
		{Low: 0.8, High: 0.9, N: 2, Confidence: 0.9, Accuracy: 0.5},
	}}
	if d := cmp.Diff(want, c, published()); d != "" {
		t.Errorf("calibration mismatch (-want +got):\n%s", d)
	}
	if d := cmp.Diff(stats.Calibration{}, stats.Calibrate(nil, nil)); d != "" {
		t.Errorf("nothing is calibrated:\n%s", d)
	}
}

func TestCalibrationLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		confidence := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 50).Draw(t, "confidence")
		correct := rapid.SliceOfN(rapid.Bool(), len(confidence), len(confidence)).Draw(t, "correct")
		c := stats.Calibrate(confidence, correct)
		n := 0
		for _, bin := range c.Bins {
			n += bin.N
			if bin.Confidence < bin.Low-1e-12 || bin.Confidence > bin.High+1e-12 {
				t.Fatalf("the bin %+v does not hold its mean", bin)
			}
		}
		if n != c.N || c.ECE < 0 || c.ECE > 1 || c.Brier < 0 ||
			c.Brier > 1 || !slices.IsSortedFunc(c.Bins, func(a, b stats.CalibrationBin) int {
			return int(10*a.Low) - int(10*b.Low)
		}) {
			t.Fatalf("calibration %+v breaks a law", c)
		}
	})
}
