package grader

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestLikeness(t *testing.T) {
	runCases(t, []gradeCase{
		{"{type: levenshtein, value: kitten}", "sitting", 1 - 3.0/7, "Levenshtein similarity of at least 0.8 with"},
		{"{type: levenshtein, value: kitten, threshold: 0.5}", "sitting", 1 - 3.0/7, `0.5714 for "sitting"`},
		{"{type: levenshtein, value: kitten, max_distance: 3}", "sitting", 1, `1 for "sitting"`},
		{"{type: levenshtein, value: kitten, max_distance: 2}", "sitting", 0, `0 for "sitting"`},
		{"{type: levenshtein, value: ' tea '}", "tea\n", 1, `1 for`},
		{"{type: levenshtein, value: Tea}", "tea", 2.0 / 3, ""},
		{"{type: levenshtein, value: tea}", "", 0, `0 for ""`},
		{"{type: levenshtein, value: 日本語}", "日本", 2.0 / 3, ""},
		{"{type: rouge, value: the cat sat on the mat}", "the cat was on the mat", 2 * 5.0 / 12, "0.8333"},
		// Lin 2004, 3.2: LCS has 2 of 4 words
		{"{type: rouge, value: police killed the gunman}", "the gunman police killed", 0.5, ""},
		{"{type: rouge, variant: 1, value: police killed the gunman}", "the gunman police killed", 1, ""},
		{"{type: rouge, variant: 2, value: police killed the gunman}", "the gunman police killed", 2.0 / 3, ""},
		{"{type: rouge, value: Green TEA}", "green tea!", 1, ""},
		{"{type: rouge, value: tea}", "coffee", 0, "ROUGE-L of at least 0.5"},
		{"{type: rouge, value: tea}", "", 0, ""},
		{"{type: rouge, variant: 2, value: tea}", "tea time", 0, ""},
		{"{type: bleu, value: the cat is on the mat}", "the cat is on the mat", 1, ""},
		// Papineni et al. 2002, example 2: each "the" counts only as often as in the reference.
		{"{type: bleu, n: 1, value: the cat is on the mat}", "the the the the the the the", 2.0 / 7, ""},
		{"{type: bleu, n: 2, value: a b c d}", "a b", math.Exp(1 - 2), ""},
		{"{type: bleu, value: a b c d}", "a x y z", math.Pow(1.0/4*1/6*1/8*1/8, 0.25), ""},
		{"{type: bleu, value: tea}", "coffee", 0, "BLEU of at least 0.3"},
		{"{type: bleu, value: tea}", "", 0, ""},
		{"{type: similar, method: lexical, value: green tea}", "Tea, green!", 1, ""},
		{"{type: similar, method: lexical, value: green tea}", "black tea", 0.5, "lexical similarity of at least 0.8"},
		{"{type: similar, method: lexical, value: tea}", "", 0, ""},
		{"{type: similar, method: lexical, min: 0.5, value: green tea}", "black tea", 1, "0.5 for"},
		{
			"{type: similar, method: lexical, min: 0.51, value: green tea}", "black tea", 0,
			"wanted: lexical similarity of at least 0.51 with \"green tea\"; got: 0.5",
		},
		{"{type: similar, method: lexical, value: 100 %}", "100 percent", 0.5, ""},
	})
}

func TestLikenessProblems(t *testing.T) {
	runProblems(t, []problemCase{
		{"type: levenshtein\nvalue: ''", 2, 10, "the text is empty"},
		{"type: rouge\nvariant: 3", 2, 12, `unknown value "3"`},
		{"type: bleu\nn: 5", 2, 6, "n 5 is too great"},
		{"type: bleu\nn: 0", 2, 6, "too small"},
		{"type: similar\nmethod: cosine", 2, 11, "unknown value"},
		{"type: similar\nthreshold: 1.5", 2, 14, "out of range"},
	})
}

func TestLikenessFallsBackOnExpectedOutput(t *testing.T) {
	check := one(t, New(Config{}), "type: rouge")
	x := reply("green tea")
	if _, err := check.Grader.Grade(context.Background(), x); err == nil ||
		!strings.Contains(err.Error(), "no value and the turn no expected_output") {
		t.Errorf("without any reference: error %v", err)
	}
	x.Expected = "green tea"
	if g := grade(t, check, x); g.Score != 1 {
		t.Errorf("score %v against the same expected_output", g.Score)
	}
}

