package metrics

import (
	"slices"
	"sync"
	"time"
)

// maxLabels is the most labels that a metric has, besides le of a histogram.
const maxLabels = 3

// values are the values of a metric's labels, in the order of its names.
type values [maxLabels]string

func valuesOf(labels []string) (v values) {
	copy(v[:], labels)
	return v
}

// counters are the series of one counter. A series begins with its first addition, which may be 0.
type counters struct {
	name, help string
	labels     []string

	mu     sync.Mutex
	series map[values]float64
}

// newCounters returns a counter; each of known is a series that is there from the beginning.
func newCounters(name, help string, labels []string, known ...values) *counters {
	c := &counters{name: name, help: help, labels: labels, series: map[values]float64{}}
	for _, v := range known {
		c.series[v] = 0
	}
	return c
}

// add adds to a series. A number below 0 comes from outside and is left out: a counter never falls.
func (c *counters) add(n float64, labels ...string) {
	if !(n >= 0) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.series[valuesOf(labels)] += n
}

func (c *counters) write(p *page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.begin(c.name, c.help, "counter", len(c.series))
	for _, v := range sorted(c.series) {
		p.sample(c.name, c.labels, v, "", c.series[v])
	}
}

// bounds are the upper bounds of the buckets of histograms, in seconds: from a cache to a model that thinks.
var bounds = [...]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120}

// histograms are the series of one histogram of times.
type histograms struct {
	name, help string
	labels     []string

	mu     sync.Mutex
	series map[values]*histogram
}

// histogram counts the times up to each bound, and has behind them those over the last.
type histogram struct {
	buckets [len(bounds) + 1]uint64
	sum     float64
}

func newHistograms(name, help string, labels ...string) *histograms {
	return &histograms{name: name, help: help, labels: labels, series: map[values]*histogram{}}
}

func (h *histograms) observe(took time.Duration, labels ...string) {
	seconds := max(0, took.Seconds())
	at, _ := slices.BinarySearch(bounds[:], seconds)
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.series[valuesOf(labels)]
	if one == nil {
		one = &histogram{}
		h.series[valuesOf(labels)] = one
	}
	one.buckets[at]++
	one.sum += seconds
}

func (h *histograms) write(p *page) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.begin(h.name, h.help, "histogram", len(h.series))
	for _, v := range sorted(h.series) {
		one, total := h.series[v], uint64(0)
		for i, n := range one.buckets {
			total += n
			le := "+Inf"
			if i < len(bounds) {
				le = number(bounds[i])
			}
			p.sample(h.name+"_bucket", h.labels, v, le, float64(total))
		}
		p.sample(h.name+"_sum", h.labels, v, "", one.sum)
		p.sample(h.name+"_count", h.labels, v, "", float64(total))
	}
}

// sorted returns the keys of a table in order.
func sorted[V any](series map[values]V) []values {
	keys := make([]values, 0, len(series))
	for v := range series {
		keys = append(keys, v)
	}
	slices.SortFunc(keys, func(a, b values) int { return slices.Compare(a[:], b[:]) })
	return keys
}
