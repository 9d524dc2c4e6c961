package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// longPull is how long one request waits at NATS for a job, shortPull where another class of jobs has its turn
	// next.
	longPull  = 2 * time.Second
	shortPull = 250 * time.Millisecond
	// late is how much longer its answer may take.
	late = 2 * time.Second
)

// errGone says that NATS has no such queue (any more).
var errGone = errors.New("the queue is not there")

// errBusy says that NATS answers nobody for a moment: too many ask, or the server goes away.
var errBusy = errors.New("the queue is busy")

// puller asks NATS for single jobs, and NATS sends no job that was not asked for: one that waits in a process is lost
// to the others. It keeps the places at which it is answered: NATS names a job by its own subject, so each place needs
// a subscription.
type puller struct {
	nats   *nats.Conn
	mu     sync.Mutex
	free   []*slot
	closed bool
}

// slot is where NATS answers one request after the other.
type slot struct {
	nats   *nats.Conn
	sub    *nats.Subscription
	prefix string
	last   uint64
	mu     sync.Mutex
	inbox  string // of the request under way; empty when there is none
	answer chan *nats.Msg
}

func newPuller(nc *nats.Conn) *puller { return &puller{nats: nc} }

// acquire returns a place that is free.
func (p *puller) acquire() (*slot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		found := p.free[n-1]
		p.free = p.free[:n-1]
		return found, nil
	}
	made := &slot{nats: p.nats, prefix: p.nats.NewInbox() + ".", answer: make(chan *nats.Msg, 1)}
	sub, err := p.nats.Subscribe(made.prefix+"*", made.take)
	made.sub = sub
	return made, err
}

// release makes a place free whose request was answered.
func (p *puller) release(l *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		l.leave()
		return
	}
	p.free = append(p.free, l)
}

func (p *puller) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, l := range p.free {
		l.leave()
	}
	p.free = nil
}

// take passes an answer on. Words about earlier requests are passed over.
func (l *slot) take(m *nats.Msg) {
	l.mu.Lock()
	defer l.mu.Unlock()
	job := isJob(m)
	if l.inbox != "" && (job || m.Subject == l.inbox) {
		l.inbox = ""
		l.answer <- m
		return
	}
	if job {
		giveBack(l.nats, m)
	}
}

// leave gives a place up. NATS drops its request; a job that is on its way is given back.
func (l *slot) leave() {
	l.mu.Lock()
	l.inbox = ""
	l.mu.Unlock()
	select {
	case m := <-l.answer:
		giveBack(l.nats, m)
	default:
	}
	_ = l.sub.Drain()
}

// giveBack returns a job to the queue for which nobody waits any more.
func giveBack(nc *nats.Conn, m *nats.Msg) {
	if isJob(m) {
		_ = nc.Publish(m.Reply, []byte("-NAK"))
	}
}

// next asks for one message. It returns nil when there is none within wait; with a wait of 0 NATS answers at once.
func (p *puller) next(ctx context.Context, consumer string, wait time.Duration) (*nats.Msg, error) {
	if !p.nats.IsConnected() {
		if p.nats.IsClosed() {
			return nil, nats.ErrConnectionClosed
		}
		return nil, errBusy // what is asked now would be sent on reconnecting, and its answer find nobody
	}
	l, err := p.acquire()
	if err != nil {
		return nil, err
	}
	if err := l.ask(consumer, wait); err != nil {
		l.leave()
		return nil, err
	}
	timeout := time.NewTimer(wait + late)
	defer timeout.Stop()
	select {
	case m := <-l.answer:
		p.release(l)
		return read(m)
	case <-ctx.Done():
	case <-timeout.C:
	}
	l.leave()
	return nil, ctx.Err()
}

// ask sends a request.
func (l *slot) ask(consumer string, wait time.Duration) error {
	l.last++
	inbox := l.prefix + strconv.FormatUint(l.last, 36)
	l.mu.Lock()
	l.inbox = inbox
	l.mu.Unlock()
	request := fmt.Sprintf(`{"batch":1,"expires":%d}`, wait)
	if wait == 0 {
		request = `{"batch":1,"no_wait":true}`
	}
	return l.nats.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+jobStream+"."+consumer, inbox, []byte(request))
}

// isJob tells a job from the words of NATS.
func isJob(m *nats.Msg) bool { return strings.HasPrefix(m.Reply, "$JS.ACK.") }

// read returns a job, or what NATS says in place of one.
func read(m *nats.Msg) (*nats.Msg, error) {
	if isJob(m) {
		return m, nil
	}
	switch status := m.Header.Get("Status"); status {
	case "404", "408", "100":
		return nil, nil
	case "503":
		return nil, errGone
	case "409":
		if strings.Contains(m.Header.Get("Description"), "Consumer Deleted") {
			return nil, errGone
		}
		return nil, errBusy
	default:
		return nil, fmt.Errorf("NATS answers %q %s", status, m.Header.Get("Description"))
	}
}
