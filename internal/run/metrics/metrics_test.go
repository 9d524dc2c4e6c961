package metrics_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/run/metrics"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// runs is a state that does not change; err is what Jobs and Workers return.
type runs struct {
	waiting, running, workers, active int
	err                               error
}

func (r runs) Jobs(context.Context) (waiting, running int, err error) {
	return r.waiting, r.running, r.err
}
func (r runs) Workers(context.Context) (int, error) { return r.workers, r.err }
func (r runs) Active() int                          { return r.active }

// scrape returns all series by name and labels, as Prometheus reads them.
func scrape(t *testing.T, m *metrics.Metrics) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if got := w.Header().Get("Content-Type"); got != string(expfmt.NewFormat(expfmt.TypeTextPlain)) &&
		!strings.HasPrefix(got, "text/plain; version=0.0.4") {
		t.Errorf("the media type is %s", got)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatalf("Prometheus cannot read the page: %v", err)
	}
	all := map[string]float64{}
	for name, f := range families {
		if f.GetHelp() == "" {
			t.Errorf("%s has no help", name)
		}
		if counter := f.GetType() == dto.MetricType_COUNTER; counter != strings.HasSuffix(name, "_total") {
			t.Errorf("%s is a %v", name, f.GetType())
		}
		for _, one := range f.GetMetric() {
			key := name
			for _, l := range one.GetLabel() {
				key += " " + l.GetName() + "=" + l.GetValue()
			}
			switch f.GetType() {
			case dto.MetricType_COUNTER:
				all[key] = one.GetCounter().GetValue()
			case dto.MetricType_GAUGE:
				all[key] = one.GetGauge().GetValue()
			case dto.MetricType_HISTOGRAM:
				all[key+" count"], all[key+" sum"] = float64(one.GetHistogram().GetSampleCount()),
					one.GetHistogram().GetSampleSum()
				for _, b := range one.GetHistogram().GetBucket() {
					if b.GetUpperBound() == 0.1 {
						all[key+" 0.1"] = float64(b.GetCumulativeCount())
					}
					if math.IsInf(b.GetUpperBound(), 1) &&
						b.GetCumulativeCount() != one.GetHistogram().GetSampleCount() {
						t.Errorf("%s: the last bucket has %d of %d", key, b.GetCumulativeCount(),
							one.GetHistogram().GetSampleCount())
					}
				}
			}
		}
	}
	return all
}

// holds checks some series; NaN stands for one that must be absent.
func holds(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for key, n := range want {
		v, ok := got[key]
		if math.IsNaN(n) {
			if ok {
				t.Errorf("%s is there, with %v", key, v)
			}
			continue
		}
		if !ok || v != n {
			t.Errorf("%s is %v (%v), want %v", key, v, ok, n)
		}
	}
}

var absent = math.NaN()

func TestStored(t *testing.T) {
	m := metrics.New("1.2.3", "abc")
	m.Lead(runs{})
	unknown := chat.Usage{InputTokens: 7, Unknown: true}
	for _, one := range []*result.Test{
		{
			Verdict: result.Pass, Turns: []result.Turn{{Cost: chat.Cost{USD: 0.25}}, {Cost: chat.Cost{USD: 0.25}}, {}},
			Usage: chat.Usage{InputTokens: 10, OutputTokens: 2}, Cost: chat.Cost{USD: 2}, Judge: result.JudgeUse{
				Calls: 2, CacheHits: 1, Usage: chat.Usage{InputTokens: 100, OutputTokens: 20},
				Cost: chat.Cost{Unknown: true},
			},
			Attempts: []result.Attempt{{N: 1, Code: result.WorkerLost}, {N: 2, Code: result.EngineError}, {N: 3}},
		},
		{
			Verdict: result.Error, Turns: []result.Turn{{Cost: chat.Cost{USD: 9, Unknown: true}}}, Usage: unknown,
			Cost: chat.Cost{USD: 9, Unknown: true}, Failures: []result.Failure{
				{Code: result.EngineError},
				{Code: result.EngineError},
				{Code: "NO_SUCH\"CODE\n"},
			},
			User: &result.User{Usage: chat.Usage{OutputTokens: 4}, Cost: chat.Cost{USD: 0.25}},
		},
		{Verdict: result.Skip},
		{Verdict: "splendid", Usage: chat.Usage{InputTokens: -5}},
		// The summary of two trials.
		{
			Verdict: result.Fail, Turns: make([]result.Turn, 9), Trials: &result.Trials{Count: 2},
			Failures: []result.Failure{{Code: result.Flaky}},
		},
	} {
		m.Stored(one)
	}
	m.Ending()("completed")
	m.Ending()("splendid")
	m.Ending()("")
	holds(t, scrape(t, m), map[string]float64{
		"rehearse_conversations_total verdict=pass": 1, "rehearse_conversations_total verdict=fail": 0,
		"rehearse_conversations_total verdict=error": 1, "rehearse_conversations_total verdict=skip": 1,
		"rehearse_conversations_total verdict=other": 1, "rehearse_turns_total": 4,
		"rehearse_judge_calls_total": 2, "rehearse_judge_cache_hits_total": 1,
		"rehearse_attempts_total outcome=ok": 3, "rehearse_attempts_total outcome=WORKER_LOST": 1,
		"rehearse_attempts_total outcome=ENGINE_ERROR": 1, "rehearse_attempts_total outcome=TIMEOUT": 0,
		"rehearse_failures_total code=ENGINE_ERROR": 2, "rehearse_failures_total code=other": 1,
		"rehearse_failures_total code=FLAKY": 0, "rehearse_tokens_total direction=input role=target": 10,
		"rehearse_tokens_total direction=output role=target": 2,
		"rehearse_tokens_total direction=input role=judge":   100,
		"rehearse_tokens_total direction=output role=user":   4, "rehearse_cost_usd_total role=target": 0.5,
		"rehearse_cost_usd_total role=user": 0.25, "rehearse_runs_total status=completed": 1,
		"rehearse_runs_total status=other": 1, "rehearse_runs_total status=failed": 0,
		"rehearse_build_info commit=abc version=1.2.3": 1,
	})
}

