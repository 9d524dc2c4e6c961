package langfuse_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

var moment = time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC)

const (
	traceOne = "0123456789abcdef0123456789abcdef"
	spanOne  = "0123456789abcdef"
)

// conversation is a trace with everything.
func conversation() langfuse.Trace {
	return langfuse.Trace{
		ID: traceOne, Name: "turn", SessionID: "s1", UserID: "u1", Version: "v2", Tags: []string{"e2e", "nightly"},
		Metadata: map[string]string{"site": "hexa.com"},
		Experiment: &langfuse.Experiment{
			ID: "e1", Name: "nightly", Description: "all", Metadata: map[string]string{"model": "m"}, DatasetID: "ds", ItemID: "i1",
			ExpectedOutput: raw(`{"response":"yes"}`),
		},
		Spans: []langfuse.Span{
			{
				ID: "aaaaaaaaaaaaaaaa", ParentID: spanOne, Name: "answer", Kind: langfuse.KindGeneration, Start: moment, End: moment.Add(time.Millisecond),
				Input: raw(`[{"role":"user","content":"hi"}]`), Output: raw(`"hello \"you\""`), Model: "gpt-4.1", Failure: "no tokens left",
				Parameters: map[string]string{"temperature": "0"}, Usage: map[string]int{"input": 3, "output": 4}, Cost: map[string]float64{"total": 0.5},
				Metadata: map[string]string{"node": "writer"}, Attributes: map[string]any{"b": true, "i": 7, "l": int64(8), "f": 0.5, "s": []string{"x"}, "e": ""},
			},
			{ID: spanOne, Name: "item", Start: moment, End: moment.Add(time.Second), Input: raw(`{"message":"hi"}`), Output: raw(`null`)},
		},
	}
}

func TestExport(t *testing.T) {
	s := langfusetest.New(t)
	c := connect(t, s, s.Transport(), langfuse.Config{Environment: "experiment"})
	if err := c.Export(t.Context(), []langfuse.Trace{conversation(), conversation()}); err == nil {
		t.Error("a trace is taken twice")
	}
	if err := c.Export(t.Context(), []langfuse.Trace{conversation()}); err != nil {
		t.Fatal(err)
	}
	shared := func(more map[string]any) map[string]any {
		all := map[string]any{
			"service.name": "rehearse", "langfuse.environment": "experiment", "langfuse.trace.name": "turn", "langfuse.session.id": "s1",
			"langfuse.user.id": "u1", "langfuse.version": "v2", "langfuse.trace.tags": []string{"e2e", "nightly"},
			"langfuse.trace.metadata.site": "hexa.com", "langfuse.experiment.id": "e1", "langfuse.experiment.name": "nightly",
			"langfuse.experiment.description": "all", "langfuse.experiment.metadata.model": "m", "langfuse.experiment.dataset.id": "ds",
			"langfuse.experiment.item.id": "i1", "langfuse.experiment.item.root_observation_id": spanOne,
		}
		maps.Copy(all, more)
		return all
	}
	want := []langfusetest.Span{
		{
			TraceID: traceOne, ID: "aaaaaaaaaaaaaaaa", ParentID: spanOne, Name: "answer", Start: moment, End: moment.Add(time.Millisecond), Failed: true,
			Attributes: shared(map[string]any{
				"langfuse.observation.type": "generation", "langfuse.observation.input": `[{"role":"user","content":"hi"}]`,
				"langfuse.observation.output": `hello "you"`, "langfuse.observation.metadata.node": "writer", "langfuse.observation.level": "ERROR",
				"langfuse.observation.status_message": "no tokens left", "langfuse.observation.model.name": "gpt-4.1",
				"langfuse.observation.model.parameters": `{"temperature":"0"}`, "langfuse.observation.usage_details": `{"input":3,"output":4}`,
				"langfuse.observation.cost_details": `{"total":0.5}`, "b": true, "i": 7.0, "l": 8.0, "f": 0.5, "s": []string{"x"},
			}),
		},
		{
			TraceID: traceOne, ID: spanOne, Name: "item", Start: moment, End: moment.Add(time.Second),
			Attributes: shared(map[string]any{
				"langfuse.observation.input": `{"message":"hi"}`, "langfuse.trace.input": `{"message":"hi"}`,
				"langfuse.experiment.item.expected_output": `{"response":"yes"}`,
			}),
		},
	}
	if d := cmp.Diff(want, s.Spans()); d != "" {
		t.Error(d)
	}
}

