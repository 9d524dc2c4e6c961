package runlog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

const manyTests = 100_000

// conversationNo makes the i-th of many tests: four turns with their checks.
func conversationNo(i int) *result.Test {
	x := test(fmt.Sprintf("suites/s%d.yaml", i%3), fmt.Sprintf("conversation-%06d", i),
		"I would like to change the address of my order, please.",
		"Of course. Could you give me the number of the order?", "It is 4711-0815.",
		"Thank you. I see an order of two books. What is the new address?", "12 Harbour Lane, Bergen.",
		"Done: the parcel goes to 12 Harbour Lane, Bergen.", "Thanks!", "You're welcome. Have a good day.")
	for n := range x.Scores {
		x.Scores[n].Assertions = []result.Assertion{
			{Text: "answers politely", Passed: true, Grader: "rubrics", Evidence: "The reply is polite."},
			{Text: `contains "order"`, Passed: true, Grader: "contains"},
		}
	}
	return x
}

// BenchmarkAppend appends a record; fsync runs beside it.
func BenchmarkAppend(b *testing.B) {
	dir := b.TempDir()
	log := openLog(b, dir)
	x := conversationNo(3)
	for i := 0; b.Loop(); i++ {
		x.Trial = i
		if err := log.Append(x); err != nil {
			b.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		b.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, runlog.LogFile)); err == nil {
		b.SetBytes(info.Size() / int64(b.N))
	}
}

// BenchmarkRead reads a log of 100,000 records, of which none is superseded.
func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	log := openLog(b, dir)
	for i := range manyTests {
		if err := log.Append(conversationNo(i)); err != nil {
			b.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		n := 0
		for _, err := range runlog.Read(dir) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != manyTests {
			b.Fatalf("%d records", n)
		}
	}
}
