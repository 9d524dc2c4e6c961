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
		r := report.New(result.Run{}, runlog.ReadRecords(dir, result.Run{}))
		if err := r.Write(dir, report.Formats()); err != nil {
			b.Fatal(err)
		}
		if err := r.Text(io.Discard, report.TextOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
