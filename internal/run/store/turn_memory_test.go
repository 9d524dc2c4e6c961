package store_test

import (
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sitebottest"
)

// TestSessionsLeaveNoMemory checks that sessions that are stored in a file, each of a visitor with a long message,
// leave nothing in the process: what it needs is bounded by the turns under way, not by the sessions that have begun.
func TestSessionsLeaveNoMemory(t *testing.T) {
	const messages, size = 400, 12_000
	sessions := newCheckpoints(t, time.Hour)
	config := sitebottest.Config(t, sitebottest.Replies("LEARN"))
	config.Checkpoints, config.Limits = sessions, limit.NewLimiter(sessions, nil, nil)
	bot, err := sitebot.New(config)
	if err != nil {
		t.Fatal(err)
	}
	input := strings.Repeat("x ", size/2)
	heapAfter := func(first, n int) int64 {
		sitebottest.Turns(t, bot, n, 4, func(i int) sitebot.Request {
			i += first
			return sitebot.Request{
				Site: sitebottest.Name, Session: sitebottest.SessionID(i), Input: input, Visitor: true,
				IP: netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}),
			}
		})
		runtime.GC()
		runtime.GC() // what pools kept over the first collection
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heapAfter(0, 150)
	if grown := heapAfter(150, messages) - before; grown > messages*size/4 {
		t.Errorf("%d sessions with messages of %d bytes have left %d bytes", messages, size, grown)
	}
	runtime.KeepAlive(bot)
}
