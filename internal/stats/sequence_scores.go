package stats

// SequenceScores has every measure of two sequences but their alignment.
type SequenceScores struct {
	// Distance is Levenshtein's, Common the length of a longest common subsequence, and Score Needleman's and Wunsch's.
	Distance int `json:"distance"`
	Common   int `json:"common"`
	Score    int `json:"score"`
	// The fields below are between 0 and 1; see the functions of these names.
	Levenshtein     float64 `json:"levenshtein"`
	LCS             float64 `json:"lcs"`
	LCSDice         float64 `json:"lcs_dice"`
	NeedlemanWunsch float64 `json:"needleman_wunsch"`
	Positional      float64 `json:"positional"`
	Precision       float64 `json:"precision"`
	Recall          float64 `json:"recall"`
	Exact           bool    `json:"exact"`
	InOrder         bool    `json:"in_order"`
	AnyOrder        bool    `json:"any_order"`
}

// ScoreSequences computes all measures. It returns ErrSequencesTooLong when that would take more than a second.
func ScoreSequences[T comparable](original, replay []T) (SequenceScores, error) {
	if tooLong(original, replay) {
		return SequenceScores{}, ErrSequencesTooLong
	}
	a, b := numbered(original, replay)
	s := SequenceScores{
		Distance: -scoringOf(edits).of(a, b), Common: scoringOf(common).of(a, b), Score: scoringOf(needleman).of(a, b),
		Positional: PositionalMatch(a, b), Precision: SequencePrecision(a, b), Recall: SequenceRecall(a, b),
		Exact: ExactMatch(a, b), InOrder: InOrderMatch(a, b), AnyOrder: AnyOrderMatch(a, b),
	}
	longer := max(len(a), len(b))
	s.Levenshtein = share(longer-s.Distance, longer)
	s.LCS = share(s.Common, longer)
	s.LCSDice = share(2*s.Common, len(a)+len(b))
	s.NeedlemanWunsch = share(max(s.Score, 0), longer)
	return s, nil
}

func tooLong[T any](original, replay []T) bool {
	return len(replay) > 0 && len(original) > MaxSequenceCells/len(replay)
}
