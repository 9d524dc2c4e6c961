package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rehearse-dev/rehearse/internal/base/telemetry/telemetrytest"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
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

// sameTraces fails unless the records of a log and the spans of the collector tell the same: each conversation has a
// trace, whose id its turns bear, with a span for each turn, and a link to the span of its run.
func sameTraces(ts *testscript.TestScript, neg bool, args []string) {
	found, ok := collectors.Load(seenKey{ts})
	if neg || len(args) != 1 || !ok {
		ts.Fatalf("usage: sametraces RESULTS, after collector")
	}
	c, _ := found.(*telemetrytest.Collector)
	records := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var r result.Test
		ts.Check(json.Unmarshal([]byte(line), &r))
		if err := traced(c.Spans(), &r); err != nil {
			ts.Fatalf("test %s: %v", r.TestID, err)
		}
		records++
	}
	if roots := len(c.Find(trace.Conversation)); roots != records || records == 0 {
		ts.Fatalf("there are %d records and %d traces of conversations", records, roots)
	}
}

// traced says what of a record is not in the spans.
func traced(spans []telemetrytest.Span, r *result.Test) error {
	id, turns, linked := trace.ID(r.ConversationID), 0, false
	var root *telemetrytest.Span
	for i, s := range spans {
		if s.TraceID != id {
			continue
		}
		if s.Attributes[trace.ConversationID] != r.ConversationID || s.Attributes[trace.TestCaseID] != r.TestID ||
			s.Attributes[trace.RunID] != r.RunID {
			return fmt.Errorf("span %s has the ids %v", s.Name, s.Attributes)
		}
		switch s.Name {
		case trace.Conversation:
			root = &spans[i]
		case trace.Turn:
			turns++
		}
	}
	if root == nil || root.Parent != "" || root.Attributes[trace.Verdict] != string(r.Verdict) {
		return fmt.Errorf("its root is %+v", root)
	}
	for _, s := range spans {
		linked = linked || s.Name == trace.Run && s.Attributes[trace.RunID] == r.RunID &&
			slices.Equal(root.Links, []string{s.TraceID + "-" + s.ID})
	}
	if !linked || turns != len(r.Turns) {
		return fmt.Errorf("%d turns have %d spans, and the links are %v", len(r.Turns), turns, root.Links)
	}
	for _, t := range r.Turns {
		if t.TraceID != id {
			return fmt.Errorf("turn %d has the trace %s", t.Index, t.TraceID)
		}
	}
	return nil
}
