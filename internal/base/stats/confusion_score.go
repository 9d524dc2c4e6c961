package stats

// Classification has the metrics of a confusion. A quotient with the denominator 0 is 0.
//
// Macro means are plain means over classes: over every label in truth or prediction ("union"), or only those in truth
// ("true"). Weighted means weigh each class by its support. Micro counts are pooled over classes first.
//
// Source: M. Sokolova and G. Lapalme, A Systematic Analysis of Performance Measures for Classification Tasks,
// Information Processing & Management 45 (2009), table 3; C. J. van Rijsbergen, Information Retrieval (1979), chapter
// 7, for F.
type Classification struct {
	// N counts the items, Correct those that were predicted correctly.
	N, Correct int
	// Accuracy is Correct/N.
	Accuracy float64
	// MacroF1, MacroPrecision and MacroRecall are means over the union of labels, MacroF1True over the true ones.
	MacroF1, MacroF1True, MacroPrecision, MacroRecall float64
	WeightedF1, WeightedPrecision, WeightedRecall     float64
	// MicroRecall is the share of all true labels that were found, MicroPrecision the share of all predicted labels
	// that were true. For items with several labels, MicroRecall is the recall of skills. With one label each, all
	// three equal Accuracy.
	MicroF1, MicroPrecision, MicroRecall float64
	// MinClassF1 is the lowest F1 of a true label. A label that was only predicted does not count.
	MinClassF1 float64
	// Classes has each label of the union, in order of name.
	Classes []ClassScore
}

// ClassScore has the metrics of one label.
type ClassScore struct {
	Label string
	// Precision is the share of its predictions that were correct, Recall the share of its items that were found, F1
	// their harmonic mean.
	Precision, Recall, F1 float64
	// Support counts how often the label was true, Predicted how often it was predicted, Correct how often both.
	Support, Predicted, Correct int
}

// Score computes the metrics. It sums in order of name, so that equal counts always give the same bits.
func (c *Confusion) Score() Classification {
	s := Classification{N: c.items, Correct: c.correct, Accuracy: ratio(c.correct, c.items)}
	var all labelCount
	for _, name := range c.sorted() {
		of := c.labels[name]
		s.Classes = append(s.Classes, classOf(name, of))
		all.support, all.predicted, all.correct = all.support+of.support, all.predicted+of.predicted,
			all.correct+of.correct
	}
	pooled := classOf("", &all)
	s.MicroF1, s.MicroPrecision, s.MicroRecall = pooled.F1, pooled.Precision, pooled.Recall
	s.means(all.support)
	return s
}

func classOf(name string, of *labelCount) ClassScore {
	return ClassScore{
		Label: name, Support: of.support, Predicted: of.predicted, Correct: of.correct,
		Precision: ratio(of.correct, of.predicted), Recall: ratio(of.correct, of.support),
		// 2PR/(P+R) as one quotient: rounded once, and 0 when P and R are 0.
		F1: ratio(2*of.correct, of.support+of.predicted),
	}
}

// means computes the averages over classes.
func (s *Classification) means(support int) {
	trueLabels := 0
	for _, class := range s.Classes {
		s.MacroF1 += class.F1
		s.MacroPrecision += class.Precision
		s.MacroRecall += class.Recall
		weight := float64(class.Support)
		s.WeightedF1 += weight * class.F1
		s.WeightedPrecision += weight * class.Precision
		s.WeightedRecall += weight * class.Recall
		if class.Support == 0 {
			continue
		}
		if trueLabels == 0 || class.F1 < s.MinClassF1 {
			s.MinClassF1 = class.F1
		}
		s.MacroF1True += class.F1
		trueLabels++
	}
	divide(len(s.Classes), &s.MacroF1, &s.MacroPrecision, &s.MacroRecall)
	divide(trueLabels, &s.MacroF1True)
	divide(support, &s.WeightedF1, &s.WeightedPrecision, &s.WeightedRecall)
}

// divide turns sums into means. With an n of 0 they stay 0.
func divide(n int, sums ...*float64) {
	for _, sum := range sums {
		if n > 0 {
			*sum /= float64(n)
		}
	}
}

func ratio(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Calibration compares confidence with accuracy: of predictions with confidence 0.8, four in five should be correct.
type Calibration struct {
	// N counts the predictions that had a confidence.
	N int `json:"n"`
	// ECE is the expected calibration error: the mean distance between confidence and accuracy over bins, weighed by
	// their sizes.
	ECE float64 `json:"ece"`
	// Brier is the mean squared distance between confidence and outcome: 0 is perfect, and a constant 0.5 gives 0.25.
	Brier float64          `json:"brier"`
	Bins  []CalibrationBin `json:"bins"`
}

// CalibrationBin has the predictions with a confidence above Low and at most High; the first includes its Low.
type CalibrationBin struct {
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	N          int     `json:"n"`
	Confidence float64 `json:"confidence"` // the mean
	Accuracy   float64 `json:"accuracy"`
}

// calibrationBins is the number of bins of equal width, ten as in most of the literature's diagrams.
const calibrationBins = 10

// Calibrate compares confidences between 0 and 1 with whether the predictions were correct, index by index; the shorter
// list counts. Bins without predictions are left out.
//
// Source: C. Guo et al., On Calibration of Modern Neural Networks, ICML (2017), equation 3; G. W. Brier, Verification
// of Forecasts Expressed in Terms of Probability, Monthly Weather Review 78 (1950).
func Calibrate(confidence []float64, correct []bool) Calibration {
	c := Calibration{N: min(len(confidence), len(correct))}
	var bins [calibrationBins]CalibrationBin
	for i, p := range confidence[:c.N] {
		outcome := 0.0
		if correct[i] {
			outcome = 1
		}
		c.Brier += (p - outcome) * (p - outcome)
		bin := &bins[calibrationBinOf(p)]
		bin.N++
		bin.Confidence += p
		bin.Accuracy += outcome
	}
	for i, bin := range bins {
		if bin.N == 0 {
			continue
		}
		c.ECE += max(bin.Confidence-bin.Accuracy, bin.Accuracy-bin.Confidence)
		bin.Low, bin.High = float64(i)/calibrationBins, float64(i+1)/calibrationBins
		divide(bin.N, &bin.Confidence, &bin.Accuracy)
		c.Bins = append(c.Bins, bin)
	}
	divide(c.N, &c.ECE, &c.Brier)
	return c
}

// calibrationBinOf returns the bin i with i/10 < p ≤ (i+1)/10, compared in the same arithmetic that prints the ends.
func calibrationBinOf(p float64) int {
	for i := range calibrationBins - 1 {
		if p <= float64(i+1)/calibrationBins {
			return i
		}
	}
	return calibrationBins - 1
}
