package stats_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// fraction is a value that was computed independently, as a fraction.
type fraction struct {
	Exact string `json:"exact"`
}

// value returns the float that is nearest to the fraction.
func (f fraction) value(t *testing.T) float64 {
	t.Helper()
	exact, ok := new(big.Rat).SetString(f.Exact)
	if !ok {
		t.Fatalf("%q is no fraction", f.Exact)
	}
	nearest, _ := exact.Float64()
	return nearest
}

// is compares to the last bit: what is one division of counts here must be the nearest float.
func (f fraction) is(t *testing.T, name string, got float64) {
	t.Helper()
	if want := f.value(t); got != want {
		t.Errorf("%s = %v, want %s", name, got, f.Exact)
	}
}

type alignmentCase struct {
	Case, Flow  string
	A, B        []string
	Distance    int      `json:"levenshtein_distance"`
	Common      int      `json:"lcs_length"`
	Score       int      `json:"nw_score_1_-1_-1"`
	Levenshtein fraction `json:"lev_similarity 1-d/max"`
	LCS         fraction `json:"lcs_over_max"`
	LCSDice     fraction `json:"lcs_dice 2L/(n+m)"`
	Needleman   fraction `json:"nw_normalised"`
	Positional  fraction `json:"positional_match/max"`
}

// TestExpectedAlignments holds all measures to values that were computed independently with exact fractions: a part of
// them is in testdata, all of them where REHEARSE_SHARED_DATA names the folder of the shared data.
func TestExpectedAlignments(t *testing.T) {
	least := map[string]int{"testdata/alignment.json": 21}
	if shared := os.Getenv("REHEARSE_SHARED_DATA"); shared != "" {
		least[filepath.Join(shared, "expected", "alignment.json")] = 57
	}
	for file, n := range least {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var expected struct {
			Hand  []alignmentCase `json:"hand"`
			Pairs []alignmentCase `json:"star_pairs"`
		}
		// A name with a comma is none that a tag can have.
		data = bytes.ReplaceAll(data, []byte("nw_normalised max(0,score)/max"), []byte("nw_normalised"))
		if err := json.Unmarshal(data, &expected); err != nil {
			t.Fatal(err)
		}
		cases := append(expected.Hand, expected.Pairs...)
		for _, tc := range cases {
			t.Run(tc.Case+tc.Flow, func(t *testing.T) { checkAlignment(t, tc) })
		}
		if len(cases) < n {
			t.Errorf("%s: only %d cases", file, len(cases))
		}
	}
}

func checkAlignment(t *testing.T, tc alignmentCase) {
	s, err := stats.ScoreSequences(tc.A, tc.B)
	if err != nil {
		t.Fatal(err)
	}
	want, got := []int{tc.Distance, tc.Common, tc.Score}, []int{s.Distance, s.Common, s.Score}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("distance, common, score mismatch (-want +got):\n%s", d)
	}
	if d := stats.Levenshtein(tc.A, tc.B); d != tc.Distance {
		t.Errorf("Levenshtein is %d, want %d", d, tc.Distance)
	}
	tc.Levenshtein.is(t, "Levenshtein", s.Levenshtein)
	tc.Levenshtein.is(t, "LevenshteinSimilarity", stats.LevenshteinSimilarity(tc.A, tc.B))
	tc.LCS.is(t, "LCS", s.LCS)
	tc.LCSDice.is(t, "LCSDice", s.LCSDice)
	tc.Needleman.is(t, "NeedlemanWunsch", s.NeedlemanWunsch)
	tc.Positional.is(t, "Positional", s.Positional)
	path, err := stats.Align(tc.A, tc.B)
	if err != nil || scoreOf(tc.A, tc.B, path) != tc.Score {
		t.Errorf("the path %v scores %d, want %d; %v", path, scoreOf(tc.A, tc.B, path), tc.Score, err)
	}
}

func TestMatches(t *testing.T) {
	for _, tc := range []struct {
		original, replay         string
		exact, inOrder, anyOrder bool
		precision, recall        float64
	}{
		{"", "", true, true, true, 1, 1},
		{"ab", "", false, false, false, 0, 0},
		{"", "ab", false, true, false, 0, 0},
		{"abc", "abc", true, true, true, 1, 1},
		{"abc", "cab", false, false, true, 1, 1},
		{"abc", "xaybzc", false, true, false, 0.5, 1},
		{"abc", "ab", false, false, false, 1, 2. / 3},
		{"a", "aaa", false, true, false, 1. / 3, 1}, // an element counts as often as it occurs
		{"aab", "abb", false, false, false, 2. / 3, 2. / 3},
	} {
		s, err := stats.ScoreSequences([]byte(tc.original), []byte(tc.replay))
		if err != nil {
			t.Fatal(err)
		}
		if s.Exact != tc.exact || s.InOrder != tc.inOrder || s.AnyOrder != tc.anyOrder || s.Precision != tc.precision ||
			s.Recall != tc.recall {
			t.Errorf("%q against %q: %+v, want %+v", tc.original, tc.replay, s, tc)
		}
	}
}
