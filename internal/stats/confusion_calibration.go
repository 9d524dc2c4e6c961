package stats

// Calibration compares confidence with accuracy: of predictions with confidence 0.8, four in five should be correct.
type Calibration struct {
	// N counts the predictions that had a confidence.
	N int `json:"n"`
	// ECE is the expected calibration error: the mean distance between confidence and accuracy over bins, weighed by their sizes.
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

// Calibrate compares confidences between 0 and 1 with whether the predictions were correct, index by index; the shorter list counts.
// Bins without predictions are left out.
//
// Source: C. Guo et al., On Calibration of Modern Neural Networks, ICML (2017), equation 3; G. W. Brier, Verification of Forecasts
// Expressed in Terms of Probability, Monthly Weather Review 78 (1950).
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
