package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

var resultTests = []fleetTest{
	{"a result comes back as it was stored", resultKept},
	{"the first result stands", resultOnce},
	{"seqs have no gaps while many write", resultsAtOnce},
	{"results are filtered", resultsFiltered},
	{"text is found in either case, and as it is", resultText},
	{"pages are complete and without doubles while results are added", resultPages},
	{"results are counted", resultsCounted},
	{"all or none", resultsAllOrNone},
	{"large results come in pages", resultsLarge},
	{"durations of earlier runs", resultDurations},
	{"of a session that is erased the words are gone and the verdict stays", resultErased},
}

func resultKept(t *testing.T, f Fleets) {
	begun(t, f, "r")
	odd := tested("ä \x00 "+strings.Repeat("long", 2_000), 2, result.Fail)
	odd.Metadata = map[string]any{"a": "\x00", "b": []any{1.5, nil}}
	want, err := json.Marshal(odd)
	if err != nil {
		t.Fatal(err)
	}
	putResults(t, f, "r", odd, tested("plain", 0, result.Pass))
	page, err := f.Again().Results(t.Context(), "r", store.ResultFilter{}, store.PageOf{})
	if err != nil || len(page.Items) != 2 || page.Next != nil {
		t.Fatalf("%+v, %v", page, err)
	}
	got := page.Items[0]
	if d := cmp.Diff(string(want), string(got.Record)); d != "" {
		t.Errorf("record (-want +got):\n%s", d)
	}
	if got.Seq != 1 || got.Worker != "w1" || got.Key.Trial != 2 || got.Key.Suite != "shop" || page.Items[1].Seq != 2 {
		t.Errorf("%+v", got)
	}
	one, err := f.Result(t.Context(), "r", got.ID)
	if err != nil || asJSON(t, one) != asJSON(t, got) {
		t.Errorf("Result: %+v, %v", one, err)
	}
	back, err := one.Test()
	if err != nil || back.Key() != odd.Key() {
		t.Errorf("Test: %+v, %v", back, err)
	}
	for _, id := range []string{"", "0", "3", "-1", "01", "1 ", "x", "99999999999999999999", "4294967297"} {
		_, err := f.Result(t.Context(), "r", id)
		wantError(t, err, store.ErrUnknown)
	}
}

func resultOnce(t *testing.T, f Fleets) {
	begun(t, f, "r")
	begun(t, f, "other")
	first, second := tested("a", 0, result.Pass), tested("a", 0, result.Fail)
	got := putResults(t, f, "r", first, second, tested("a", 1, result.Pass))
	if d := cmp.Diff([]store.Stored{{Seq: 1, New: true}, {Seq: 1}, {Seq: 2, New: true}}, got); d != "" {
		t.Errorf("at once (-want +got):\n%s", d)
	}
	got = putResults(t, f, "r", tested("b", 0, result.Pass), second, tested("a", 1, result.Pass))
	if d := cmp.Diff([]store.Stored{{Seq: 3, New: true}, {Seq: 1}, {Seq: 2}}, got); d != "" {
		t.Errorf("later (-want +got):\n%s", d)
	}
	other := tested("a", 0, result.Pass)
	other.Suite, other.TestID = "sho", "pa" // which must not meet shop, a
	putResults(t, f, "other", tested("a", 0, result.Pass), other)
	if n := len(allSeqs(t, f, "other", store.ResultFilter{}, 10)); n != 2 {
		t.Errorf("%d results of the other run, want 2", n)
	}
	page, err := f.Results(t.Context(), "r", store.ResultFilter{}, store.PageOf{})
	if err != nil || len(page.Items) != 3 {
		t.Fatalf("%+v, %v", page, err)
	}
	if back, _ := page.Items[0].Test(); back.Verdict != result.Pass {
		t.Errorf("verdict %s, want the first", back.Verdict)
	}
	if run, _ := f.Run(t.Context(), "r"); run.Progress.Done != 3 || run.Counts.Passed != 2 || run.Counts.Failed != 0 {
		t.Errorf("%+v, %+v", run.Progress, run.Counts)
	}
}

func resultsAtOnce(t *testing.T, f Fleets) {
	begun(t, f, "r")
	handles := []*store.Fleet{f.Fleet, f.Again(), f.Again()}
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for batch := range 5 {
				var results []store.NewResult
				for i := range 8 { // half of them are those of the next writer, too
					results = append(results, store.NewResult{
						Test: tested(fmt.Sprint(batch, "-", (w*4+i)%24), 0, result.Pass), Worker: fmt.Sprint(w),
					})
				}
				stored, err := handles[w%len(handles)].PutResults(t.Context(), "r", store.Fence{}, results)
				if err != nil {
					t.Error(err)
				}
				for _, s := range stored {
					if s.Seq < 1 {
						t.Errorf("%+v", s)
					}
				}
			}
		})
	}
	wg.Wait()
	seqs := allSeqs(t, f, "r", store.ResultFilter{}, 7)
	if len(seqs) != 120 || seqs[0] != 1 || seqs[119] != 120 || !slices.IsSorted(seqs) {
		t.Errorf("seqs %v, want 1 to 120", seqs)
	}
	if run, err := f.Run(t.Context(), "r"); err != nil || run.Progress.Done != 120 || run.Counts.Results != 120 {
		t.Errorf("%+v, %v", run, err)
	}
}

