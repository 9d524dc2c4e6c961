package stats_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/testkit/race"
)

// scoreOf counts what a path scores, or returns −1,000,000 where it is none: it must have every element once and in
// order.
func scoreOf[T comparable](a, b []T, path []stats.Aligned) int {
	const broken = -1_000_000
	i, j, score := 0, 0, 0
	for _, step := range path {
		pair := step.Original != stats.Gap && step.Replay != stats.Gap
		switch {
		case step.Original != stats.Gap && step.Original != i, step.Replay != stats.Gap && step.Replay != j,
			step.Original == step.Replay && !pair:
			return broken
		case pair && a[i] == b[j]:
			score++
		default:
			score--
		}
		if step.Original != stats.Gap {
			i++
		}
		if step.Replay != stats.Gap {
			j++
		}
	}
	if i != len(a) || j != len(b) {
		return broken
	}
	return score
}

func TestAlign(t *testing.T) {
	const gap = stats.Gap
	for _, tc := range []struct {
		name, a, b string
		want       []stats.Aligned
	}{
		{"nothing", "", "", []stats.Aligned{}},
		{"only the original", "ab", "", []stats.Aligned{{0, gap}, {1, gap}}},
		{"only the replay", "", "a", []stats.Aligned{{gap, 0}}},
		{"of repeats the first is paired", "a", "aa", []stats.Aligned{{0, 0}, {gap, 1}}},
		{"missing", "abc", "ac", []stats.Aligned{{0, 0}, {1, gap}, {2, 1}}},
		{"superfluous", "ac", "abc", []stats.Aligned{{0, 0}, {gap, 1}, {1, 2}}},
		{"a pair comes before a gap", "ab", "x", []stats.Aligned{{0, 0}, {1, gap}}},
		// Two gaps and one pair score −1, two mismatches −2; the original's element goes first: a alone, b with b, then
		// a alone.
		{"swapped", "ab", "ba", []stats.Aligned{{0, gap}, {1, 0}, {gap, 1}}},
	} {
		got, err := stats.Align([]byte(tc.a), []byte(tc.b))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: Align(%q, %q) mismatch (-want +got):\n%s", tc.name, tc.a, tc.b, d)
		}
	}
}

// best is the recurrence written down as it is defined.
func best(a, b []byte, match, mismatch, gap int) int {
	if len(a) == 0 || len(b) == 0 {
		return gap * (len(a) + len(b))
	}
	pair := mismatch
	if a[0] == b[0] {
		pair = match
	}
	return max(best(a[1:], b[1:], match, mismatch, gap)+pair, best(a[1:], b, match, mismatch, gap)+gap,
		best(a, b[1:], match, mismatch, gap)+gap)
}

func TestSequenceLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states := rapid.SliceOfN(rapid.SampledFrom([]byte("abc")), 0, 6)
		a, b := states.Draw(t, "a"), states.Draw(t, "b")
		s, err := stats.ScoreSequences(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if s.Distance != -best(a, b, 0, -1, -1) || s.Common != best(a, b, 1, -1, 0) ||
			s.Score != best(a, b, 1, -1, -1) {
			t.Fatalf("%q, %q: %+v", a, b, s)
		}
		path, err := stats.Align(a, b)
		if err != nil || scoreOf(a, b, path) != s.Score {
			t.Fatalf("%q, %q: the path %v is none that scores %d; %v", a, b, path, s.Score, err)
		}
		back, err := stats.ScoreSequences(b, a)
		if err != nil || back.Distance != s.Distance || back.Common != s.Common || back.Score != s.Score ||
			back.Precision != s.Recall {
			t.Fatalf("%q, %q: %+v one way, %+v the other; %v", a, b, s, back, err)
		}
		for _, x := range []float64{
			s.Levenshtein, s.LCS, s.LCSDice, s.NeedlemanWunsch, s.Positional, s.Precision, s.Recall,
		} {
			if x < 0 || x > 1 || s.Exact && x != 1 {
				t.Fatalf("%q, %q: %+v", a, b, s)
			}
		}
		if s.Exact != (s.Distance == 0) || s.InOrder != (s.Common == len(a)) ||
			s.AnyOrder != (s.Precision == 1 && s.Recall == 1) {
			t.Fatalf("%q, %q: %+v", a, b, s)
		}
	})
}

func TestLongSequences(t *testing.T) {
	n := 10_000
	if race.Enabled || testing.Short() {
		n = 2_000
	}
	a, b := longSequences(n)
	s, err := stats.ScoreSequences(a, b)
	if err != nil {
		t.Fatal(err)
	}
	path, err := stats.Align(a, b)
	if err != nil || scoreOf(a, b, path) != s.Score {
		t.Errorf("the path of two long sequences scores %d, want %d; %v", scoreOf(a, b, path), s.Score, err)
	}
	long, longer := make([]int, 10_000), make([]int, 10_001)
	if _, err := stats.Align(long, longer); !errors.Is(err, stats.ErrSequencesTooLong) {
		t.Errorf("Align of too long sequences: %v", err)
	}
	if _, err := stats.ScoreSequences(longer, long); !errors.Is(err, stats.ErrSequencesTooLong) {
		t.Errorf("ScoreSequences of too long sequences: %v", err)
	}
}
