package graph_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// cpu returns the processor time that the process has taken.
func cpu(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkTurn takes turns of the 20 nodes of an answer without models, in conversations of ten turns, one after the
// other. Goal: 100 µs of processor time.
func BenchmarkTurn(b *testing.B) { benchmarkTurn(b, graph.Config{}) }

// BenchmarkTurnDurable saves a step for each node besides.
func BenchmarkTurnDurable(b *testing.B) { benchmarkTurn(b, graph.Config{Durable: true}) }

func benchmarkTurn(b *testing.B, c graph.Config) {
	g := bot(b, c)
	b.ReportAllocs()
	before := cpu(b)
	for i := range b.N {
		if _, err := g.Run(b.Context(), fmt.Sprint(i/10), botUpdate{input.Set("What is it?")}, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/1000, "cpu-µs/turn")
}

// BenchmarkTurns takes them in parallel. Goal: 10,000 a second on two cores.
func BenchmarkTurns(b *testing.B) {
	g := bot(b, graph.Config{})
	var worker atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		name := worker.Add(1)
		for i := 0; pb.Next(); i++ {
			if _, err := g.Run(b.Context(), fmt.Sprint(name, i/10),
				botUpdate{input.Set("What is it?")}, nil); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}

// frozen is a thread that always stands where it is.
type frozen struct {
	graph.Checkpointer
	chain []graph.Record
}

func (f frozen) Load(context.Context, string, string) ([]graph.Record, error) { return f.chain, nil }

func (f frozen) Save(context.Context, string, graph.Record) error { return nil }

// BenchmarkTurnByLength takes the turn after so many over and over: it should cost little more in a long conversation.
func BenchmarkTurnByLength(b *testing.B) {
	for _, length := range []int{2, 10, 50, 200} {
		b.Run(fmt.Sprint("turn ", length), func(b *testing.B) {
			store := graph.NewMemory(graph.MemoryLimits{})
			g := bot(b, graph.Config{Checkpoints: store})
			for range length - 1 {
				if _, err := g.Run(b.Context(), "thread", botUpdate{input.Set("What is it?")}, nil); err != nil {
					b.Fatal(err)
				}
			}
			chain, err := store.Load(b.Context(), "thread", "")
			if err != nil {
				b.Fatal(err)
			}
			g = bot(b, graph.Config{Checkpoints: frozen{chain: chain}})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.Run(b.Context(), "thread", botUpdate{input.Set("What is it?")}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSessions holds 1,000 conversations of ten turns. Goal: 120 MB.
func BenchmarkSessions(b *testing.B) {
	for b.Loop() {
		g := bot(b, graph.Config{})
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for session := range 1000 {
			for range 10 {
				if _, err := g.Run(b.Context(), fmt.Sprint(session),
					botUpdate{input.Set("What is it?")}, nil); err != nil {
					b.Fatal(err)
				}
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB-held")
		runtime.KeepAlive(g)
	}
}
