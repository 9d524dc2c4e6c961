package metrics

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// State is what a server knows of the runs that are under way. Jobs and Workers may ask NATS.
type State interface {
	// Jobs returns how many jobs of all runs wait, and how many are held.
	Jobs(ctx context.Context) (waiting, running int, err error)
	// Workers returns how many processes hold conversations.
	Workers(ctx context.Context) (int, error)
	// Active returns how many runs are led here.
	Active() int
}

// fleetGauges are the metrics of a process that leads runs.
type fleetGauges struct {
	// handler answers with these metrics and those that every process has.
	handler                                        http.Handler
	runs, conversations, turns, attempts, failures *prometheus.CounterVec
	judgeCalls, judgeHits, tokens, cost            *prometheus.CounterVec
	jobs, workers, active                          *prometheus.Desc
	state                                          State

	mu sync.Mutex
	// ending are the runs whose end is being kept; each channel is closed when it is.
	ending map[chan struct{}]bool

	looking sync.Mutex
	known   fleet
	read    time.Time // when known was
}

// fleet is a reading of a State. What could not be read is nil.
type fleet struct{ waiting, running, workers *int }

// statuses are the words of rehearse_runs_total, how a run can end.
var statuses = []string{"completed", "failed", "cancelled", "partial"}

var (
	verdicts = result.Verdicts
	outcomes = []result.Code{held, result.EngineError, result.Timeout, result.WorkerLost}
)

// held is the outcome of the attempt that counts.
const held result.Code = "ok"

// Lead adds the metrics of a process that leads runs.
func (m *Metrics) Lead(state State) {
	if m == nil {
		return
	}
	registry := prometheus.NewRegistry()
	of := promauto.With(registry)
	l := &fleetGauges{
		handler: promhttp.HandlerFor(prometheus.Gatherers{m.registry, registry}, promhttp.HandlerOpts{}),
		state:   state, ending: map[chan struct{}]bool{},
		jobs: prometheus.NewDesc("rehearse_queue_jobs",
			"Jobs of the runs of all servers: those that wait for a worker, and those that workers have.",
			[]string{"state"}, nil),
		workers: prometheus.NewDesc("rehearse_workers", "Processes that hold conversations.", nil, nil),
		active: prometheus.NewDesc("rehearse_runs_active",
			"Runs that are under way under the lead of this server.", nil, nil),
		runs: newCounters(of, "rehearse_runs_total", "Runs that ended under the lead of this server.", "status"),
		conversations: newCounters(of, "rehearse_conversations_total",
			"Results that this server stored; each is counted once, and of a test with trials each trial.", "verdict"),
		turns: newCounters(of, "rehearse_turns_total", "Turns of these results."),
		attempts: newCounters(of, "rehearse_attempts_total",
			"How often the conversations of these results were held, and what came of it: ok is the one that counts, "+
				"whatever its verdict.",
			"outcome"),
		failures:   newCounters(of, "rehearse_failures_total", "Failures of these results.", "code"),
		judgeCalls: newCounters(of, "rehearse_judge_calls_total", "Calls of judges for these results."),
		judgeHits: newCounters(of, "rehearse_judge_cache_hits_total",
			"Verdicts of these results that were remembered."),
		tokens: newCounters(of, "rehearse_tokens_total",
			"Tokens of these results. A result that does not know how many it took is left out.", "role", "direction"),
		cost: newCounters(of, "rehearse_cost_usd_total",
			"Cost of these results in US dollars. A result that does not know its cost is left out, "+
				"so that the true cost may be higher.",
			"role"),
	}
	for _, total := range []*prometheus.CounterVec{l.turns, l.judgeCalls, l.judgeHits} {
		total.WithLabelValues()
	}
	begin(l.runs, statuses)
	begin(l.conversations, verdicts)
	begin(l.attempts, outcomes)
	begin(l.failures, result.Codes)
	registry.MustRegister(l)
	m.fleetGauges.Store(l)
}

// begin starts a series at 0 for each word.
func begin[W ~string](series *prometheus.CounterVec, words []W) {
	for _, w := range words {
		series.WithLabelValues(string(w))
	}
}