// The score from which a type passes goes into the check, turned round where the runner turns the score round.
func TestLikenessThresholds(t *testing.T) {
	s := New(Config{})
	for _, tc := range []struct {
		yaml  string
		marks float64
		pass  bool
	}{
		{"{type: bleu, value: a b c d}", 0.3, false},
		{"{type: not_bleu, value: a b c d}", 0.7, true},
		{"{type: bleu, value: a b c d, threshold: 0.1}", 0.1, true},
		{"{type: not_bleu, value: a b c d, threshold: 0.9}", 0.9, false},
	} {
		check := one(t, s, tc.yaml)
		if check.Threshold != tc.marks {
			t.Errorf("%s: threshold %v, want %v", tc.yaml, check.Threshold, tc.marks)
		}
		g := check.Adjust(grade(t, check, reply("a x y z"))) // scores 0.1597
		if passed := check.Passes(g, 0.8); passed != tc.pass || g.Assertions[0].Passed != tc.pass {
			t.Errorf("%s: passed %t, its assertion %t, want %t (score %v)", tc.yaml, passed, g.Assertions[0].Passed,
				tc.pass, g.Score)
		}
	}
}

// fakeEmbedder returns the vectors of a table and remembers what it was asked.
type fakeEmbedder struct {
	vectors map[string][]float64
	err     error
	asked   []string
}

func (e *fakeEmbedder) Embed(_ context.Context, texts []string) ([][]float64, error) {
	e.asked = append(e.asked, texts...)
	var out [][]float64
	for _, text := range texts {
		out = append(out, e.vectors[text])
	}
	return out, e.err
}

func TestSimilarByEmbedding(t *testing.T) {
	e := &fakeEmbedder{vectors: map[string][]float64{
		"tea":       {1, 0},
		"green tea": {3, 4},
		"no":        {-1, 0},
		"long":      {1, 0, 0},
		"null":      {0, 0},
	}}
	check := one(t, New(Config{Embedder: e}), "{type: similar, value: tea}")
	for text, want := range map[string]float64{"tea": 1, "green tea": 0.6, "no": 0, "": 0} {
		if g := grade(t, check, reply(text)); math.Abs(g.Score-want) > 1e-9 {
			t.Errorf("similarity with %q: %v, want %v", text, g.Score, want)
		}
	}
	if slices.Contains(e.asked, "") {
		t.Error("an empty text was sent to the embedder")
	}
	for text, says := range map[string]string{
		"long": "two vectors of one length", "null": "no direction", "unknown": "two vectors",
	} {
		if _, err := check.Grader.Grade(context.Background(), reply(text)); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("embedding of %q: error %v, want %q in it", text, err, says)
		}
	}
	e.err = errors.New("status 500")
	if _, err := check.Grader.Grade(context.Background(), reply("tea")); !errors.Is(err, e.err) {
		t.Errorf("a failing embedder: error %v", err)
	}
	e.asked, e.err = nil, nil
	_, _ = check.Grader.Grade(context.Background(), reply(strings.Repeat("x", 10*maxEmbedded)))
	if len(e.asked[0]) != maxEmbedded {
		t.Errorf("%d bytes of a long reply were sent, want %d", len(e.asked[0]), maxEmbedded)
	}
}

func TestSimilarWithoutEmbedder(t *testing.T) {
	_, err := one(t, New(Config{}), "{type: similar, value: tea}").Grader.Grade(context.Background(), reply("tea"))
	if err == nil || !strings.Contains(err.Error(), "method: lexical") {
		t.Errorf("error %v, want a hint", err)
	}
}

// A symbol is a word of its own; where a side has no words, the texts themselves are compared.
func TestLikenessOfSymbols(t *testing.T) {
	for _, kind := range []string{"rouge", "rouge, variant: 1", "bleu", "similar, method: lexical"} {
		t.Run(kind, func(t *testing.T) {
			s := New(Config{})
			for _, tc := range []struct {
				value, reply string
				same         bool
			}{
				{"👍", "👎", false},
				{"👍", "👍", true},
				{"👍🏽", "👍", false},
				{"👩‍💻", "👨‍💻", false},
				{"👩‍💻", "👩‍💻", true},
				{"❤️", "❤", true},
				{"🇳🇴", "🇸🇪", false},
				{"#️⃣", "*️⃣", false},
				{"1️⃣", "2️⃣", false},
				{"€", "$", false},
				{"%", "€", false},
				{"?", "!", false},
				{"…", "...", false},
				{"?!", "?!", true},
				{"—", "tea", false},
				{"é!", "e\u0301 !", true},
			} {
				score := grade(t, one(t, s, "{type: "+kind+", value: '"+tc.value+"'}"), reply(tc.reply)).Score
				if (score == 1) != tc.same || !tc.same && score != 0 {
					t.Errorf("%q against %q scores %v, same is %t", tc.reply, tc.value, score, tc.same)
				}
			}
		})
	}
	if got := grade(t, one(t, New(Config{}), "{type: rouge, variant: 1, value: 5 %}"), reply("5 €")).Score; got != 0.5 {
		t.Errorf("5 € against 5 %% scores %v, want 0.5", got)
	}
}

