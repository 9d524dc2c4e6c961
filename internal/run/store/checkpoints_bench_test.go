package store_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sitebottest"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
)

// sessionsAtOnce is how many sessions the benchmarks take turns in.
const sessionsAtOnce = 1_000

// turnRecord is a record of the size that a turn of a chatbot has: 3 kB of state, 600 bytes of messages.
func turnRecord(turn int) graph.Record {
	r := graph.Record{
		ID: fmt.Sprintf("%016x", turn), Turn: turn, Source: graph.SourceTurn, At: time.Now(),
		Values:   json.RawMessage(`{"state":"` + strings.Repeat("s", 3000) + `"}`),
		Appended: json.RawMessage(`{"messages":["` + strings.Repeat("m", 600) + `"]}`),
	}
	if turn > 1 {
		r.Parent = fmt.Sprintf("%016x", turn-1)
	}
	return r
}

// BenchmarkCheckpointsSave reports the CPU of the whole process besides the time, which is waiting for the disk as
// well.
func BenchmarkCheckpointsSave(b *testing.B) {
	benchmarkSave(b, newCheckpoints(b, time.Hour))
}

func benchmarkSave(b *testing.B, c graph.Checkpointer) {
	cpu := sitebottest.CPU(b)
	for i := 0; b.Loop(); i++ {
		if err := c.Save(b.Context(), fmt.Sprint("site:session-", i%sessionsAtOnce),
			turnRecord(1+i/sessionsAtOnce)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((sitebottest.CPU(b)-cpu).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// BenchmarkCheckpointsSaveAtOnce has all sessions save at the same time.
func BenchmarkCheckpointsSaveAtOnce(b *testing.B) {
	benchmarkSaveAtOnce(b, newCheckpoints(b, time.Hour))
}

func benchmarkSaveAtOnce(b *testing.B, c graph.Checkpointer) {
	b.SetParallelism(sessionsAtOnce / runtime.GOMAXPROCS(0))
	var session atomic.Int64
	cpu := sitebottest.CPU(b)
	b.RunParallel(func(pb *testing.PB) {
		thread := fmt.Sprint("site:session-", session.Add(1))
		for turn := 1; pb.Next(); turn++ {
			if err := c.Save(b.Context(), thread, turnRecord(turn)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64((sitebottest.CPU(b)-cpu).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

func BenchmarkCheckpointsLoad50Turns(b *testing.B) {
	benchmarkLoad(b, newCheckpoints(b, time.Hour))
}

func benchmarkLoad(b *testing.B, c graph.Checkpointer) {
	const turns = 50
	for turn := 1; turn <= turns; turn++ {
		if err := c.Save(b.Context(), "thread", turnRecord(turn)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if got, err := c.Load(b.Context(), "thread", ""); err != nil || len(got) != turns {
			b.Fatal(len(got), err)
		}
	}
}

func BenchmarkRedisSave(b *testing.B) {
	benchmarkSave(b, openRedis(b, servertest.Redis(b), store.RedisOptions{TTL: time.Hour}))
}

func BenchmarkRedisSaveAtOnce(b *testing.B) {
	benchmarkSaveAtOnce(b, openRedis(b, servertest.Redis(b), store.RedisOptions{TTL: time.Hour}))
}

func BenchmarkRedisLoad50Turns(b *testing.B) {
	benchmarkLoad(b, openRedis(b, servertest.Redis(b), store.RedisOptions{TTL: time.Hour}))
}
