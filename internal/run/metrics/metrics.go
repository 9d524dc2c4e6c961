// Package metrics counts what a process does, for Prometheus. The list of metrics is closed, apart from those of the Go
// runtime and the process, and no label has a name from a suite.
package metrics

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// other is the value of a label that is none of those that the program knows.
const other = "other"

// Metrics are the metrics of a process: those that every process has, and those of a server once Lead was called. They
// start at 0 with the process. They are safe for concurrent use. Nil counts nothing. Use New.
type Metrics struct {
	registry                 *prometheus.Registry
	handler                  http.Handler
	calls, judgings, answers *prometheus.HistogramVec
	requests                 *prometheus.CounterVec
	// fleetGauges is nil until Lead is called.
	fleetGauges atomic.Pointer[fleetGauges]
}

// New returns the metrics of a process, which has a version and was built from a commit.
func New(version, commit string) *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	of := promauto.With(registry)
	of.NewGaugeVec(prometheus.GaugeOpts{
		Name: "rehearse_build_info", Help: "The version of the program, and the commit that it was built from.",
	}, []string{"version", "commit"}).WithLabelValues(version, commit).Set(1)
	return &Metrics{
		registry: registry, handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		calls: newHistograms(of, "rehearse_target_seconds",
			"Time of the turns of targets that this process asked, those that failed too, "+
				"by the provider of a model, or by the kind of any other target.",
			"provider"),
		judgings: newHistograms(of, "rehearse_judge_seconds",
			"Time of the calls of judges by this process, those that failed too, by the provider of the model.",
			"provider"),
		requests: newCounters(of, "rehearse_http_requests_total",
			"HTTP requests that were answered. The route is other where nothing is served, "+
				"and of what was refused at the door.",
			httpLabels...),
		answers: newHistograms(of, "rehearse_http_seconds",
			"Time from an HTTP request to the end of its answer; a stream takes long.", httpLabels...),
	}
}

var httpLabels = []string{"route", "method", "status"}

func newCounters(of promauto.Factory, name, help string, labels ...string) *prometheus.CounterVec {
	return of.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// newHistograms returns a histogram of times in seconds, whose buckets range from a cache to a model that thinks.
func newHistograms(of promauto.Factory, name, help string, labels ...string) *prometheus.HistogramVec {
	return of.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help,
		Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120},
	}, labels)
}

// add adds to a series. A number below 0 comes from outside and is left out: a counter never falls.
func add(to *prometheus.CounterVec, n float64, labels ...string) {
	if n >= 0 {
		to.WithLabelValues(labels...).Add(n)
	}
}

// observe adds a time to a series; less than 0 counts as 0.
func observe(in *prometheus.HistogramVec, took time.Duration, labels ...string) {
	in.WithLabelValues(labels...).Observe(max(0, took.Seconds()))
}

// Target counts a turn of a target. The provider must be the program's own word for it.
func (m *Metrics) Target(provider string, took time.Duration) {
	if m != nil {
		observe(m.calls, took, strings.ToValidUTF8(provider, "\uFFFD"))
	}
}

// Judge counts a call of a judge. The provider must be the program's own word for it.
func (m *Metrics) Judge(provider string, took time.Duration) {
	if m != nil {
		observe(m.judgings, took, strings.ToValidUTF8(provider, "\uFFFD"))
	}
}

// Answered counts an HTTP request. The route is a pattern of the server's tables, empty for none; method and status may
// be anything.
func (m *Metrics) Answered(route, method string, status int, took time.Duration) {
	if m == nil {
		return
	}
	labels := []string{cmp.Or(route, other), known(method, methods), other}
	if status >= 100 && status <= 599 {
		labels[2] = strconv.Itoa(status)
	}
	add(m.requests, 1, labels...)
	observe(m.answers, took, labels...)
}

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions, http.MethodConnect, http.MethodTrace,
}

// known returns a word that is in a list, and other in place of one that is not.
func known[W ~string](word W, list []W) string {
	if slices.Contains(list, word) {
		return string(word)
	}
	return other
}

// ServeHTTP answers with all metrics in a format that Prometheus reads. A metric with an unknown value is left out.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l := m.fleetGauges.Load(); l != nil {
		l.settle(r.Context())
		l.handler.ServeHTTP(w, r)
		return
	}
	m.handler.ServeHTTP(w, r)
}
