package runlog_test

import (
	"math"
	"os"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Each conversation counts once: also one that was held again since, a trial but not its aggregate, and of a cost with
// an unknown part the rest.
func TestSpent(t *testing.T) {
	dir := t.TempDir()
	keep := func(tests ...*result.Test) {
		t.Helper()
		log, err := runlog.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range tests {
			if err := log.Append(one); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	spent := func(want float64) {
		t.Helper()
		if got, err := runlog.Spent(dir); err != nil || math.Abs(got.USD-want) > 1e-9 {
			t.Errorf("spent %+v (%v), want %g", got, err, want)
		}
	}
	spent(0)
	keep(
		&result.Test{TestID: "a", Verdict: result.Fail, Cost: chat.Cost{USD: 1}},
		&result.Test{TestID: "b", Trial: 1, Verdict: result.Pass, Cost: chat.Cost{USD: 2}},
		&result.Test{TestID: "b", Verdict: result.Pass, Trials: &result.Trials{Count: 1}, Cost: chat.Cost{USD: 2}},
		&result.Test{
			TestID: "c", Verdict: result.Pass, Cost: chat.Cost{Unknown: true},
			Judge: result.JudgeUse{Cost: chat.Cost{USD: 4}},
			Turns: []result.Turn{{Cost: chat.Cost{USD: 8}}, {Cost: chat.Cost{Unknown: true}}},
		},
		&result.Test{TestID: "d", Verdict: result.Skip},
	)
	spent(15)
	for range 2 { // held again, and again
		keep(&result.Test{
			TestID: "a", Verdict: result.Pass, Cost: chat.Cost{USD: 16}, DurationMS: float64(len(logs(t, dir))),
		})
		if err := runlog.Compact(dir, func(result.Key) bool { return false }); err != nil {
			t.Fatal(err)
		}
	}
	spent(47)
}

func logs(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}
