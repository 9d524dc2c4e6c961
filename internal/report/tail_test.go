package report_test

import (
	"io"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// writeLog writes a log of tests.
func writeLog(t testing.TB, dir string, tests ...*result.Test) {
	t.Helper()
	log, err := runlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tests {
		if err := log.Append(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkTail writes every report of 200 conversations from their log.
func BenchmarkTail(b *testing.B) {
	dir := b.TempDir()
	for i := range 200 {
		writeLog(b, dir, conversationNo(i))
	}
	for b.Loop() {
		r := report.New(result.Run{}, report.Records(dir))
		if err := r.Write(dir, report.Formats()); err != nil {
			b.Fatal(err)
		}
		if err := r.Text(io.Discard, report.TextOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestRecordsFollowTheLog checks that records are those of the log also after it has grown or a record was replaced.
func TestRecordsFollowTheLog(t *testing.T) {
	dir := t.TempDir()
	records := report.Records(dir)
	names := func() (names []string) {
		for x, err := range records {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, x.TestID)
		}
		return names
	}
	for i, want := range []int{1, 2, 2} {
		writeLog(t, dir, test("s", []string{"a", "b", "b"}[i]))
		if got := names(); len(got) != want {
			t.Errorf("after %d records the log has %q", i+1, got)
		}
	}
}
