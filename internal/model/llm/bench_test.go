//go:build unix

package llm

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
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
			chat.NewMessage(chat.User, strings.Repeat("question words ", 15)),
			chat.NewMessage(chat.Assistant, strings.Repeat("answer words ", 30)))
	}
	r.Messages = append(r.Messages, chat.NewMessage(chat.User, "And now?"))
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

// BenchmarkGenerate is one call as a run makes it, through limits, retries and timeout, with the server in the same
// process.
func BenchmarkGenerate(b *testing.B) {
	base := serve(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		reply(w, hello)
	})
	o := Options{
		Getenv: env(map[string]string{"OPENAI_BASE_URL": base, "OPENAI_API_KEY": testKey}), Transport: transport(b),
	}
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

// BenchmarkScriptedLoop is a request of a turn of a flow: the first one, which is to call the tool, and the one after
// the tool's result.
func BenchmarkScriptedLoop(b *testing.B) {
	first := Request{ToolChoice: "process_node", Tools: []Tool{processNode("triage")}}
	first.Messages = append(first.Messages,
		chat.NewMessage(chat.System, strings.Repeat("instructions of the flow and the current node ", 20)),
		chat.NewMessage(chat.System, strings.Repeat("- key: value\n", 10)))
	for range 6 {
		first.Messages = append(first.Messages, chat.NewMessage(chat.User, strings.Repeat("question ", 10)),
			chat.NewMessage(chat.Assistant, strings.Repeat("answer ", 15)))
	}
	first.Messages = append(first.Messages, chat.NewMessage(chat.User, "I would like a refund, please."))
	second := first
	second.ToolChoice = "auto"
	second.Messages = append(slices.Clip(second.Messages),
		chat.Message{
			Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "a", Name: "process_node", Args: []byte("{}")}},
		},
		chat.Message{Role: chat.Tool, ToolCallID: "a", Content: chat.Content{
			Text: `{"next_node_id":"b","next_node_descriptor":{"id":"b","prompt":"Which order?"}}`,
		}})
	for name, request := range map[string]Request{"first": first, "second": second} {
		b.Run(name, func(b *testing.B) {
			s := script(b, loop)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Generate(b.Context(), request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLexical is one choice among 8 options of 20 examples each.
func BenchmarkLexical(b *testing.B) {
	words := strings.Fields("order parcel invoice refund charge account password login error crash slow update " +
		"address phone delivery late broken return price plan")
	var options []Option
	for i := range 8 {
		o := Option{ID: words[i], Label: words[i] + " and " + words[i+8], When: "asks about the " + words[i]}
		for j := range 20 {
			o.Examples = append(o.Examples, "I would like to know about my "+words[i]+" and the "+words[(i+j)%20]+
				" of "+words[(i*j)%20])
		}
		options = append(options, o)
	}
	menu := NewMenu("option_id", options, "-1")
	request := step(menu, "process_node",
		"Hello, I would like to know why the invoice for my last order has such a high price")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Lexical{}).Generate(b.Context(), request); err != nil {
			b.Fatal(err)
		}
	}
}