func resultsFiltered(t *testing.T, f Fleets) {
	begun(t, f, "r")
	begun(t, f, "other")
	many := tested("c", 2, result.Error)
	many.Target, many.Suite = "model", "bank"
	many.Failures = []result.Failure{{Code: result.Timeout}, {Code: result.EngineError}}
	putResults(t, f, "other", tested("a", 0, result.Fail))
	putResults(t, f, "r", tested("a", 0, result.Pass), tested("a", 1, result.Fail), many, tested("d", 0, result.Skip))
	for _, tc := range []struct {
		name   string
		filter store.ResultFilter
		want   string
	}{
		{"all", store.ResultFilter{}, "[1 2 3 4]"},
		{"verdict", store.ResultFilter{Verdict: result.Fail}, "[2]"},
		{"code", store.ResultFilter{Code: result.AssistantContent}, "[2]"},
		{"one of several codes", store.ResultFilter{Code: result.EngineError}, "[3]"},
		{"a part of a code", store.ResultFilter{Code: "ENGINE"}, "[]"},
		{"suite", store.ResultFilter{Suite: "shop"}, "[1 2 4]"},
		{"test", store.ResultFilter{TestID: "a"}, "[1 2]"},
		{"target", store.ResultFilter{Target: "model"}, "[3]"},
		{"trial", store.ResultFilter{Trial: new(1)}, "[2]"},
		{"no trial", store.ResultFilter{Trial: new(0)}, "[1 4]"},
		{"several", store.ResultFilter{Suite: "shop", TestID: "a", Verdict: result.Pass, Text: "order A"}, "[1]"},
		{"none", store.ResultFilter{Suite: "shop", Target: "model"}, "[]"},
	} {
		for _, limit := range []int{1, 2, 9} {
			if got := fmt.Sprint(allSeqs(t, f, "r", tc.filter, limit)); got != tc.want {
				t.Errorf("%s, pages of %d: %s, want %s", tc.name, limit, got, tc.want)
			}
		}
		var got []int64
		for r, err := range f.AllResults(t.Context(), "r", tc.filter) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.Seq)
		}
		if fmt.Sprint(got) != tc.want {
			t.Errorf("%s, all: %v, want %s", tc.name, got, tc.want)
		}
	}
}

