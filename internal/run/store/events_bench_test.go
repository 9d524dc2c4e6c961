package store_test

import (
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
)

// eventsInBench is the size of a history that has to be imported in 15 s and read in 5 s, on two cores.
const eventsInBench = 468_000

func BenchmarkEventsPut(b *testing.B) {
	benchmarkPut(b, func() (replay.Events, func()) {
		s := open(b, filepath.Join(b.TempDir(), "store.db"))
		return s.Events(), func() { s.Close() }
	})
}

func BenchmarkEventsEach(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "store.db"))
	defer s.Close()
	benchmarkEach(b, s.Events())
}

func BenchmarkPostgresEventsPut(b *testing.B) {
	server := servertest.NewPostgres(b, "-c", "fsync=on")
	benchmarkPut(b, func() (replay.Events, func()) {
		return openPostgres(b, server.Database(b)).Events(), func() {}
	})
}

func BenchmarkPostgresEventsEach(b *testing.B) {
	benchmarkEach(b, openPostgres(b, servertest.NewPostgres(b, "-c", "fsync=on").Database(b)).Events())
}

// BenchmarkPostgresEventsPutOne is what logging events one by one costs.
func BenchmarkPostgresEventsPutOne(b *testing.B) {
	events := openPostgres(b, servertest.NewPostgres(b, "-c", "fsync=on").Database(b)).Events()
	for i := 0; b.Loop(); i++ {
		if _, _, err := events.Put(b.Context(), messages(i, 1)); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkPut includes making the events and closing the store.
func benchmarkPut(b *testing.B, open func() (events replay.Events, end func())) {
	for b.Loop() {
		events, end := open()
		added, _, err := events.Put(b.Context(), messages(0, eventsInBench))
		if added != eventsInBench || err != nil {
			b.Fatal(added, err)
		}
		end()
	}
	b.ReportMetric(float64(b.N)*eventsInBench/b.Elapsed().Seconds(), "events/s")
}

func benchmarkEach(b *testing.B, events replay.Events) {
	if _, _, err := events.Put(b.Context(), messages(0, eventsInBench)); err != nil {
		b.Fatal(err)
	}
	for _, f := range []replay.Filter{{}, {FlowID: "flow_3"}} {
		b.Run("flow="+f.FlowID, func(b *testing.B) {
			n := 0
			for b.Loop() {
				n += count(b, events, f)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
