package report_test

import (
	"fmt"
	"os"

	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// A report is made of a run's record and a stream of its tests, such as runlog.ReadRecords gives.
func ExampleNew() {
	tests := func(yield func(*runlog.Record, error) bool) {
		yield(runlog.RecordOf(&result.Test{
			Suite: "support", TestID: "refund", Target: "agent", Verdict: result.Pass, Score: 1, Threshold: 0.8,
			DurationMS: 1_200,
		}), nil)
	}
	r := report.New(result.Run{ID: "20260714-093000-k3x9"}, tests)
	if err := r.Text(os.Stdout, report.TextOptions{Verbose: true}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ✓ refund                                                      score 1.00 · 1.2 s
	//   support · agent
	//
	// The test passed
	//   passed 1   failed 0   errors 0   skipped 0
	//   pass rate    100% (95% interval 20.7–100%)
	//   mean score   1.00
	//   tests        1 (1 conversation, 0 turns)
	//   duration     0 ms
}
