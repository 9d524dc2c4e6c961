package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"rehearse/internal/orchestrator"
)

// plainInterval is how often a line is printed where there is no terminal.
const plainInterval = 10 * time.Second

// progress shows where a run stands: one line that is redrawn on a terminal, a line now and then elsewhere, nothing with --quiet.
type progress struct {
	w       io.Writer
	total   int
	started time.Time
	now     func() time.Time
	plain   bool

	bars *mpb.Progress
	bar  *mpb.Bar

	mu      sync.Mutex
	last    orchestrator.Progress
	printed time.Time
}

func startProgress(env *Env, f *runFlags, total int) *progress {
	p := &progress{w: env.Stderr, total: total, started: env.Now(), now: env.Now}
	p.printed = p.started
	switch {
	case f.quiet:
	case env.Interactive:
		p.bars = mpb.New(mpb.WithOutput(env.Stderr), mpb.WithWidth(24), mpb.WithRefreshRate(120*time.Millisecond))
		p.bar = p.bars.AddBar(int64(total), mpb.BarRemoveOnComplete(), mpb.AppendDecorators(
			decor.Any(func(decor.Statistics) string { return " " + p.line() }),
		))
	default:
		p.plain = true
	}
	return p
}

// observe is called by the orchestrator after every conversation.
func (p *progress) observe(now orchestrator.Progress) {
	p.mu.Lock()
	p.last = now
	due := p.plain && p.now().Sub(p.printed) >= plainInterval
	if due {
		p.printed = p.now()
	}
	p.mu.Unlock()
	if p.bar != nil {
		p.bar.SetCurrent(int64(now.Totals.Tests))
	}
	if due {
		fmt.Fprintln(p.w, p.line())
	}
}

// line is the state in words: how far, how good, how much, how long.
func (p *progress) line() string {
	p.mu.Lock()
	t, inFlight := p.last.Totals, p.last.InFlight
	p.mu.Unlock()
	line := fmt.Sprintf("%d/%d tests · %d passed · %d failed · %d errors · %d in flight · %d tokens",
		t.Tests, p.total, t.Passed, t.Failed, t.Errors, inFlight, t.Usage.Total()+t.Judge.Usage.Total())
	if t.Tests > 0 && t.Tests < p.total {
		left := time.Duration(float64(p.now().Sub(p.started)) / float64(t.Tests) * float64(p.total-t.Tests))
		line += " · " + left.Round(time.Second).String() + " left"
	}
	return line
}

// note prints a sentence without disturbing the line.
func (p *progress) note(s string) {
	if p.bars != nil {
		_, _ = fmt.Fprintln(p.bars, "rehearse: "+s) // a terminal that is gone needs no note
		return
	}
	fmt.Fprintln(p.w, "rehearse: "+s)
}

// done takes the line away.
func (p *progress) done() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.bars.Wait()
	}
}