// TestUnknownIsAbsent holds that what is not known has no series, not even one of 0.
func TestUnknownIsAbsent(t *testing.T) {
	m := metrics.New("1", "")
	holds(t, scrape(t, m), map[string]float64{
		"rehearse_runs_active": absent, "rehearse_turns_total": absent, "rehearse_build_info commit= version=1": 1,
	})
	m.Lead(runs{active: 3, err: errors.New("NATS is away")})
	m.Stored(&result.Test{
		Verdict: result.Pass, Turns: []result.Turn{{Cost: chat.Cost{Unknown: true}}}, Usage: chat.Usage{Unknown: true},
		Cost: chat.Cost{Unknown: true},
	})
	holds(t, scrape(t, m), map[string]float64{
		"rehearse_queue_jobs state=waiting": absent, "rehearse_workers": absent, "rehearse_runs_active": 3,
		"rehearse_tokens_total direction=input role=target": absent, "rehearse_cost_usd_total role=target": absent,
		"rehearse_cost_usd_total role=user": absent,
	})
}

func TestState(t *testing.T) {
	m := metrics.New("1", "")
	m.Lead(runs{waiting: 5, running: 2, workers: 3, active: 1})
	holds(t, scrape(t, m), map[string]float64{
		"rehearse_queue_jobs state=waiting": 5, "rehearse_queue_jobs state=running": 2, "rehearse_workers": 3,
		"rehearse_runs_active": 1,
	})
}

// TestEnding holds that who has seen the end of a run finds it counted, and that a store that is away keeps nobody from
// scraping.
func TestEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New("1", "")
		m.Lead(runs{})
		ended := m.Ending()
		go func() {
			time.Sleep(100 * time.Millisecond)
			ended("failed")
		}()
		holds(t, scrape(t, m), map[string]float64{"rehearse_runs_total status=failed": 1})
		ended = m.Ending()
		began := time.Now()
		holds(t, scrape(t, m), map[string]float64{"rehearse_runs_total status=failed": 1})
		if took := time.Since(began); took > time.Second {
			t.Errorf("the scrape took %s", took)
		}
		ended("failed")
		holds(t, scrape(t, m), map[string]float64{"rehearse_runs_total status=failed": 2})
	})
}

func TestCalls(t *testing.T) {
	m := metrics.New("1", "")
	m.Target("openai", 100*time.Millisecond)
	m.Target("openai", 3*time.Minute)
	m.Target("http", -time.Second)
	m.Target("\xff", time.Second) // invalid UTF-8
	m.Judge("scripted", time.Millisecond)
	holds(t, scrape(t, m), map[string]float64{
		"rehearse_target_seconds provider=openai count": 2, "rehearse_target_seconds provider=openai 0.1": 1,
		"rehearse_target_seconds provider=openai sum": 180.1, "rehearse_target_seconds provider=\uFFFD count": 1,
		"rehearse_target_seconds provider=http sum": 0, "rehearse_judge_seconds provider=scripted count": 1,
		"rehearse_judge_seconds provider=openai count": absent,
	})
}

func TestAnswered(t *testing.T) {
	m := metrics.New("1", "")
	m.Answered("/api/v1/runs/{run_id}", "GET", 200, time.Second)
	m.Answered("", "BREW", 0, time.Second)
	m.Answered("", "get", 99999, time.Second)
	holds(t, scrape(t, m), map[string]float64{
		"rehearse_http_requests_total method=GET route=/api/v1/runs/{run_id} status=200": 1,
		"rehearse_http_requests_total method=other route=other status=other":             2,
		"rehearse_http_seconds method=other route=other status=other count":              2,
	})
}

// TestProcess checks that every process has the figures of the Go runtime and of itself.
func TestProcess(t *testing.T) {
	got := scrape(t, metrics.New("1", ""))
	for _, name := range []string{"go_goroutines", "process_start_time_seconds", "process_resident_memory_bytes"} {
		if !(got[name] > 0) {
			t.Errorf("%s is %v", name, got[name])
		}
	}
}

// TestNil holds that nothing is counted where nobody wants to know.
func TestNil(*testing.T) {
	var m *metrics.Metrics
	m.Lead(runs{})
	m.Stored(&result.Test{})
	m.Ending()("completed")
	m.Target("openai", 1)
	m.Judge("openai", 1)
	m.Answered("/", "GET", 200, 1)
}

// TestAtOnce holds that metrics are counted and read at the same time.
func TestAtOnce(t *testing.T) {
	m := metrics.New("1", "")
	m.Lead(runs{})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				m.Stored(&result.Test{Verdict: result.Pass})
				m.Target("openai", time.Millisecond)
				m.Answered("/", "GET", 200, 1)
			}
		})
		group.Go(func() {
			for range 20 {
				scrape(t, m)
			}
		})
	}
	group.Wait()
	holds(t, scrape(t, m), map[string]float64{
		"rehearse_conversations_total verdict=pass": 1600, "rehearse_target_seconds provider=openai count": 1600,
		"rehearse_http_requests_total method=GET route=/ status=200": 1600,
	})
}
