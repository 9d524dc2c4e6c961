package store_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Pages of results hold every result that a filter chose at the beginning, each once and in order, and nothing that it
// does not choose, whatever is stored between them.
func TestPagesOfResults(t *testing.T) {
	s := open(t, newFile(t))
	defer s.Close()
	f, runs := s.Fleet(), 0
	verdicts := []result.Verdict{result.Pass, result.Fail, result.Error}
	rapid.Check(t, func(r *rapid.T) {
		runs++
		run := fmt.Sprint("r", runs)
		if _, _, err := f.CreateRun(t.Context(), store.NewRun{Run: store.Run{ID: run}}); err != nil {
			r.Fatal(err)
		}
		var all []*result.Test
		put := func(n int) {
			var batch []store.NewResult
			for range n {
				test := &result.Test{
					Suite: rapid.SampledFrom([]string{"a", "b"}).Draw(r, "suite"), TestID: fmt.Sprint(len(all)),
					Verdict: rapid.SampledFrom(verdicts).Draw(r, "verdict"), Output: []chat.Message{{
						Content: chat.Content{Text: rapid.SampledFrom([]string{"one", "two"}).Draw(r, "text")},
					}},
				}
				all, batch = append(all, test), append(batch, store.NewResult{Test: test})
			}
			if _, err := f.PutResults(t.Context(), run, store.Fence{}, batch); err != nil {
				r.Fatal(err)
			}
		}
		put(rapid.IntRange(0, 20).Draw(r, "at first"))
		filter := store.ResultFilter{
			Suite:   rapid.SampledFrom([]string{"", "a", "b"}).Draw(r, "filter suite"),
			Verdict: rapid.SampledFrom(append(verdicts, "")).Draw(r, "filter verdict"),
			Text:    rapid.SampledFrom([]string{"", "ONE", "w"}).Draw(r, "filter text"),
		}
		chosen := func(test *result.Test) bool {
			said := map[string]string{"ONE": "one", "w": "two"}[filter.Text]
			return (filter.Suite == "" || test.Suite == filter.Suite) &&
				(filter.Verdict == "" || test.Verdict == filter.Verdict) &&
				(said == "" || test.Output[0].Content.Text == said)
		}
		atFirst := len(all)
		var got []int64
		for page := (store.PageOf{Limit: rapid.IntRange(1, 7).Draw(r, "limit")}); ; {
			results, err := f.Results(t.Context(), run, filter, page)
			if err != nil {
				r.Fatal(err)
			}
			for _, one := range results.Items {
				got = append(got, one.Seq)
			}
			if results.Next == nil {
				break
			}
			page.Cursor = *results.Next
			if len(all) < 60 {
				put(rapid.IntRange(0, 3).Draw(r, "meanwhile"))
			}
		}
		var least, most []int64
		for i, test := range all {
			if chosen(test) {
				if most = append(most, int64(i+1)); i < atFirst {
					least = append(least, int64(i+1))
				}
			}
		}
		if len(got) < len(least) || len(got) > len(most) || !slices.Equal(got, most[:len(got)]) {
			r.Fatalf("got %v, want %v to %v", got, least, most)
		}
	})
}

// Pages of runs hold every run that was there at the beginning and is not deleted, each once and newest first, whatever
// comes and goes between them.
func TestPagesOfRuns(t *testing.T) {
	s := open(t, newFile(t))
	defer s.Close()
	f, rounds := s.Fleet(), 0
	rapid.Check(t, func(r *rapid.T) {
		rounds++
		round, runs := fmt.Sprint("round ", rounds), 0
		nth := func(n int) string { return fmt.Sprintf("%s, %03d", round, n) }
		submit := func() {
			runs++
			if _, _, err := f.CreateRun(t.Context(), store.NewRun{
				Run: store.Run{ID: nth(runs), Name: round},
			}); err != nil {
				r.Fatal(err)
			}
		}
		for range rapid.IntRange(0, 12).Draw(r, "at first") {
			submit()
		}
		atFirst := runs
		deleted := map[string]bool{}
		var got []string
		for page := (store.PageOf{Limit: rapid.IntRange(1, 5).Draw(r, "limit")}); ; {
			found, err := f.Runs(t.Context(), store.RunFilter{Name: round}, page)
			if err != nil {
				r.Fatal(err)
			}
			for _, run := range found.Items {
				got = append(got, run.ID)
			}
			if found.Next == nil {
				break
			}
			page.Cursor = *found.Next
			for range rapid.IntRange(0, 2).Draw(r, "submitted") {
				submit()
			}
			if id := nth(rapid.IntRange(1, runs).Draw(r, "deleted")); !deleted[id] {
				deleted[id] = true
				if _, err := f.CancelRun(t.Context(), id); err != nil {
					r.Fatal(err)
				}
				if err := f.DeleteRun(t.Context(), id); err != nil {
					r.Fatal(err)
				}
			}
		}
		for i, id := range got {
			if i > 0 && id >= got[i-1] {
				r.Fatalf("runs %v", got)
			}
		}
		for n := 1; n <= atFirst; n++ {
			if id := nth(n); !deleted[id] && !slices.Contains(got, id) {
				r.Fatalf("runs %v lack %s", got, id)
			}
		}
	})
}
