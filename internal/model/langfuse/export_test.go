package langfuse_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

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
			ID: "e1", Name: "nightly", Description: "all", Metadata: map[string]string{"model": "m"}, DatasetID: "ds",
			ItemID: "i1", ExpectedOutput: raw(`{"response":"yes"}`),
		},
		Spans: []langfuse.Span{
			{
				ID: "aaaaaaaaaaaaaaaa", ParentID: spanOne, Name: "answer", Kind: langfuse.KindGeneration, Start: moment,
				End: moment.Add(time.Millisecond), Input: raw(`[{"role":"user","content":"hi"}]`),
				Output: raw(`"hello \"you\""`), Model: "gpt-4.1", Failure: "no tokens left",
				Parameters: map[string]string{"temperature": "0"}, Usage: map[string]int{"input": 3, "output": 4},
				Cost: map[string]float64{"total": 0.5}, Metadata: map[string]string{"node": "writer"},
				Attributes: map[string]any{"b": true, "i": 7, "l": int64(8), "f": 0.5, "s": []string{"x"}, "e": ""},
			},
			{
				ID: spanOne, Name: "item", Start: moment, End: moment.Add(time.Second), Input: raw(`{"message":"hi"}`),
				Output: raw(`null`),
			},
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
			"service.name": "rehearse", "langfuse.environment": "experiment", "langfuse.trace.name": "turn",
			"langfuse.session.id": "s1", "langfuse.user.id": "u1", "langfuse.version": "v2",
			"langfuse.trace.tags": []string{"e2e", "nightly"}, "langfuse.trace.metadata.site": "hexa.com",
			"langfuse.experiment.id": "e1", "langfuse.experiment.name": "nightly",
			"langfuse.experiment.description": "all", "langfuse.experiment.metadata.model": "m",
			"langfuse.experiment.dataset.id": "ds", "langfuse.experiment.item.id": "i1",
			"langfuse.experiment.item.root_observation_id": spanOne,
		}
		maps.Copy(all, more)
		return all
	}
	want := []langfusetest.Span{
		{
			TraceID: traceOne, ID: "aaaaaaaaaaaaaaaa", ParentID: spanOne, Name: "answer", Start: moment,
			End: moment.Add(time.Millisecond), Failed: true,
			Attributes: shared(map[string]any{
				"langfuse.observation.type":          "generation",
				"langfuse.observation.input":         `[{"role":"user","content":"hi"}]`,
				"langfuse.observation.output":        `hello "you"`,
				"langfuse.observation.metadata.node": "writer", "langfuse.observation.level": "ERROR",
				"langfuse.observation.status_message": "no tokens left", "langfuse.observation.model.name": "gpt-4.1",
				"langfuse.observation.model.parameters": `{"temperature":"0"}`,
				"langfuse.observation.usage_details":    `{"input":3,"output":4}`,
				"langfuse.observation.cost_details":     `{"total":0.5}`, "b": true, "i": 7.0, "l": 8.0, "f": 0.5,
				"s": []string{"x"},
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
		`"XYZ" is no trace id`:          func(t *langfuse.Trace) { t.ID = "XYZ" },
		`is no trace id: it`:            func(t *langfuse.Trace) { t.ID = strings.Repeat("0", 32) },
		`is no span id`:                 func(t *langfuse.Trace) { t.Spans[0].ID = strings.ToUpper(spanOne) },
		`which is no span id`:           func(t *langfuse.Trace) { t.Spans[0].ParentID = "x" },
		`two spans have the id`:         func(t *langfuse.Trace) { t.Spans[0].ID = spanOne },
		`2 of its spans have no parent`: func(t *langfuse.Trace) { t.Spans[0].ParentID = "" },
		`0 of its spans have no parent`: func(t *langfuse.Trace) { t.Spans = nil },
		`has no name`:                   func(t *langfuse.Trace) { t.Spans[1].Name = "" },
		`the kind "llm"`:                func(t *langfuse.Trace) { t.Spans[1].Kind = "llm" },
		`ends before it`:                func(t *langfuse.Trace) { t.Spans[1].End = t.Spans[1].Start.Add(-1) },
		`has no start`:                  func(t *langfuse.Trace) { t.Spans[1].Start = time.Time{} },
		`its experiment has no dataset`: func(t *langfuse.Trace) { t.Experiment.DatasetID = "" },
		`observation.input is not JSON`: func(t *langfuse.Trace) { t.Spans[1].Input = raw(`{`) },
		`expected_output is not JSON`:   func(t *langfuse.Trace) { t.Experiment.ExpectedOutput = raw(`{`) },
		`"x" is not a finite number`: func(t *langfuse.Trace) {
			t.Spans[1].Attributes = map[string]any{"x": math.NaN()}
		},
		`"x" has the type chan int`: func(t *langfuse.Trace) {
			t.Spans[1].Attributes = map[string]any{"x": make(chan int)}
		},
		`cost_details cannot be written as`: func(t *langfuse.Trace) {
			t.Spans[1].Cost = map[string]float64{"x": math.Inf(1)}
		},
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
	return langfuse.Trace{ID: langfuse.TraceID(id), Spans: []langfuse.Span{{
		ID: langfuse.SpanID(id), Name: id, Start: moment, End: moment, Input: in,
	}}}
}

// TestBatches sends large traces in several requests, of which one is refused, with a trace between that cannot be
// sent.
func TestBatches(t *testing.T) {
	s, c := inside(t)
	traces := []langfuse.Trace{
		sized("a", 300_000), sized("b", 300_000), sized("c", 1_000_000), {ID: "bad"}, sized("d", 2_000_000),
		sized("e", 100), sized("f", 300),
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
		`{"message":"OK"}`: "", `{"successes":[{"id":"a"}],"errors":[]}`: "",
		`{"successes":[],"errors":[{"status":400,"message":"bad"}]}`: "1 of 2 spans were refused: bad",
		`{"partialSuccess":{"rejectedSpans":-1}}`:                    "-1 of 2 spans were refused",
		`{"partialSuccess":{"rejectedSpans":"x"}}`:                   "cannot be read", `[]`: "cannot be read",
		``: "the answer is not JSON", `<html>`: "the answer is not JSON", `{}`: "", `{"partialSuccess":{}}`: "",
		`{"partialSuccess":{"rejectedSpans":"0","errorMessage":"all is well"}}`: "", `{"partialSuccess":null}`: "",
		`{"partialSuccess":{"rejectedSpans":2,"errorMessage":"too\nold ` + langfusetest.SecretKey +
			`"}}`: "2 of 2 spans were refused: too old ***",
		`{"partialSuccess":{"rejectedSpans":"1"}}`: "1 of 2 " +
			"spans were refused: it gave no reason",
	} {
		err := answering(t, says(200, body)).Export(t.Context(), []langfuse.Trace{conversation()})
		if want != "" {
			wants(t, err, want)
		} else if err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	refused, err := proto.Marshal(&collector.ExportTraceServiceResponse{
		PartialSuccess: &collector.ExportTracePartialSuccess{
			RejectedSpans: 2, ErrorMessage: "too old " + langfusetest.SecretKey,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		"": "", string(refused): "2 of 2 spans were refused: too old ***", "{}": "the answer is not protobuf",
	} {
		err := answering(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			says(200, body)(w, r)
		}).Export(t.Context(), []langfuse.Trace{conversation()})
		if want != "" {
			wants(t, err, want)
		} else if err != nil {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// TestInvalidText sends texts that are not UTF-8, with which no protobuf can be written.
func TestInvalidText(t *testing.T) {
	s, c := inside(t)
	trace := conversation()
	trace.SessionID, trace.Spans[0].Name, trace.Spans[0].Failure = "s\xff", "n\xff", "f\xff"
	trace.Spans[0].Input, trace.Spans[0].Attributes = raw("[\"\xff\"]"), map[string]any{"k\xff": []string{"\xff"}}
	if err := c.Export(t.Context(), []langfuse.Trace{trace}); err != nil {
		t.Fatal(err)
	}
	got := s.Spans()[0]
	texts := fmt.Sprintln(got.Name, got.Attributes["langfuse.session.id"], got.Attributes["langfuse.observation.input"],
		got.Attributes["k\uFFFD"])
	if texts != "n\uFFFD s\uFFFD [\"\uFFFD\"] [\uFFFD]\n" {
		t.Error(texts)
	}
}

// TestBatchSize sends many small values, whose keys and lengths are most of a request.
func TestBatchSize(t *testing.T) {
	var traces []langfuse.Trace
	for n := range 200 {
		t := conversation()
		t.ID, t.Tags, t.Metadata = langfuse.TraceID(strconv.Itoa(n)), slices.Repeat([]string{"t"}, 300),
			map[string]string{}
		for m := range 300 {
			t.Metadata[strconv.Itoa(m)] = "v"
		}
		traces = append(traces, t)
	}
	requests := 0
	client := answering(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		if body, _ := io.ReadAll(r.Body); len(body) > 3<<20 || len(body) < 1<<20 && requests == 1 {
			t.Errorf("a request of %d bytes", len(body))
		}
		says(200, `{}`)(w, r)
	})
	if err := client.Export(t.Context(), traces); err != nil || requests < 2 {
		t.Errorf("%d requests, %v", requests, err)
	}
}

// TestExportRetry has requests for spans fail on their way. The variables of OpenTelemetry change nothing.
func TestExportRetry(t *testing.T) {
	for name, value := range map[string]string{
		"ENDPOINT": "http://collector.example:1", "HEADERS": "X-Other=secret", "COMPRESSION": "gzip",
		"PROTOCOL": "http/json", "TIMEOUT": "1", "CERTIFICATE": "absent.pem", "INSECURE": "nonsense",
	} {
		t.Setenv("OTEL_EXPORTER_OTLP_"+name, value)
	}
	for name, c := range map[string]struct {
		faults   []langfusetest.Fault
		requests int
		want     string
		least    time.Duration
	}{
		"asked to wait": {repeat(langfusetest.TooMany("7"), 1), 2, "", 7 * time.Second},
		"500":           {repeat(langfusetest.Broken(500), 2), 3, "", 750 * time.Millisecond},
		"cut off":       {repeat(langfusetest.Fault{Cut: true}, 1), 2, "", 250 * time.Millisecond},
		"too long":      {repeat(langfusetest.TooMany("3600"), 1), 1, "it asks to wait 1h0m0s", 0},
		"no answer": {
			repeat(langfusetest.Fault{Delay: time.Hour}, 9), 4,
			"send traces: no answer within 30s (4 attempts); check LANGFUSE_HOST", 2 * time.Minute,
		},
		"keys refused": {
			repeat(langfusetest.Broken(401), 1), 1, "check LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, client := inside(t)
			s.OnAnswer(func(r *http.Request) {
				if r.Header.Get("X-Other") != "" {
					t.Error("it has a header of another collector")
				}
			})
			s.Fail(c.faults...)
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := client.Export(t.Context(), []langfuse.Trace{conversation()})
				if c.want != "" {
					wants(t, err, c.want)
				} else if err != nil {
					t.Error(err)
				}
				if took := time.Since(start); took < c.least {
					t.Errorf("it took %s", took)
				}
			})
			if n := len(s.Requests()); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			if n := len(s.Spans()); c.want == "" && n != 2 || c.want != "" && n != 0 {
				t.Errorf("%d spans", n)
			}
		})
	}
	s, client := inside(t)
	s.Fail(langfusetest.TooMany("50"))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := client.Export(ctx, []langfuse.Trace{conversation(), sized("a", 4<<20)})
		wants(t, err, "send traces: context deadline exceeded")
		if got := fateOf(t, err); len(got.Done) != 0 || len(got.Rest) != 1 {
			t.Error(got)
		}
	})
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
		got := fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("X-Langfuse-Ingestion-Version"), " ",
			r.Header.Get("Content-Type"), " ", r.Header.Get("User-Agent"), " ", user, " ", password)
		if got != "POST /base/api/public/otel/v1/traces 4 application/x-protobuf rehearse "+langfusetest.PublicKey+" "+
			langfusetest.SecretKey {
			t.Error(got)
		}
		says(400, `{"error":"Failed to parse OTel Protobuf Trace"}`)(w, r)
	})
	err := client.Export(t.Context(), []langfuse.Trace{conversation()})
	if e, ok := errors.AsType[*langfuse.Error](err); !ok || e.Status != 400 {
		t.Error(err)
	}
	wants(t, err, "send traces: status 400: Failed to parse OTel Protobuf Trace")
}
