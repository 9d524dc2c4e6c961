package report_test

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/testkit/race"
)

const manyTests = 100_000

// conversationNo makes the i-th of many tests: four turns; every tenth fails.
func conversationNo(i int) *result.Test {
	x := test(fmt.Sprintf("suites/s%d.yaml", i%3), fmt.Sprintf("conversation-%06d", i),
		"I would like to change the address of my order, please.",
		"Of course. Could you give me the number of the order?",
		"It is 4711-0815.", "Thank you. I see an order of two books. What is the new address?",
		"12 Harbour Lane, Bergen.", "Done: the parcel goes to 12 Harbour Lane, Bergen.",
		"Thanks!", "You're welcome. Have a good day.")
	for n := 1; n <= 4; n++ {
		assert(x, n, 1, met("answers politely", "rubrics", "The reply is polite."),
			met(`contains "order"`, "contains", ""))
	}
	if i%10 == 3 {
		failed(x, 0.75)
		fail(x, assert(x, 3, 0, unmet(`contains "4711"`, "contains",
			`"Done: the parcel goes to 12 Harbour Lane, Bergen."`)), result.Failure{
			Code: result.AssistantContent, Source: "contains", Turn: 3,
			Message: `wanted: contains "4711"; got: "Done: the parcel goes to 12 Harbour Lane, Bergen."`,
		})
	}
	return x
}

// generated is a stream of n tests that are made as they are asked for, so that what is in memory is the renderer's.
// watch, if set, is called now and then.
func generated(n int, watch func()) runlog.Stream {
	return func(yield func(*runlog.Record, error) bool) {
		for i := range n {
			if watch != nil && i%(n/8) == n/16 {
				watch()
			}
			if !yield(runlog.RecordOf(conversationNo(i)), nil) {
				return
			}
		}
	}
}

// live returns the bytes in use once the garbage is gone.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func renderers() map[string]func(*report.Report, io.Writer) error {
	return map[string]func(*report.Report, io.Writer) error{
		"html": (*report.Report).HTML, "markdown": (*report.Report).Markdown, "junit": (*report.Report).JUnit,
		"text": func(r *report.Report, w io.Writer) error { return r.Text(w, report.TextOptions{}) },
	}
}

// TestMemoryIsFlat renders few and many tests: beyond what is shown, more tests must not take more memory.
func TestMemoryIsFlat(t *testing.T) {
	n := 7_000
	if race.Enabled {
		n = 520
	}
	for name, render := range renderers() {
		peak := func(n int) (most uint64) {
			before := live()
			watch := func() {
				if now := live(); now > before {
					most = max(most, now-before)
				}
			}
			if err := render(report.New(result.Run{}, generated(n, watch)), io.Discard); err != nil {
				t.Fatal(err)
			}
			return most
		}
		few, many := peak(n), peak(2*n)
		t.Logf("%s: %.1f MB for %d tests, %.1f MB for twice as many", name, float64(few)/1e6, n, float64(many)/1e6)
		// What is remembered until the caps are reached may still grow a little: failing tests are a tenth.
		if many > few+8<<20 {
			t.Errorf("%s: %d MB in use for %d tests, %d MB for twice as many", name, few>>20, n, many>>20)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for name, render := range renderers() {
		b.Run(name, func(b *testing.B) {
			var most uint64
			for b.Loop() {
				before := live()
				watch := func() { most = max(most, live()-min(before, live())) }
				if err := render(report.New(result.Run{}, generated(manyTests, watch)), io.Discard); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(most)/1e6, "live-MB")
		})
	}
}
