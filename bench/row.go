package main

import (
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/bench/machine"
)

// ourName is how rehearse is called in the table.
const ourName = "rehearse"

// mb is the megabyte of the goals.
const mb = 1_000_000

// row is one case with one program: a line of the table.
type row struct {
	Case string `json:"case"`
	Tool string `json:"tool"`
	What string `json:"what"`
	// Ideal is the wall time that no client can beat; 0 where there is none.
	Ideal time.Duration `json:"ideal_ns,omitempty"`
	Goals []goal        `json:"goals,omitempty"`
	Runs  []usage       `json:"runs"`
	// Error says what was wrong with the last run or its results; such a run is not counted.
	Error string `json:"error,omitempty"`
	// Note is worth knowing about how it was measured.
	Note string `json:"note,omitempty"`
}

// goal is a limit on a median.
type goal struct {
	Of string `json:"of"` // wall, cpu or rss
	// Limit is in seconds, or in bytes for rss.
	Limit float64 `json:"limit"`
	// Within is true when the limit itself is still good.
	Within bool   `json:"within"`
	Text   string `json:"text"`
	// Met is filled in when the case was measured.
	Met bool `json:"met"`
}

func wallWithin(d time.Duration) goal {
	return goal{Of: "wall", Limit: d.Seconds(), Within: true, Text: "wall ≤ " + seconds(d)}
}

func wallBelow(d time.Duration) goal {
	return goal{Of: "wall", Limit: d.Seconds(), Text: "wall < " + seconds(d)}
}

func cpuBelow(d time.Duration) goal {
	return goal{Of: "cpu", Limit: d.Seconds(), Text: "CPU < " + seconds(d)}
}

func rssBelow(bytes int64) goal {
	return goal{Of: "rss", Limit: float64(bytes), Text: "RSS < " + megabytes(bytes)}
}

// flat lets memory be a quarter above that of a tenth of the work: what grows with the work would be far above.
func flat(small int64) goal {
	return goal{
		Of: "rss", Limit: 1.25 * float64(small), Within: true,
		Text: fmt.Sprintf("flat (≤ 1.25 × %s)", megabytes(small)),
	}
}

// settle fills in which goals the medians meet.
func (r *row) settle() {
	for i := range r.Goals {
		g := &r.Goals[i]
		value := 0.0
		switch g.Of {
		case "wall":
			value = r.wall().Median.Seconds()
		case "cpu":
			value = r.cpu().Median.Seconds()
		case "rss":
			value = float64(r.rss())
		}
		g.Met = len(r.Runs) > 0 && (value < g.Limit || g.Within && value <= g.Limit)
	}
}

func spreadOf(runs []usage, of func(usage) time.Duration) machine.Spread[time.Duration] {
	var all []time.Duration
	for _, u := range runs {
		all = append(all, of(u))
	}
	return machine.SpreadOf(all)
}

func (r *row) wall() machine.Spread[time.Duration] {
	return spreadOf(r.Runs, func(u usage) time.Duration { return u.Wall })
}

func (r *row) cpu() machine.Spread[time.Duration] {
	return spreadOf(r.Runs, func(u usage) time.Duration { return u.CPU })
}

// rss returns the median of the peaks in bytes.
func (r *row) rss() int64 {
	return int64(spreadOf(r.Runs, func(u usage) time.Duration { return time.Duration(u.RSS) }).Median)
}

func (r *row) requestsPerSecond() float64 {
	if len(r.Runs) == 0 || r.Runs[0].Requests == 0 {
		return 0
	}
	return float64(r.Runs[0].Requests) / r.wall().Median.Seconds()
}

func (r *row) mostInFlight() (most int64) {
	for _, u := range r.Runs {
		most = max(most, u.MostInFlight)
	}
	return most
}

// seconds prints three digits that matter.
func seconds(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 0.1:
		return fmt.Sprintf("%.1f ms", s*1000)
	case s < 10:
		return fmt.Sprintf("%.2f s", s)
	default:
		return fmt.Sprintf("%.1f s", s)
	}
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/mb) }