func TestExportRefuses(t *testing.T) {
	s, c := inside(t)
	for want, change := range map[string]func(*langfuse.Trace){
		`"XYZ" is no trace id`:              func(t *langfuse.Trace) { t.ID = "XYZ" },
		`is no trace id: it`:                func(t *langfuse.Trace) { t.ID = strings.Repeat("0", 32) },
		`is no span id`:                     func(t *langfuse.Trace) { t.Spans[0].ID = strings.ToUpper(spanOne) },
		`which is no span id`:               func(t *langfuse.Trace) { t.Spans[0].ParentID = "x" },
		`two spans have the id`:             func(t *langfuse.Trace) { t.Spans[0].ID = spanOne },
		`2 of its spans have no parent`:     func(t *langfuse.Trace) { t.Spans[0].ParentID = "" },
		`0 of its spans have no parent`:     func(t *langfuse.Trace) { t.Spans = nil },
		`has no name`:                       func(t *langfuse.Trace) { t.Spans[1].Name = "" },
		`the kind "llm"`:                    func(t *langfuse.Trace) { t.Spans[1].Kind = "llm" },
		`ends before it`:                    func(t *langfuse.Trace) { t.Spans[1].End = t.Spans[1].Start.Add(-1) },
		`has no start`:                      func(t *langfuse.Trace) { t.Spans[1].Start = time.Time{} },
		`its experiment has no dataset`:     func(t *langfuse.Trace) { t.Experiment.DatasetID = "" },
		`observation.input is not JSON`:     func(t *langfuse.Trace) { t.Spans[1].Input = raw(`{`) },
		`expected_output is not JSON`:       func(t *langfuse.Trace) { t.Experiment.ExpectedOutput = raw(`{`) },
		`"x" is not a finite number`:        func(t *langfuse.Trace) { t.Spans[1].Attributes = map[string]any{"x": math.NaN()} },
		`"x" has the type chan int`:         func(t *langfuse.Trace) { t.Spans[1].Attributes = map[string]any{"x": make(chan int)} },
		`cost_details cannot be written as`: func(t *langfuse.Trace) { t.Spans[1].Cost = map[string]float64{"x": math.Inf(1)} },
	} {
		trace := conversation()
		change(&trace)
		err := c.Export(t.Context(), []langfuse.Trace{trace})
		wants(t, err, want)
		wants(t, err, "1 of 1 traces failed: ")
	}
	if n := len(s.Requests()); n > 0 {
		t.Errorf("%d requests", n)
	}
}

// sized is a trace whose input has so many bytes.
func sized(id string, bytes int) langfuse.Trace {
	in, _ := json.Marshal(strings.Repeat("x", bytes))
	return langfuse.Trace{ID: langfuse.TraceID(id), Spans: []langfuse.Span{{ID: langfuse.SpanID(id), Name: id, Start: moment, End: moment, Input: in}}}
}

// TestBatches sends large traces in several requests, of which one is refused, with a trace between that cannot be sent.
func TestBatches(t *testing.T) {
	s, c := inside(t)
	traces := []langfuse.Trace{
		sized("a", 300_000), sized("b", 300_000), sized("c", 1_000_000), {ID: "bad"}, sized("d", 2_000_000), sized("e", 100), sized("f", 300),
	}
	s.Fail(langfusetest.Fault{}, langfusetest.Broken(400))
	ids := func(names ...string) (list []string) {
		for _, n := range names {
			list = append(list, langfuse.TraceID(n))
		}
		return list
	}
	err := c.Export(t.Context(), traces)
	// The input is there twice: as that of the span and as that of the trace.
	want := fate{Done: append(ids("a", "b"), ids("d", "e", "f")...), Failed: append(ids("c"), "bad")}
	if d := cmp.Diff(want, fateOf(t, err)); d != "" {
		t.Error(d)
	}
	if n := len(s.Requests()); n != 4 || len(s.Spans()) != 5 {
		t.Errorf("%d requests, %d spans", n, len(s.Spans()))
	}
}

func TestPartialSuccess(t *testing.T) {
	for body, want := range map[string]string{
		`{}`: "", `{"partialSuccess":{}}`: "", `{"partialSuccess":{"rejectedSpans":"0","errorMessage":"all is well"}}`: "", `{"partialSuccess":null}`: "",
		`{"partialSuccess":{"rejectedSpans":2,"errorMessage":"too\nold ` + langfusetest.SecretKey + `"}}`: "some spans were refused: too old ***",
		`{"partialSuccess":{"rejectedSpans":"1"}}`:                                                        "some spans were refused: it gave no reason",
	} {
		err := answering(t, says(200, body)).Export(t.Context(), []langfuse.Trace{conversation()})
		if want != "" {
			wants(t, err, want)
		} else if err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestIDs holds the ids: they must not change, or what is sent again would be there twice.
func TestIDs(t *testing.T) {
	if got := langfuse.TraceID("run", "item"); got != "b7ae56ac96f925bf6b7e8afe88c4f1d0" {
		t.Error(got)
	}
	if got := langfuse.SpanID("run", "item"); got != "e06939912762cb57" {
		t.Error(got)
	}
	seen := map[string]bool{}
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"", "ab"}, {"b", "a"}} {
		seen[langfuse.TraceID(parts...)] = true
	}
	if len(seen) != 7 {
		t.Errorf("%d ids of 7 lists", len(seen))
	}
}

// TestRealTime wants the header without which Langfuse 4 shows spans late.
func TestRealTime(t *testing.T) {
	client := answering(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		got := fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("X-Langfuse-Ingestion-Version"), " ", r.Header.Get("Content-Type"), " ", user, " ", password)
		if got != "POST /base/api/public/otel/v1/traces 4 application/json "+langfusetest.PublicKey+" "+langfusetest.SecretKey {
			t.Error(got)
		}
		says(400, `{"error":"Failed to parse OTel JSON Trace"}`)(w, r)
	})
	err := client.Export(t.Context(), []langfuse.Trace{conversation()})
	if e, ok := errors.AsType[*langfuse.Error](err); !ok || e.Status != 400 {
		t.Error(err)
	}
	wants(t, err, "send traces: status 400: Failed to parse OTel JSON Trace")
}
