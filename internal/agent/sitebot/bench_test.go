package sitebot_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sitebottest"
)

// BenchmarkAnswerPath holds 1,000 sessions of 10 turns at once, each turn with its checkpoint in memory: the whole S3
// answer path but for the models. The goals are 200 µs of CPU a turn and 9,000 turns a second on two cores.
func BenchmarkAnswerPath(b *testing.B) {
	const sessions, turns = 1000, 10
	config := sitebottest.Config(b, sitebottest.Replies("LEARN"))
	rounds, cpu := 0, sitebottest.CPU(b)
	for b.Loop() {
		rounds++
		config.Checkpoints = graph.NewMemory(graph.MemoryLimits{})
		bot, err := sitebot.New(config)
		if err != nil {
			b.Fatal(err)
		}
		sitebottest.Turns(b, bot, sessions*turns, 8, func(n int) sitebot.Request {
			return sitebot.Request{
				Site: sitebottest.Name, Session: fmt.Sprint(n % sessions), Input: fmt.Sprintf("question %d?", n),
			}
		})
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapInuse)/(1<<20), "MB")
		b.ReportMetric(sessions*turns*float64(rounds)/b.Elapsed().Seconds(), "turns/s")
		b.ReportMetric(float64((sitebottest.CPU(b)-cpu).Microseconds())/float64(sessions*turns*rounds), "cpu-µs/turn")
		runtime.KeepAlive(bot)
	}
}

// BenchmarkLeads compares turns that leave leads with turns that leave none, in memory.
func BenchmarkLeads(b *testing.B) {
	for _, atOnce := range []int{1, 8} {
		b.Run(fmt.Sprint(atOnce, " at once"), sitebottest.Comparison{
			Sessions: 1000, AtOnce: atOnce, New: sitebot.New, Open: func() (sitebottest.Outbox, func()) {
				return sessionindex.NewMemory(graph.MemoryLimits{}), func() {}
			},
		}.Run)
	}
}
