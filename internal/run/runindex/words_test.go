package runindex_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Words are found in scripts that set no blanks between them, too.
func TestWordsWithoutBlanks(t *testing.T) {
	for question, wants := range map[string]bool{
		"東京": true, "京東": false, "住む 東京": true, `"京に住"`: true, "order": true, "tokyo": false, "order98": false,
	} {
		if got := runindex.ParseWords(question).Fit("私は東京に住む。order東98"); got != wants {
			t.Errorf("%s fits: %t", question, got)
		}
	}
	if !runindex.ParseWords("สวัส*").Fit("ขอสวัสดีครับ") {
		t.Error("a beginning in Thai")
	}
}

// The lexicon finds the words that a look at each text finds, whatever letters they have, and after records were
// replaced.
func TestLexiconAgreesWithTheTexts(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "r")
	writeRun(t, dir, result.Run{ID: "r"})
	said := []string{
		"Wo ist mein Paket?", "das PAKET kam nicht an: Nr. 98765, Straße 4", "私は東京に住む。order東98",
		"cafe\u0301 au lait, CAFÉ", "naïve coöperation", "ขอสวัสดีครับ", "mail@example.com/path?q=1", "a-b_c",
		"İstanbul und ISTANBUL", "", "½ ≠ ⅷ", "paket paket nicht",
	}
	a := runindex.New(nil)
	a.AddRoot(root)
	for round, texts := range [][]string{said, {"replaced", "das Paket"}} {
		var tests []*result.Test
		for i, text := range texts {
			test := record(fmt.Sprintf("t%d", i), result.Pass, 1)
			test.Turns = []result.Turn{
				{Index: 1, Input: chat.NewMessage("user", text).Content, Output: "kam Paket"},
				{Index: 2, Input: chat.NewMessage("user", "nicht").Content, Output: said[(i+3)%len(said)]},
			}
			tests = append(tests, test)
		}
		appendTo(t, dir, tests...)
		run := only(t, a)
		index := indexOf(t, run)
		for _, q := range []string{
			"paket", "PAKET nicht", `"paket kam"`, `"kam nicht"`, "pak*", "strasse", "cafe", "98765", "東京", "京東",
			`"京に住"`, "istanbul", "naive", "coop*", "a b c", "q 1 path", "สวัส*", "t3", "replaced", "order98", "nothing",
			"", "*", `"`,
		} {
			words := runindex.ParseWords(q)
			want, got := map[string]bool{}, map[string]bool{}
			for _, e := range index.Tests {
				record, err := run.Read(e.Row)
				if err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(runindex.Passages(record), func(p runindex.Passage) bool {
					return words.Fit(p.Text)
				}) {
					want[e.TestID] = true
				}
			}
			found, err := run.Matching(t.Context(), index, q)
			if err != nil {
				t.Fatal(err)
			}
			for test := range found {
				got[test.ID] = true
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("round %d: %s (-by the texts +by the lexicon):\n%s", round, q, d)
			}
			hits, _, err := run.Hits(t.Context(), index, words, []string{"user"}, 100, func(*runindex.Row) bool {
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := run.Fill(t.Context(), hits); err != nil {
				t.Fatal(err)
			}
			for _, h := range hits {
				if h.Role != "user" || !words.Fit(h.Text) {
					t.Errorf("%s: the hit %+v", q, h.Passage)
				}
			}
		}
	}
}

// Who does not wait is told how much was read, and finds the index later.
func TestAwait(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "r")
	writeRun(t, dir, result.Run{ID: "r"})
	for i := range 3000 {
		appendTo(t, dir, record(fmt.Sprint(i), result.Pass, 1))
	}
	a := runindex.New(nil)
	a.AddRoot(root)
	run := only(t, a)
	if index, read, err := run.Await(t.Context(), 0); err != nil || read < 0 || read > 1 ||
		index != nil && len(index.Tests) != 3000 {
		t.Fatalf("at once: %v %g %v", index, read, err)
	}
	index, _, err := run.Await(t.Context(), time.Minute)
	if err != nil || index == nil || len(index.Tests) != 3000 {
		t.Fatalf("later: %v %v", index, err)
	}
}