func TestWords(t *testing.T) {
	got := words("Don't  PANIC—über 42! 日本の tea_pot ñ 5€ 3% a+b👍🏽👍 👩‍💻🇳🇴🇸🇪❤️4️⃣🫩")
	want := []string{
		"don", "t", "panic", "über", "42", "日", "本", "の", "tea", "pot", "ñ", "5", "€", "3", "%", "a", "+", "b", "👍🏽",
		"👍", "👩‍💻", "🇳🇴", "🇸🇪", "❤", "4⃣", "🫩",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("words mismatch (-want +got):\n%s", d)
	}
}

// Every measure is between 0 and 1, gives a text full marks against itself, and, but for BLEU, does not mind which is
// which.
func TestLikenessLaws(t *testing.T) {
	measures := map[string]struct {
		of        func(a, b string) float64
		symmetric bool
	}{
		"levenshtein": {func(a, b string) float64 { return levenshtein([]rune(a), []rune(b)) }, true},
		"rouge-l": {func(a, b string) float64 {
			return byWords(a, b, func(a, b []string) float64 { return rouge(a, b, "l") })
		}, true},
		"rouge-1": {func(a, b string) float64 { return rouge(words(a), words(b), "1") }, true},
		"rouge-2": {func(a, b string) float64 { return rouge(words(a), words(b), "2") }, true},
		"bleu":    {func(a, b string) float64 { return bleu(words(a), words(b), 4) }, false},
		"lexical": {func(a, b string) float64 { return byWords(a, b, lexical) }, true},
	}
	text := rapid.OneOf(rapid.StringMatching(`([abc] ){0,12}`), rapid.String())
	for name, m := range measures {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			a, b := text.Draw(t, "a"), text.Draw(t, "b")
			ab := m.of(a, b)
			if !(ab >= 0 && ab <= 1) {
				t.Fatalf("%s(%q, %q) = %v", name, a, b, ab)
			}
			if same := m.of(a, a); math.Abs(same-1) > 1e-12 {
				t.Fatalf("%s(%q, itself) = %v", name, a, same)
			}
			if ba := m.of(b, a); m.symmetric && math.Abs(ab-ba) > 1e-12 {
				t.Fatalf("%s(%q, %q) = %v, the other way %v", name, a, b, ab, ba)
			}
		}))
	}
}

// The shortcut past the common beginning and end changes no length.
func TestCommonSubsequenceIsTheLongest(t *testing.T) {
	var plain func(a, b []int32) int
	plain = func(a, b []int32) int {
		switch {
		case len(a) == 0 || len(b) == 0:
			return 0
		case a[0] == b[0]:
			return 1 + plain(a[1:], b[1:])
		}
		return max(plain(a[1:], b), plain(a, b[1:]))
	}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Int32Range(0, 2), 0, 8)
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		if got, want := commonSubsequence(a, b), plain(a, b); got != want {
			t.Fatalf("commonSubsequence(%v, %v) = %d, want %d", a, b, got, want)
		}
	})
}

// What lies past the bound counts as different, so that a long text never scores too high.
func TestLikenessPastItsBound(t *testing.T) {
	long := []rune("z" + strings.Repeat("x", 2*maxCompared) + "y")
	if score, want := levenshtein(long, []rune("xx!")), 2/float64(len(long)); math.Abs(score-want) > 1e-9 {
		t.Errorf("levenshtein %v, want %v", score, want)
	}
	if score := levenshtein(long, []rune("!"+strings.Repeat("x", 9))); score > 9/float64(len(long)) {
		t.Errorf("levenshtein %v is too high", score)
	}
	if score := levenshtein(long, long[:len(long)/2]); score != 0.5 {
		t.Errorf("levenshtein of a text and its first half: %v", score)
	}
}
