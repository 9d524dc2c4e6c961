//go:build unix

package api

import (
	"strings"
	"syscall"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// BenchmarkOpenAI is one exchange of a script served over HTTP with the client of the same process, 50 at a time.
func BenchmarkOpenAI(b *testing.B) {
	address, client := serve(b, script(b, "rules: [{when: {user: nothing}, reply: no}]\ndefault: {reply: "+
		strings.Repeat("answer words ", 30)+"}"), Options{})
	m, err := llm.NewClient(config.Model{Provider: "openai", Name: "agent", BaseURL: address + "/v1"},
		llm.Options{Transport: client.Transport})
	if err != nil {
		b.Fatal(err)
	}
	var r llm.Request
	for range 8 {
		r.Messages = append(r.Messages,
			chat.NewMessage(chat.User, strings.Repeat("question words ", 15)),
			chat.NewMessage(chat.Assistant, strings.Repeat("answer words ", 30)))
	}
	r.Messages = append(r.Messages, chat.NewMessage(chat.User, "And now?"))
	used := func() float64 {
		var use syscall.Rusage
		if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
			return 0
		}
		return float64(use.Utime.Nano()+use.Stime.Nano()) / 1e3
	}
	b.ReportAllocs()
	b.SetParallelism(25)
	start := used()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := m.Generate(b.Context(), r); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric((used()-start)/float64(b.N), "cpu-µs/op")
}
