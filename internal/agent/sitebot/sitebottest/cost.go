//go:build unix

package sitebottest

import (
	"crypto/sha256"
	"encoding/hex"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
)

// CPU is the time that the process has spent computing, its own and in the system.
func CPU(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Turns takes n turns, a number of them at once. The request of each is that of its number, from 0 on.
func Turns(tb testing.TB, bot *sitebot.Bot, n, atOnce int, request func(n int) sitebot.Request) {
	tb.Helper()
	turns(tb, direct(tb, bot), n, atOnce, request)
}

// direct asks a bot itself.
func direct(tb testing.TB, bot *sitebot.Bot) func(sitebot.Request) error {
	return func(r sitebot.Request) error {
		_, err := bot.Turn(tb.Context(), r, nil)
		return err
	}
}

func turns(tb testing.TB, ask func(sitebot.Request) error, n, atOnce int, request func(n int) sitebot.Request) {
	tb.Helper()
	var taken atomic.Int64
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for i := int(taken.Add(1)) - 1; i < n; i = int(taken.Add(1)) - 1 {
				if err := ask(request(i)); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// Outbox is what keeps the sessions of a comparison.
type Outbox interface {
	graph.Checkpointer
	lead.Ledger
}

// Comparison compares turns that leave two events each with turns that have nobody to tell of them. Both are taken in
// fresh stores, by turns, in as many sessions as there are turns.
type Comparison struct {
	Sessions, AtOnce int
	// New is sitebot.New.
	New func(sitebot.Config) (*sitebot.Bot, error)
	// Open opens an empty store. What follows the turns is not counted.
	Open func() (store Outbox, end func())
	// Serve returns how the bot is asked, such as over HTTP; nil asks it directly.
	Serve func(*sitebot.Bot) (ask func(sitebot.Request) error)
}

// Run reports what a turn takes without leads and with them, and how much more that is in per cent: the median of the
// rounds, as something else may have had the machine in one of them. The goal is less than a tenth.
func (c Comparison) Run(b *testing.B) {
	var without, with, more []float64
	for b.Loop() {
		var spent [2]float64
		for i := range spent {
			side := (i + len(more)) % 2 // neither side always has what the other one leaves
			spent[side] = float64(c.side(b, side == 1).Nanoseconds()) / 1000 / float64(c.Sessions)
		}
		without, with, more = append(without, spent[0]), append(with, spent[1]), append(more, 100*spent[1]/spent[0]-100)
	}
	b.ReportMetric(median(without), "cpu-µs/turn")
	b.ReportMetric(median(with), "cpu-µs/turn-with-leads")
	b.ReportMetric(median(more), "%-more")
	b.ReportMetric(0, "ns/op") // of both sides and the stores, which says nothing
}

func median(of []float64) float64 {
	slices.Sort(of)
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}

// side returns what the turns of one side have taken, and fails unless they have left what they should.
func (c Comparison) side(b *testing.B, tells bool) time.Duration {
	store, end := c.Open()
	defer end()
	config, want := Config(b, Replies("BOOKING")), 0
	if config.Checkpoints = store; tells {
		config.Leads, want = Webhook{}, 2*c.Sessions
	}
	bot, err := c.New(config)
	if err != nil {
		b.Fatal(err)
	}
	ask := direct(b, bot)
	if c.Serve != nil {
		ask = c.Serve(bot)
	}
	runtime.GC()
	before := CPU(b)
	turns(b, ask, c.Sessions, c.AtOnce, func(n int) sitebot.Request {
		return sitebot.Request{Site: Name, Session: SessionID(n), Input: "book a demo for ada@x.com"}
	})
	took := CPU(b) - before
	if rows, err := store.Leads(b.Context(), lead.Filter{}); err != nil || len(rows) != want {
		b.Fatalf("%d rows were left, %v; want %d", len(rows), err, want)
	}
	return took
}

// SessionID is the id of a session. Ids of visitors are random, and an index takes those that come in order more
// easily.
func SessionID(n int) string {
	sum := sha256.Sum256(strconv.AppendInt(nil, int64(n), 10))
	return hex.EncodeToString(sum[:11])
}
