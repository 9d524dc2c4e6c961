package experiment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Log logs a run while it goes on, so that what was finished is there when the run breaks off. Items wait in memory
// until the one goroutine of the log sends them, some at once. Adding an item never waits for Langfuse. What cannot be
// logged is said at the end and changes nothing else. It is safe for concurrent use. A nil log logs nothing.
type Log struct {
	config Config
	sender *sender
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	waiting []Item
	// taken has the ids of the items that wait or were sent.
	taken map[string]bool
	// ending is set once no more items come; scores are then those of the run, nil for none.
	ending bool
	scores map[string]float64

	// some says that an item waits. enough says that a batch waits, or that no more items come.
	some, enough chan struct{}
	sent         chan struct{} // closed when the goroutine has ended
}

// Begin begins to log a run; a nil config logs nothing. End the log with Finish or BreakOff.
func Begin(c *Config, run *Run) *Log {
	if c == nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	l := &Log{
		config: *c, sender: &sender{client: c.Client, secrets: c.Secrets, run: run}, cancel: cancel,
		taken: map[string]bool{}, some: make(chan struct{}, 1), enough: make(chan struct{}, 1),
		sent: make(chan struct{}),
	}
	go l.send(ctx)
	return l
}

// Add has an item logged soon. Of items with the same id the first one counts.
func (l *Log) Add(item Item) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending || len(l.waiting) >= l.config.Pace.Waiting {
		return
	}
	l.queue(item)
	nudge(l.some)
	if len(l.waiting) >= l.config.Pace.Batch {
		nudge(l.enough)
	}
}

// queue lets an item wait for the goroutine. The lock is held.
func (l *Log) queue(item Item) {
	if !l.taken[item.ID] {
		l.taken[item.ID] = true
		l.waiting = append(l.waiting, item)
	}
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it was told already
	}
}

// send is the log's one goroutine.
func (l *Log) send(ctx context.Context) {
	defer close(l.sent)
	for {
		<-l.some
		timer := time.NewTimer(l.config.Pace.Every)
		select {
		case <-timer.C:
		case <-l.enough:
			timer.Stop()
		}
		for items, left := l.take(); left || len(items) > 0; items, left = l.take() {
			l.sender.items(ctx, items)
		}
		if l.over() {
			l.sender.end(ctx, l.scores)
			return
		}
	}
}

// take returns the next items to be sent, and whether more wait behind them.
func (l *Log) take() (items []Item, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.waiting), l.config.Pace.Batch)
	items, l.waiting = l.waiting[:n:n], l.waiting[n:]
	return items, len(l.waiting) > 0
}

func (l *Log) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ending && len(l.waiting) == 0
}

// Finish logs what is left of the items and the scores of the run, and says what became of them. It stops when the
// context ends or when the time of the pace is up.
func (l *Log) Finish(ctx context.Context, items []Item, scores map[string]float64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	for _, item := range items {
		l.queue(item)
	}
	left := len(l.waiting)
	l.mu.Unlock()
	l.close(ctx, scores, l.config.Pace.Finish+time.Duration(left)*l.config.Pace.Each)
}

// BreakOff logs the waiting items of a run that was interrupted. The run gets no scores of its own. It does nothing
// after Finish.
func (l *Log) BreakOff(ctx context.Context) {
	if l != nil {
		l.close(ctx, nil, l.config.Pace.BrokenOff)
	}
}

// many is the number of items from which the wait is announced: each item takes three requests or more, one after the
// other.
const many = 200

// errTime and errInterrupted say why the rest was not logged.
var (
	errTime        = errors.New("it took too long")
	errInterrupted = errors.New("interrupted")
)

// close waits until everything was sent, the context ends, or the time is up.
func (l *Log) close(ctx context.Context, scores map[string]float64, limit time.Duration) {
	l.mu.Lock()
	over, left := l.ending, len(l.waiting)
	if !over {
		l.ending, l.scores = true, scores
	}
	l.mu.Unlock()
	if over {
		return
	}
	nudge(l.enough)
	nudge(l.some)
	if left > many {
		l.config.OnWarning(fmt.Sprintf("logging %d items to %s; Ctrl-C ends it", left, l.config.Client))
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-l.sent:
	case <-timer.C:
		l.cancel(errTime)
	case <-ctx.Done():
		l.cancel(errInterrupted)
	}
	<-l.sent
	l.cancel(nil)
	l.tell(scores != nil)
}

// tell says what became of the run.
func (l *Log) tell(whole bool) {
	s := l.sender
	place := fmt.Sprintf("run %s of the dataset %s", s.run.Name, s.run.Dataset)
	if !whole {
		if s.tried == 0 {
			return
		}
		place += fmt.Sprintf(", which broke off after %s", text.Plural(s.tried, "item"))
	}
	if len(s.faults) == 0 {
		l.config.OnWarning(fmt.Sprintf("logged to %s: %s", l.config.Client, place))
		return
	}
	l.config.OnWarning(fmt.Sprintf("rehearse: the run %s of the dataset %s is not completely logged to %s:", s.run.Name,
		s.run.Dataset, l.config.Client))
	const most = 20
	for _, fault := range s.faults[:min(len(s.faults), most)] {
		l.config.OnWarning("  " + fault)
	}
	if more := len(s.faults) - most; more > 0 {
		l.config.OnWarning(fmt.Sprintf("  and %d more", more))
	}
}
