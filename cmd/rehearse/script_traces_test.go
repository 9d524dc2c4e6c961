package main

import (
	"os"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"rehearse/internal/telemetry/telemetrytest"
)

var collectors sync.Map // of seenKey to *telemetrytest.Collector

// collector starts a collector of traces and names it to the programs of the script.
func collector(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: collector")
	}
	c := telemetrytest.Start()
	collectors.Store(seenKey{ts}, c)
	ts.Defer(func() { c.Close(); collectors.Delete(seenKey{ts}) })
	ts.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
}

// spans writes the spans that the collector has, each below its parent, with some attributes.
func spans(ts *testscript.TestScript, neg bool, args []string) {
	found, ok := collectors.Load(seenKey{ts})
	if neg || len(args) < 1 || !ok {
		ts.Fatalf("usage: spans FILE ATTRIBUTE…, after collector")
	}
	c, _ := found.(*telemetrytest.Collector)
	for _, fault := range c.Faults() {
		ts.Fatalf("the collector was sent what it cannot read: %s", fault)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(c.Tree(args[1:]...)), 0o600))
}
