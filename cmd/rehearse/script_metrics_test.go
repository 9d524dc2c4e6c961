package main

import (
	"bufio"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/rogpeppe/go-internal/testscript"
)

// tallied compares what servers and workers have counted with records: their scrapes, added up, must say what the
// records say, and nothing else.
func tallied(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: tallied RESULTS SCRAPE…")
	}
	got := map[string]float64{}
	for _, file := range args[1:] {
		addScrape(ts, got, ts.ReadFile(file))
	}
	want := sumOf(ts, ts.ReadFile(args[0]))
	for series, n := range want {
		if v, ok := got[series]; !ok || math.Abs(v-n) > tolerance(series) {
			ts.Logf("%s is %v, and the records say %v", series, v, n)
			neg = true
		}
	}
	for series, v := range got {
		if _, ok := want[series]; !ok && (v != 0 || unknownable(series)) {
			ts.Logf("%s is %v, of which the records say nothing", series, v)
			neg = true
		}
	}
	if neg {
		ts.Fatalf("the metrics are not what the records say")
	}
}

// tolerance is how much a sum may differ: that of times by what passes between two looks at the clock, which may be
// much on a busy machine.
func tolerance(series string) float64 {
	if strings.HasSuffix(series, " sum") {
		return 5
	}
	return 1e-9
}

// unknownable reports whether a series must be absent where nothing is known, and not 0.
func unknownable(series string) bool {
	return strings.HasPrefix(series, "rehearse_tokens") || strings.HasPrefix(series, "rehearse_cost")
}

// ofRecords are the metrics that records decide. Times are added up over all providers.
var ofRecords = map[string]bool{
	"rehearse_conversations_total": true, "rehearse_turns_total": true, "rehearse_attempts_total": true,
	"rehearse_failures_total": true, "rehearse_judge_calls_total": true, "rehearse_judge_cache_hits_total": true,
	"rehearse_tokens_total": true, "rehearse_cost_usd_total": true, "rehearse_target_seconds": true,
	"rehearse_judge_seconds": true,
}

func addScrape(ts *testscript.TestScript, sum map[string]float64, page string) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	ts.Check(err)
	for name, f := range families {
		if !ofRecords[name] {
			continue
		}
		for _, one := range f.GetMetric() {
			if f.GetType() == dto.MetricType_HISTOGRAM {
				sum[name+" count"] += float64(one.GetHistogram().GetSampleCount())
				if name == "rehearse_target_seconds" { // no record has the time of a judge's call
					sum[name+" sum"] += one.GetHistogram().GetSampleSum()
				}
				continue
			}
			series := name
			for _, l := range one.GetLabel() {
				series += " " + l.GetValue()
			}
			sum[series] += one.GetCounter().GetValue()
		}
	}
}

// spentRecord is what a part of a record says of tokens and cost; nil is not known.
type spentRecord struct {
	Usage *struct {
		Input  float64 `json:"input_tokens"`
		Output float64 `json:"output_tokens"`
	} `json:"usage"`
	Cost *float64 `json:"cost_usd"`
}

// sumOf adds up records by what the wire says, without the types of the program.
func sumOf(ts *testscript.TestScript, results string) map[string]float64 {
	sum := map[string]float64{}
	spent := func(role string, s spentRecord) {
		if s.Usage != nil {
			sum["rehearse_tokens_total input "+role] += s.Usage.Input
			sum["rehearse_tokens_total output "+role] += s.Usage.Output
		}
		if s.Cost != nil {
			sum["rehearse_cost_usd_total "+role] += *s.Cost
		}
	}
	lines := bufio.NewScanner(strings.NewReader(results))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r struct {
			spentRecord
			Verdict string            `json:"verdict"`
			Trials  json.RawMessage   `json:"trials"`
			Turns   []json.RawMessage `json:"turns"`
			Judge   struct {
				spentRecord
				Calls float64 `json:"calls"`
				Hits  float64 `json:"cache_hits"`
			} `json:"judge"`
			User     *spentRecord            `json:"user"`
			Attempts []struct{ Code string } `json:"attempts"`
			Failures []struct{ Code string } `json:"failures"`
		}
		ts.Check(json.Unmarshal(lines.Bytes(), &r))
		if r.Trials != nil { // the summary of trials
			continue
		}
		sum["rehearse_conversations_total "+r.Verdict]++
		cost := new(float64) // that of the record has the judge's in it
		for _, turn := range r.Turns {
			var t struct {
				LatencyMS float64  `json:"latency_ms"`
				Cost      *float64 `json:"cost_usd"`
			}
			ts.Check(json.Unmarshal(turn, &t))
			if t.Cost == nil || cost == nil {
				cost = nil
			} else {
				*cost += *t.Cost
			}
			sum["rehearse_turns_total"]++
			sum["rehearse_target_seconds count"]++
			sum["rehearse_target_seconds sum"] += t.LatencyMS / 1000
		}
		if r.Attempts == nil && r.Verdict != "skip" {
			sum["rehearse_attempts_total ok"]++
		}
		for _, a := range r.Attempts {
			if a.Code == "" {
				a.Code = "ok"
			}
			sum["rehearse_attempts_total "+a.Code]++
		}
		for _, f := range r.Failures {
			sum["rehearse_failures_total "+f.Code]++
		}
		sum["rehearse_judge_calls_total"] += r.Judge.Calls
		sum["rehearse_judge_cache_hits_total"] += r.Judge.Hits
		sum["rehearse_judge_seconds count"] += r.Judge.Calls
		spent("target", spentRecord{r.Usage, cost})
		spent("judge", r.Judge.spentRecord)
		if r.User != nil {
			spent("user", *r.User)
		}
	}
	ts.Check(lines.Err())
	return sum
}

// loggedLines holds that each line of a log is JSON, and that so many of those about a run have an id.
func loggedLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: loggedlines FILE KEY NUMBER")
	}
	with := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if strings.HasPrefix(line, "finishing what is in flight") { // for people
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			ts.Fatalf("the line is no JSON: %s", line)
		}
		id, there := fields[args[1]]
		if there && id == "" {
			ts.Fatalf("the line has an empty %s: %s", args[1], line)
		}
		if there {
			with++
		}
	}
	if strconv.Itoa(with) != args[2] {
		ts.Fatalf("%d lines of %s have %s", with, args[0], args[1])
	}
}
