package store_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sitebottest"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// BenchmarkTurn is the whole turn of the chatbot but for its models, in 1,000 sessions that are kept in a file.
func BenchmarkTurn(b *testing.B) {
	config := sitebottest.Config(b, sitebottest.Replies("LEARN"))
	config.Checkpoints = newCheckpoints(b, time.Hour)
	bot, err := sitebot.New(config)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	cpu := sitebottest.CPU(b)
	sitebottest.Turns(b, bot, b.N, 8, func(n int) sitebot.Request {
		return sitebot.Request{
			Site: sitebottest.Name, Session: fmt.Sprint(n % 1000), Input: fmt.Sprintf("question %d?", n),
		}
	})
	b.ReportMetric(float64((sitebottest.CPU(b)-cpu).Microseconds())/float64(b.N), "cpu-µs/turn")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}

// BenchmarkLeads compares turns that leave leads with turns that leave none, in a file.
func BenchmarkLeads(b *testing.B) {
	for _, atOnce := range []int{1, 8} {
		opened := 0
		b.Run(fmt.Sprint(atOnce, " at once"), func(b *testing.B) {
			sitebottest.Comparison{
				Sessions: 2000, AtOnce: atOnce, New: sitebot.New, Open: func() (sitebottest.Outbox, func()) {
					opened++
					s, err := store.Open(b.Context(), filepath.Join(b.TempDir(), fmt.Sprint(opened)))
					if err != nil {
						b.Fatal(err)
					}
					return s.Checkpoints(time.Hour), func() { _ = s.Close() }
				},
			}.Run(b)
		})
	}
}

// BenchmarkPostgresLeads is BenchmarkLeads in PostgreSQL. The server's share is not counted.
func BenchmarkPostgresLeads(b *testing.B) {
	sitebottest.Comparison{Sessions: 1000, AtOnce: 8, New: sitebot.New, Open: func() (sitebottest.Outbox, func()) {
		return openSessions(b, newDatabase(b), time.Hour), func() {}
	}}.Run(b)
}