// Ending says that the end of a run is being kept. Whoever has seen the end must find it counted, so that a scrape
// waits for ended: a moment, since the store may be away. Call ended once, with the status of the run, or with "" of
// one whose end was not kept here.
func (m *Metrics) Ending() (ended func(status string)) {
	l := m.leading()
	if l == nil {
		return func(string) {}
	}
	kept := make(chan struct{})
	l.mu.Lock()
	l.ending[kept] = true
	l.mu.Unlock()
	return func(status string) {
		if status != "" {
			add(l.runs, 1, known(status, statuses))
		}
		l.mu.Lock()
		delete(l.ending, kept)
		l.mu.Unlock()
		close(kept)
	}
}

// moment is how long a scrape waits for runs that are ending.
const moment = 250 * time.Millisecond

func (l *fleetGauges) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, moment)
	defer cancel()
	l.mu.Lock()
	ending := slices.Collect(maps.Keys(l.ending))
	l.mu.Unlock()
	for _, kept := range ending {
		select {
		case <-kept:
		case <-ctx.Done():
			return
		}
	}
}

func (m *Metrics) leading() *fleetGauges {
	if m == nil {
		return nil
	}
	return m.fleetGauges.Load()
}

// Stored counts a result that was stored under the lead of this process. Call it once for each. The summary of a test's
// trials is not counted.
func (m *Metrics) Stored(t *result.Test) {
	l := m.leading()
	if l == nil || t.Trials != nil {
		return
	}
	add(l.conversations, 1, known(t.Verdict, verdicts))
	add(l.turns, float64(len(t.Turns)))
	for _, a := range t.Attempts {
		add(l.attempts, 1, known(cmp.Or(a.Code, held), outcomes))
	}
	if len(t.Attempts) == 0 && t.Ran() { // it was held once
		add(l.attempts, 1, string(held))
	}
	for _, f := range t.Failures {
		add(l.failures, 1, known(f.Code, result.Codes))
	}
	add(l.judgeCalls, float64(t.Judge.Calls))
	add(l.judgeHits, float64(t.Judge.CacheHits))
	target := chat.Cost{} // the cost of the whole has the judge's in it
	for _, turn := range t.Turns {
		target = target.Add(turn.Cost)
	}
	l.spent("target", t.Usage, target)
	l.spent("judge", t.Judge.Usage, t.Judge.Cost)
	if t.User != nil {
		l.spent("user", t.User.Usage, t.User.Cost)
	}
}

// spent counts tokens and cost, if they are known.
func (l *fleetGauges) spent(role string, u chat.Usage, c chat.Cost) {
	if !u.Unknown {
		add(l.tokens, float64(u.InputTokens), role, "input")
		add(l.tokens, float64(u.OutputTokens), role, "output")
	}
	if !c.Unknown {
		add(l.cost, c.USD, role)
	}
}

// Describe implements prometheus.Collector.
func (l *fleetGauges) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- l.jobs
	descriptions <- l.workers
	descriptions <- l.active
}

// Collect implements prometheus.Collector. What the state does not know is left out.
func (l *fleetGauges) Collect(metrics chan<- prometheus.Metric) {
	gauge := func(of *prometheus.Desc, n int, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, float64(n), labels...)
	}
	now := l.look()
	if now.waiting != nil && now.running != nil {
		gauge(l.jobs, *now.running, "running")
		gauge(l.jobs, *now.waiting, "waiting")
	}
	if now.workers != nil {
		gauge(l.workers, *now.workers)
	}
	gauge(l.active, l.state.Active())
}

// A reading of the state counts for fresh, and takes lookTime at most.
const (
	fresh    = time.Second
	lookTime = 2 * time.Second
)

// look reads the state, at most once in fresh.
func (l *fleetGauges) look() fleet {
	l.looking.Lock()
	defer l.looking.Unlock()
	if time.Since(l.read) < fresh {
		return l.known
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	l.known = fleet{}
	if waiting, running, err := l.state.Jobs(ctx); err == nil {
		l.known.waiting, l.known.running = &waiting, &running
	}
	if workers, err := l.state.Workers(ctx); err == nil {
		l.known.workers = &workers
	}
	l.read = time.Now()
	return l.known
}
