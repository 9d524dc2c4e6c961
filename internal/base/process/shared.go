package process

import (
	"context"
	"errors"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/mailbox"
)

// Shared is one program that many conversations speak with, line by line. It is started for the first line that is
// sent, and again for the first one of a conversation that has not spoken with it when it has ended. It is safe for
// concurrent use; Close it.
type Shared struct {
	Command Command
	// Most is the most that a line may have, in bytes, and all lines that a conversation has not taken.
	Most int
	// Owner returns the conversation that a line belongs to; empty for one that is passed over. An error is a line that
	// should belong to one.
	Owner func(line []byte) (conversation string, err error)

	mu     sync.Mutex
	now    *generation
	closed bool
}

// generation is one run of the program.
type generation struct {
	process *Process
	most    int
	// lines are those that are to be written. The one writer writes them whole: half a line would spoil the next one's.
	lines chan []byte
	// ended is closed when the program has ended; why says how.
	ended chan struct{}
	why   error
	sides sync.WaitGroup

	mu    sync.Mutex
	lanes map[string]*Client
	// stray is a line that belongs to no conversation.
	stray error
}

// Client is one conversation's part of a Shared. It is for one goroutine. Leave it.
type Client struct {
	shared *Shared
	id     string
	in     *generation
	box    *mailbox.Box
	// waiting is true until something has come for the last line that was sent; in.mu guards it.
	waiting bool
}

// Join returns the lane of a conversation.
func (s *Shared) Join(id string) *Client { return &Client{shared: s, id: id, box: mailbox.New(s.Most)} }

// current returns the run of the program that a new conversation speaks with.
func (s *Shared) current() (*generation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the shared program is closed")
	}
	if s.now != nil {
		select {
		case <-s.now.ended:
		default:
			return s.now, nil
		}
	}
	p, err := Start(s.Command)
	if err != nil {
		return nil, err
	}
	g := &generation{
		process: p, most: s.Most, lines: make(chan []byte), ended: make(chan struct{}), lanes: map[string]*Client{},
	}
	g.sides.Go(g.write)
	g.sides.Go(func() { g.listen(s.Owner) })
	s.now = g
	return g, nil
}

// Close ends the program as Stop does.
func (s *Shared) Close() error {
	s.mu.Lock()
	s.closed = true
	g := s.now
	s.mu.Unlock()
	if g != nil {
		g.process.Stop(Grace)
		g.sides.Wait()
	}
	return nil
}

func (g *generation) write() {
	for {
		select {
		case line := <-g.lines:
			_ = g.process.Write(context.Background(), line) // ends with the program
		case <-g.ended:
			return
		}
	}
}

// listen gives each line to its conversation until the program ends.
func (g *generation) listen(owner func([]byte) (string, error)) {
	r := NewReader(g.process, g.most)
	for {
		line, err := r.Line(context.Background()) // ends with the program
		if err != nil {
			g.end(err)
			return
		}
		id, err := owner(line)
		g.mu.Lock()
		if err != nil {
			g.lost(err)
		} else if lane := g.lanes[id]; lane != nil {
			lane.waiting = false
			lane.box.Put(line)
		}
		g.mu.Unlock()
	}
}

// lost is told of a line whose conversation is not known. It is that of the only one that waits for an answer, if there
// is only one.
func (g *generation) lost(err error) {
	g.stray = err
	var waiting []*Client
	for _, lane := range g.lanes {
		if lane.waiting {
			waiting = append(waiting, lane)
		}
	}
	if len(waiting) == 1 {
		waiting[0].box.Fail(err)
	}
}

// end tells all conversations that have spoken with the program that it has ended.
func (g *generation) end(err error) {
	if errors.Is(err, ErrTooLong) {
		g.process.Stop(0)
		g.why = err
	} else {
		g.process.Stop(Grace)
		g.why = g.process.Ended()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, lane := range g.lanes {
		lane.box.Fail(g.why)
	}
	close(g.ended)
}

// Send sends a line, which must have its end. The error is that of ctx, or says that the program has ended or cannot be
// started.
func (l *Client) Send(ctx context.Context, line []byte) error {
	if l.in == nil {
		g, err := l.shared.current()
		if err != nil {
			return err
		}
		l.in = g
	}
	l.in.mu.Lock()
	l.in.lanes[l.id], l.waiting = l, true
	l.in.mu.Unlock()
	select {
	case <-l.in.ended:
		return l.in.why
	default: // if it ends from now on, the box is told
	}
	select {
	case l.in.lines <- line:
		return nil
	case <-l.in.ended:
		return l.in.why
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Waiting takes the lines of the conversation that have come and were not taken.
func (l *Client) Waiting() [][]byte { return l.box.Waiting() }

// Line returns the next line of the conversation. The error is that of ctx, ErrTooLong, or says how the program has
// ended.
func (l *Client) Line(ctx context.Context) ([]byte, error) {
	line, err := l.box.Next(ctx)
	if err == nil || ctx.Err() == nil {
		return line, err
	}
	l.in.mu.Lock()
	defer l.in.mu.Unlock()
	if l.in.stray != nil {
		err = &StrayError{err, l.in.stray}
	}
	return nil, err
}

// StrayError is an answer that did not come while there came a line that belongs to no conversation.
type StrayError struct{ Err, Line error }

func (e *StrayError) Error() string { return e.Err.Error() + ", but " + e.Line.Error() }
func (e *StrayError) Unwrap() error { return e.Err }

// Leave ends the conversation. What still comes for it is dropped.
func (l *Client) Leave() {
	if l.in == nil {
		return
	}
	l.in.mu.Lock()
	defer l.in.mu.Unlock()
	delete(l.in.lanes, l.id)
}
