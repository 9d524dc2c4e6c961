package talk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Bounds of all talks of a desk.
const (
	// maxTalks is how many talks are held at once, idleTime after how long a talk ends in which nothing is said.
	maxTalks = 50
	idleTime = 30 * time.Minute
	// lastTurns is how long turns may take that are under way when the desk is closed.
	lastTurns = time.Second
)

// Desk holds talks that several requests carry on, such as those of a page: so many at once, and each until nothing was said in it for a while. It
// is safe for concurrent use. Make it with NewDesk, and Close it.
type Desk struct {
	now   func() time.Time
	turns sync.WaitGroup

	mu     sync.Mutex
	talks  map[string]*Held
	closed bool
	failed []error
}

// NewDesk returns a desk without talks; now is its clock, nil means time.Now.
func NewDesk(now func() time.Time) *Desk {
	if now == nil {
		now = time.Now
	}
	return &Desk{now: now, talks: map[string]*Held{}}
}

// Begin begins a talk. Nothing is asked of the target before the first message. Where it returns an error, it has called o.Close.
func (d *Desk) Begin(o Opening) (*Held, error) {
	h := &Held{Opening: o, ID: rand.Text(), Began: d.now(), desk: d, talk: NewFrom(o.Target, o.Beginning)}
	for _, m := range o.Earlier {
		h.bytes += len(m.Content.String())
	}
	h.bytes += len(o.Start.Memory) + len(o.Start.Fields)
	d.mu.Lock()
	var err error
	switch {
	case d.closed:
		err = errors.New("the server is about to end")
	case len(d.talks) >= maxTalks:
		err = fmt.Errorf("%d talks are held already: end one of them, or wait until one has been idle for %d minutes", maxTalks, idleTime/time.Minute)
	default:
		d.talks[h.ID] = h
		h.idle = time.AfterFunc(idleTime, func() { d.idle(h) })
	}
	d.mu.Unlock()
	if err != nil && o.Close != nil {
		err = errors.Join(err, o.Close())
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Find returns the talk of an id; nil if it has ended or was never there.
func (d *Desk) Find(id string) *Held {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.talks[id]
}

// End ends a talk. A message that is being answered is still answered.
func (d *Desk) End(h *Held) {
	d.mu.Lock()
	delete(d.talks, h.ID)
	d.mu.Unlock()
	h.mu.Lock()
	first, turning := !h.ended, h.turning
	h.ended = true
	h.idle.Stop()
	h.mu.Unlock()
	if first && !turning {
		d.close(h)
	}
}

// idle ends a talk in which nothing was said for a while; one that is being answered is looked at again when it was.
func (d *Desk) idle(h *Held) {
	h.mu.Lock()
	turning := h.turning
	h.mu.Unlock()
	if !turning {
		d.End(h)
	}
}

// close closes what a talk has opened. It is called once for each, when nobody uses it any more.
func (d *Desk) close(h *Held) {
	err := h.talk.Close()
	if h.Close != nil {
		err = errors.Join(err, h.Close())
	}
	if err != nil {
		d.mu.Lock()
		if len(d.failed) < maxTalks {
			d.failed = append(d.failed, fmt.Errorf("end the talk with %s: %w", h.Name, err))
		}
		d.mu.Unlock()
	}
}

// Close ends all talks. It waits a moment for those that are being answered: the context of Say should have ended before. The error tells of
// talks, now and before, whose end failed.
func (d *Desk) Close() error {
	d.mu.Lock()
	d.closed = true
	var left []*Held
	for _, h := range d.talks {
		left = append(left, h)
	}
	d.mu.Unlock()
	for _, h := range left {
		d.End(h)
	}
	answered := make(chan struct{})
	go func() { d.turns.Wait(); close(answered) }()
	ctx, cancel := context.WithTimeout(context.Background(), lastTurns)
	defer cancel()
	select {
	case <-answered:
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Join(d.failed...)
}
