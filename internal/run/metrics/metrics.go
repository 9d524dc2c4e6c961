// Package metrics counts what a process does, and tells it to Prometheus. The list of metrics is closed (service.md 5), and no label holds a name
// from a suite.
package metrics

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// other is the value of a label that is none of those that the program knows.
const other = "other"

// Metrics are the metrics of a process: those that every process has, and those of a server once Lead was called. They begin at 0 with the process.
// They are safe for concurrent use. Nil counts nothing. Use New.
type Metrics struct {
	build    build
	calls    *histograms
	judgings *histograms
	requests *counters
	answers  *histograms
	// led is nil until Lead is called.
	led atomic.Pointer[led]
}

// New returns the metrics of a process, which has a version and was built from a commit.
func New(version, commit string) *Metrics {
	return &Metrics{
		build: build{version, commit},
		calls: newHistograms("rehearse_target_seconds",
			"Time of the turns of targets that this process asked, those that failed too, by the provider of a model, or by the kind of any other target.",
			"provider"),
		judgings: newHistograms("rehearse_judge_seconds",
			"Time of the calls of judges by this process, those that failed too, by the provider of the model.", "provider"),
		requests: newCounters("rehearse_http_requests_total",
			"HTTP requests that were answered. The route is other where nothing is served, and of what was refused at the door.", httpLabels),
		answers: newHistograms("rehearse_http_seconds", "Time from an HTTP request to the end of its answer; a stream takes long.", httpLabels...),
	}
}

var httpLabels = []string{"route", "method", "status"}

// Target counts a turn of a target. The provider must be the program's own word for it.
func (m *Metrics) Target(provider string, took time.Duration) {
	if m != nil {
		m.calls.observe(took, provider)
	}
}

// Judge counts a call of a judge. The provider must be the program's own word for it.
func (m *Metrics) Judge(provider string, took time.Duration) {
	if m != nil {
		m.judgings.observe(took, provider)
	}
}

// Answered counts an HTTP request. The route is a pattern of the server's tables, empty for none; method and status may be anything.
func (m *Metrics) Answered(route, method string, status int, took time.Duration) {
	if m == nil {
		return
	}
	labels := []string{cmp.Or(route, other), known(method, methods), other}
	if status >= 100 && status <= 599 {
		labels[2] = strconv.Itoa(status)
	}
	m.requests.add(1, labels...)
	m.answers.observe(took, labels...)
}

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace,
}

// known returns a word that is in a list, and other in place of one that is not.
func known[W ~string](word W, list []W) string {
	if slices.Contains(list, word) {
		return string(word)
	}
	return other
}

// build says what the program was made of.
type build struct{ version, commit string }

func (b build) write(p *page) {
	const name = "rehearse_build_info"
	p.begin(name, "The version of the program, and the commit that it was built from.", "gauge", 1)
	p.sample(name, []string{"version", "commit"}, values{b.version, b.commit}, "", 1)
}

// ServeHTTP answers with all metrics in Prometheus's text format. What is not known is left out.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var p page
	if l := m.led.Load(); l != nil {
		l.write(r.Context(), &p)
	}
	m.calls.write(&p)
	m.judgings.write(&p)
	m.requests.write(&p)
	m.answers.write(&p)
	m.build.write(&p)
	w.Header().Set("Content-Type", mediaType)
	_, _ = w.Write(p.Bytes()) // whoever scraped may have gone
}
