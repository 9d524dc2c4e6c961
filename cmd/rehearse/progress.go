package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// plainInterval is how often a line is printed where there is no terminal.
const plainInterval = 10 * time.Second

// progress shows where a run stands: one line that is redrawn on a terminal, a line now and then elsewhere, nothing
// with --quiet.
type progress struct {
	env   *Env
	quiet bool
	plain bool
	// words name what is counted: all of it, and what passed, failed or could not be decided.
	words [4]string

	mu      sync.Mutex
	total   int
	started time.Time
	bars    *mpb.Progress
	bar     *mpb.Bar
	last    orchestrator.Progress
	printed time.Time
}

var _ evaluation.Sink = (*progress)(nil)

func newProgress(env *Env, quiet bool) *progress {
	return &progress{env: env, quiet: quiet, words: [4]string{"tests", "passed", "failed", "errors"}}
}

// Begin shows the line.
func (p *progress) Begin(_ result.Run, tests int) {
	p.mu.Lock()
	p.total, p.started = tests, p.env.Now()
	p.printed, p.plain = p.started, !p.quiet && !p.env.Interactive
	p.mu.Unlock()
	if p.quiet || !p.env.Interactive {
		return
	}
	bars := mpb.New(mpb.WithOutput(p.env.screen), mpb.WithWidth(24), mpb.WithRefreshRate(120*time.Millisecond))
	bar := bars.AddBar(int64(tests), mpb.BarRemoveOnComplete(), mpb.AppendDecorators(
		decor.Any(func(decor.Statistics) string { return " " + p.line() }),
	))
	p.mu.Lock()
	p.bars, p.bar = bars, bar
	p.mu.Unlock()
}

// Observe brings the line up to date after every conversation.
func (p *progress) Observe(now orchestrator.Progress) {
	p.mu.Lock()
	p.last = now
	bar, due := p.bar, p.plain && p.env.Now().Sub(p.printed) >= plainInterval
	if due {
		p.printed = p.env.Now()
	}
	p.mu.Unlock()
	if bar != nil {
		bar.SetCurrent(int64(now.Totals.Tests))
	}
	if due {
		fmt.Fprintln(p.env.Stderr, p.line())
	}
}

// Store shows nothing: the totals that Observe gets say it all.
func (p *progress) Store(*result.Test) {}

// line is the state in words: how far, how good, how much, how long.
func (p *progress) line() string {
	p.mu.Lock()
	t, inFlight := p.last.Totals, p.last.InFlight
	total, started := p.total, p.started
	p.mu.Unlock()
	line := fmt.Sprintf("%d/%d %s · %d %s · %d %s · %d %s · %d in flight · %d tokens",
		t.Tests, total, p.words[0], t.Passed, p.words[1], t.Failed, p.words[2], t.Errors, p.words[3], inFlight,
		t.Usage.Total()+t.Judge.Usage.Total()+t.User.Used().Total())
	if t.Tests > 0 && t.Tests < total {
		left := time.Duration(float64(p.env.Now().Sub(started)) / float64(t.Tests) * float64(total-t.Tests))
		line += " · " + left.Round(time.Second).String() + " left"
	}
	return line
}

// note prints a sentence without disturbing the line.
func (p *progress) note(s string) {
	p.mu.Lock()
	bars := p.bars
	p.mu.Unlock()
	if bars != nil {
		_, _ = fmt.Fprintln(bars, harmless(p.env.secrets.Text("rehearse: "+s))) // a terminal that is gone needs no note
		return
	}
	fmt.Fprintln(p.env.Stderr, "rehearse: "+s)
}

// End takes the line away.
func (p *progress) End() {
	p.mu.Lock()
	bar, bars := p.bar, p.bars
	p.mu.Unlock()
	if bar != nil {
		bar.Abort(true)
		bars.Wait()
	}
}