func resultText(t *testing.T, f Fleets) {
	begun(t, f, "r")
	said := func(id, text string) *result.Test {
		r := tested(id, 0, result.Pass)
		r.Output = []chat.Message{{Role: "assistant", Content: chat.Content{Text: text}}}
		return r
	}
	inTurns := said("e", "")
	inTurns.Output, inTurns.Turns = nil, []result.Turn{{
		Input: chat.Content{Text: "only in a turn"}, Output: "its reply",
	}}
	putResults(t, f, "r", said("a", "100 % sure\nof \"it\""), said("b", "STRASSE ÄÖ ΣΟΦΟΣ"), said("c", "a_b\\c\x00d"),
		said("d", "𝕏 日本語 don't"), inTurns)
	for text, want := range map[string]string{
		"100 %": "[1]", "%": "[1]", "sure\nof": "[1]", `"it"`: "[1]", "_": "[3]", `\`: "[3]", "straße": "[]",
		"strasse": "[2]", "äö": "[2]", "σοφος": "[2]", "日本": "[4]", "DON'T": "[4]", "𝕏": "[4]", "assistant": "[]",
		"agent": "[]", "TURN": "[5]", "reply": "[5]", "c\x00d": "[3]", "100 %\\": "[]",
	} {
		if got := fmt.Sprint(allSeqs(t, f, "r", store.ResultFilter{Text: text}, 10)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func resultPages(t *testing.T, f Fleets) {
	begun(t, f, "r")
	put := func(n int) {
		for i := range 3 {
			putResults(t, f, "r", tested(fmt.Sprint(n, "-", i), 0, []result.Verdict{result.Pass, result.Fail}[i%2]))
		}
	}
	put(0)
	var got []int64
	page := store.PageOf{Limit: 2}
	for n := 1; ; n++ {
		results, err := f.Results(t.Context(), "r", store.ResultFilter{}, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results.Items {
			got = append(got, r.Seq)
		}
		if results.Next == nil {
			break
		}
		if page.Cursor = *results.Next; n < 10 {
			put(n)
		}
	}
	for i, seq := range got {
		if seq != int64(i+1) {
			t.Fatalf("seqs %v", got)
		}
	}
	if len(got) < 28 {
		t.Errorf("%d results", len(got))
	}
}

func resultsCounted(t *testing.T, f Fleets) {
	begun(t, f, "r")
	aggregate := tested("t", 0, result.Fail)
	aggregate.Trials = &result.Trials{Count: 2}
	putResults(t, f, "r", tested("t", 1, result.Pass), tested("t", 2, result.Fail), aggregate)
	putResults(t, f, "r", tested("a", 0, result.Pass), tested("b", 0, result.Skip), tested("c", 0, result.Error))
	run, err := f.Run(t.Context(), "r")
	if want := (store.RunCounts{Results: 6, Passed: 1, Failed: 1, Errors: 1, Skipped: 1}); err != nil ||
		run.Counts != want || run.Progress.Done != 4 {
		t.Errorf("%+v, %d done, %v; want %+v, 4", run.Counts, run.Progress.Done, err, want)
	}
	if _, err := f.UpdateRun(t.Context(), "r", store.Fence{}, func(r *store.Run) error {
		r.Progress.Conversations, r.Progress.Running = new(9), 5
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if run, _ := f.Run(t.Context(), "r"); asJSON(t, run.Progress) != `{"conversations":9,"done":4,"running":5}` {
		t.Errorf("%s", asJSON(t, run.Progress))
	}
}

func resultsAllOrNone(t *testing.T, f Fleets) {
	begun(t, f, "r")
	putResults(t, f, "r")
	broken := tested("b", 0, result.Pass)
	broken.Metadata = map[string]any{"f": func() {}}
	_, err := f.PutResults(t.Context(), "r", store.Fence{}, []store.NewResult{
		{Test: tested("a", 0, result.Pass)},
		{Test: broken},
	})
	if err == nil || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("%v", err)
	}
	huge := tested("h", 0, result.Pass)
	huge.Output[0].Content.Text = strings.Repeat("x", store.MaxResult)
	_, err = f.PutResults(t.Context(), "r", store.Fence{}, []store.NewResult{
		{Test: tested("a", 0, result.Pass)},
		{Test: huge},
	})
	wantError(t, err, store.ErrTooLarge)
	if seqs := allSeqs(t, f, "r", store.ResultFilter{}, 10); len(seqs) != 0 {
		t.Errorf("%v", seqs)
	}
}

func resultsLarge(t *testing.T, f Fleets) {
	begun(t, f, "r")
	for i := range 12 {
		large := tested(fmt.Sprint(i), 0, result.Pass)
		large.Output[1].Content.Text = strings.Repeat(fmt.Sprint(i, " "), 300_000)
		putResults(t, f, "r", large)
	}
	n := int64(0)
	for r, err := range f.AllResults(t.Context(), "r", store.ResultFilter{}) { // the reader needs no connection
		if n++; err != nil || r.Seq != n {
			t.Fatalf("%d: %d, %v", n, r.Seq, err)
		}
		putResults(t, f, "r", tested("more", 0, result.Pass))
	}
	if n != 13 {
		t.Errorf("%d results, want 13", n)
	}
}

func resultDurations(t *testing.T, f Fleets) {
	timed := func(id string, trial int, v result.Verdict, ms float64) *result.Test {
		r := tested(id, trial, v)
		r.DurationMS = ms
		return r
	}
	aggregate := timed("a", 0, result.Pass, 9_999)
	aggregate.Trials = &result.Trials{Count: 2}
	begun(t, f, "one")
	putResults(t, f, "one", timed("a", 1, result.Pass, 100), timed("a", 2, result.Fail, 200), aggregate,
		timed("b", 0, result.Error, 5), timed("c", 0, result.Skip, 5))
	begun(t, f, "two")
	putResults(t, f, "two", timed("a", 0, result.Pass, 600))
	keys := []result.Key{
		{Suite: "shop", TestID: "a", Target: "agent", Trial: 7},
		{Suite: "shop", TestID: "b", Target: "agent"},
		{Suite: "shop", TestID: "x", Target: "agent"},
	}
	want := func(d time.Duration) {
		t.Helper()
		got, err := f.MeanDurations(t.Context(), keys)
		wanted := map[result.Key]time.Duration{}
		if d > 0 {
			wanted[result.Key{Suite: "shop", TestID: "a", Target: "agent"}] = d
		}
		if diff := cmp.Diff(wanted, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	want(0)
	moved(t, f, "one", store.RunCompleted)
	want(150 * time.Millisecond)
	moved(t, f, "two", store.RunPartial)
	want(300 * time.Millisecond)
}
