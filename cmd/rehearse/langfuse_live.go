package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// liveLog logs a run while it goes on, so that what was finished is there when it breaks off. Items wait in memory until the one goroutine of
// the log sends them, some at once; adding one never waits for Langfuse, and what cannot be logged changes nothing but what is told at the
// end. A nil log logs nothing.
type liveLog struct {
	*langfuseLog
	sender *runSender
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	waiting []loggedItem
	// taken are the items that wait or were sent.
	taken map[string]bool
	// ending is set once nothing more comes; scores are then those of the run, nil for none.
	ending bool
	scores map[string]float64

	// some tells that an item waits, enough that a batch does or that nothing more comes.
	some, enough chan struct{}
	sent         chan struct{} // closed when the goroutine has ended
}

// begin begins to log a run. End it with finish or breakOff.
func (l *langfuseLog) begin(run *loggedRun) *liveLog {
	if l == nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	b := &liveLog{
		langfuseLog: l, sender: &runSender{langfuseLog: l, run: run}, cancel: cancel, taken: map[string]bool{},
		some: make(chan struct{}, 1), enough: make(chan struct{}, 1), sent: make(chan struct{}),
	}
	go b.send(ctx)
	return b
}

// add has an item logged soon. Of items with the same id the first one counts.
func (b *liveLog) add(item loggedItem) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ending || len(b.waiting) >= b.pace.waiting {
		return
	}
	b.queue(item)
	nudge(b.some)
	if len(b.waiting) >= b.pace.batch {
		nudge(b.enough)
	}
}

// queue has an item wait; the lock is held.
func (b *liveLog) queue(item loggedItem) {
	if !b.taken[item.ID] {
		b.taken[item.ID] = true
		b.waiting = append(b.waiting, item)
	}
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it was told already
	}
}

// send is the log's one goroutine.
func (b *liveLog) send(ctx context.Context) {
	defer close(b.sent)
	for {
		<-b.some
		timer := time.NewTimer(b.pace.every)
		select {
		case <-timer.C:
		case <-b.enough:
			timer.Stop()
		}
		for items, left := b.take(); left || len(items) > 0; items, left = b.take() {
			b.sender.items(ctx, items)
		}
		if b.over() {
			b.sender.end(ctx, b.scores)
			return
		}
	}
}

// take returns the next items to be sent, and whether more wait behind them.
func (b *liveLog) take() (items []loggedItem, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.waiting), b.pace.batch)
	items, b.waiting = b.waiting[:n:n], b.waiting[n:]
	return items, len(b.waiting) > 0
}

func (b *liveLog) over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ending && len(b.waiting) == 0
}

// finish logs what is left of the items, and the scores of the run, and says on stderr what became of all. A signal or the bound of the pace ends it.
func (b *liveLog) finish(ctx context.Context, items []loggedItem, scores map[string]float64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	for _, item := range items {
		b.queue(item)
	}
	left := len(b.waiting)
	b.mu.Unlock()
	b.close(ctx, scores, b.pace.finish+time.Duration(left)*b.pace.each)
}

// breakOff logs what waits of a run that did not come to its end, and leaves it without scores of its own. It does nothing after finish.
func (b *liveLog) breakOff(ctx context.Context) {
	if b != nil {
		b.close(ctx, nil, b.pace.brokenOff)
	}
}

// manyLogged is how many items take long enough to be told of: each is three requests or more, one after the other.
const manyLogged = 200

// errLogTime and errLogSignal are why the rest was not logged.
var (
	errLogTime   = errors.New("it took too long")
	errLogSignal = errors.New("interrupted")
)

// close waits until everything was sent, a signal comes, or the time is up.
func (b *liveLog) close(ctx context.Context, scores map[string]float64, limit time.Duration) {
	b.mu.Lock()
	over, left := b.ending, len(b.waiting)
	b.ending, b.scores = true, scores
	b.mu.Unlock()
	if over {
		return
	}
	nudge(b.enough)
	nudge(b.some)
	if left > manyLogged {
		b.say(fmt.Sprintf("logging %d items to %s; Ctrl-C ends it", left, b.client))
	}
	waiting, release := untilSignal(ctx, b.env)
	defer release()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-b.sent:
	case <-timer.C:
		b.cancel(errLogTime)
	case <-waiting.Done():
		b.cancel(errLogSignal)
	}
	<-b.sent
	b.cancel(nil)
	b.tell(scores != nil)
}

func (b *liveLog) say(text string) { fmt.Fprintln(b.env.Stderr, b.secrets.Text(harmless(text))) }

// tell says what became of the run.
func (b *liveLog) tell(whole bool) {
	s := b.sender
	place := fmt.Sprintf("run %s of the dataset %s", s.run.Name, s.run.Dataset)
	if !whole {
		if s.tried == 0 {
			return
		}
		place += fmt.Sprintf(", which broke off after %s", plural(s.tried, "item"))
	}
	if len(s.faults) == 0 {
		b.say(fmt.Sprintf("logged to %s: %s", b.client, place))
		return
	}
	b.say(fmt.Sprintf("rehearse: the run %s of the dataset %s is not completely logged to %s:", s.run.Name, s.run.Dataset, b.client))
	const most = 20
	for _, fault := range s.faults[:min(len(s.faults), most)] {
		b.say("  " + fault)
	}
	if more := len(s.faults) - most; more > 0 {
		b.say(fmt.Sprintf("  and %d more", more))
	}
}
