package report_test

import (
	"io"
	"os"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// BenchmarkTail is what is left to do once the last of 200 conversations has ended: every report, from the log or by a Builder.
func BenchmarkTail(b *testing.B) {
	render := func(b *testing.B, r *report.Report, dir string) {
		b.Helper()
		if err := r.Write(dir, report.Formats()); err != nil {
			b.Fatal(err)
		}
		if err := r.Text(io.Discard, report.TextOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	hold := func(b *testing.B, dir string) *report.Builder {
		b.Helper()
		log := openLog(b, dir)
		builder := report.Watch(log, report.Formats())
		for i := range 200 {
			if err := log.Append(conversationNo(i)); err != nil {
				b.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			b.Fatal(err)
		}
		return builder
	}
	b.Run("log", func(b *testing.B) {
		dir := b.TempDir()
		hold(b, dir)
		for b.Loop() {
			render(b, report.New(result.Run{}, runlog.Read(dir)), dir)
		}
	})
	b.Run("built", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			dir := b.TempDir()
			builder := hold(b, dir)
			builder.Report(result.Run{}) // the last reply came long after most others
			b.StartTimer()
			render(b, builder.Report(result.Run{}), dir)
			b.StopTimer()
			_ = os.RemoveAll(dir)
			b.StartTimer()
		}
	})
}

func openLog(t testing.TB, dir string) *runlog.Log {
	t.Helper()
	log, err := runlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return log
}
