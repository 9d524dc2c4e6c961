package replay_test

import (
	"compress/gzip"
	"os"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// BenchmarkEvaluate replays the shipped part of STAR in both lanes with the lexical model.
func BenchmarkEvaluate(b *testing.B) {
	log := starLog(b)
	agent := func(name string) replay.Agent {
		flows, err := flow.LoadFile(source.Files{}, "../../examples/replay/flows/"+name+".yaml")
		if err != nil {
			b.Fatal(err)
		}
		return &replay.FlowAgent{
			Engine: flow.New(flow.Config{Model: llm.Lexical{}}), Flow: flows[0], Pipeline: &flow.MemoryPipeline{},
		}
	}
	baseline, candidate := agent("hotel_book_baseline"), agent("hotel_book_candidate")
	sessions, turns := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		e := &replay.Evaluation{
			Events: log, MinTurns: 1, Workers: 2, Rules: replay.DefaultRules(), Now: time.Now,
			Head: replay.Report{Run: replay.Run{FlowID: "hotel_book", Gate: replay.GatePaired}},
			Replayer: &replay.Replayer{
				Baseline: baseline, Candidate: candidate, Mode: replay.Recorded, Seed: replay.Seed,
			},
			Each: func(p *replay.Pair) error {
				sessions++
				turns += len(p.Variations[1].Turns) + len(p.Variations[2].Turns)
				return nil
			},
		}
		e.Pool = replayrun.LocalPool(e, nil)
		if _, err := e.Evaluate(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(sessions)/b.Elapsed().Seconds(), "sessions/s")
	b.ReportMetric(float64(turns)/b.Elapsed().Seconds(), "turns/s")
}

func starLog(b *testing.B) *memory {
	b.Helper()
	file, err := os.Open("testdata/star/events.jsonl.gz")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	packed, err := gzip.NewReader(file)
	if err != nil {
		b.Fatal(err)
	}
	log := &memory{}
	if _, _, err := log.Put(b.Context(), replay.ReadJSONL(packed, func(replay.Reject) {})); err != nil {
		b.Fatal(err)
	}
	return log
}
