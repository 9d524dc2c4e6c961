package graph_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/graph/graphtest"
)

func TestMemory(t *testing.T) {
	graphtest.RunCheckpointer(t, func(*testing.T) graph.Checkpointer { return graph.NewMemory(graph.MemoryLimits{}) })
}

// A graph that remembers what it has saved does as one that reads everything anew.
func TestMemoryLives(t *testing.T) {
	graphtest.RunLives(t, func(*testing.T) graphtest.Saver { return graph.NewMemory(graph.MemoryLimits{}) })
}

// Nothing is ever evicted in LangGraph's MemorySaver (1.4).
func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := graph.NewMemory(graph.MemoryLimits{TTL: time.Minute, Threads: 3})
		alive := func(thread string) bool {
			t.Helper()
			records, err := m.Load(t.Context(), thread, "")
			if err != nil {
				t.Fatal(err)
			}
			return len(records) > 0
		}
		for i := range 4 {
			if err := m.Save(t.Context(), fmt.Sprint(i), graph.Record{ID: "1"}); err != nil {
				t.Fatal(err)
			}
		}
		if alive("0") || !alive("1") || !alive("3") {
			t.Error("want 1, 2 and 3 to live")
		}
		time.Sleep(40 * time.Second)
		if !alive("1") {
			t.Error("1 is gone before its time")
		}
		time.Sleep(40 * time.Second)
		if alive("2") || !alive("1") {
			t.Error("want 1 to live, as it was used, and 2 to be gone")
		}
	})
}
