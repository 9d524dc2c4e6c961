package runlog_test

import (
	"fmt"
	"os"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// A log is appended to while a run is held, and read at any time. Of records with the same key the last counts.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	log, err := runlog.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, verdict := range []result.Verdict{result.Error, result.Pass} {
		t := result.Test{Schema: result.Schema, Suite: "support", TestID: "refund", Target: "agent", Verdict: verdict}
		if err := log.Append(&t); err != nil {
			fmt.Println(err)
		}
	}
	if err := log.Close(); err != nil {
		fmt.Println(err)
	}
	for t, err := range runlog.Read(dir) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(t.TestID, t.Verdict)
	}
	// Output: refund pass
}
