//go:build linux

package target

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// A conversation that is open costs a few goroutines and little memory.
func TestWiresAreCheap(t *testing.T) {
	address, _ := socketAgent(t, echo(new(atomic.Int32)))
	for yaml, most := range map[string]struct{ goroutines, bytes int }{
		// the agent's side, in this process, has most of them
		`{url: "` + address + `"}`: {8, 128 << 10},
		// one of the threads waits for each program
		`{kind: command, command: [sh, -c, '` + jsonAgent + `']}`: {3, 128 << 10},
	} {
		const sessions = 30
		goroutines, bytes, closeAll := openSessions(t, opened(t, commandParts(t), yaml), sessions)
		if goroutines > sessions*most.goroutines || bytes > sessions*most.bytes {
			t.Errorf("%s: %d goroutines and %d KB for %d conversations", yaml, goroutines, bytes>>10, sessions)
		}
		closeAll()
	}
}

// openSessions opens conversations and takes a turn in each. It returns what they cost.
func openSessions(t *testing.T, x runner.Target, n int) (goroutines, bytes int, closeAll func()) {
	t.Helper()
	used := func() (int, int) {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), int(m.HeapInuse + m.StackInuse)
	}
	goroutinesBefore, bytesBefore := used()
	sessions := make([]runner.Session, n)
	var all sync.WaitGroup
	for i := range sessions {
		all.Go(func() {
			s, err := x.Open(t.Context(), runner.Opening{
				Test: &suite.Test{ID: "t"}, ConversationID: fmt.Sprint("c", i),
			})
			if err != nil {
				t.Error(err)
				return
			}
			sessions[i] = s
			if _, err := s.Send(t.Context(), chat.Content{Text: "hello"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	goroutines, bytes = used()
	return goroutines - goroutinesBefore, bytes - bytesBefore, func() {
		for _, s := range sessions {
			if s != nil {
				all.Go(func() { _ = s.Close() })
			}
		}
		all.Wait()
	}
}
