//go:build unix

package llm

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"rehearse/internal/chat"
	"rehearse/internal/config"
)

// cpuMicros returns the processor time that the process has used.
func cpuMicros() float64 {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0
	}
	return float64(use.Utime.Nano()+use.Stime.Nano()) / 1e3
}

// longTalk is a conversation of eight turns.
func longTalk() Request {
	var r Request
	for range 8 {
		r.Messages = append(r.Messages,
			chat.Say(chat.User, strings.Repeat("question words ", 15)), chat.Say(chat.Assistant, strings.Repeat("answer words ", 30)))
	}
	r.Messages = append(r.Messages, chat.Say(chat.User, "And now?"))
	return r
}

// inFlight runs call with 50 goroutines and reports the processor time of one, with everything around it.
func inFlight(b *testing.B, call func() error) {
	b.Helper()
	b.ReportAllocs()
	b.SetParallelism(25) // times GOMAXPROCS, 2 where the project measures
	start := cpuMicros()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := call(); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric((cpuMicros()-start)/float64(b.N), "cpu-µs/op")
}

// BenchmarkGenerate is one call as a run makes it, through limits, retries and timeout, with the server in the same process.
func BenchmarkGenerate(b *testing.B) {
	base := serve(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		reply(w, hello)
	})
	o := Options{Getenv: env(map[string]string{"OPENAI_BASE_URL": base, "OPENAI_API_KEY": testKey}), Transport: transport(b)}
	m, err := Open(config.Model{Provider: "openai", Name: "agent"}, o)
	if err != nil {
		b.Fatal(err)
	}
	request := longTalk()
	inFlight(b, func() error { _, err := m.Generate(b.Context(), request); return err })
}

func BenchmarkScripted(b *testing.B) {
	s := script(b, shop)
	request := longTalk()
	inFlight(b, func() error { _, err := s.Generate(b.Context(), request); return err })
}
