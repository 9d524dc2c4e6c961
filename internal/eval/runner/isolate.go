package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// patience is how long code may go on after its context has ended, before nobody waits for it any more.
const patience = 5 * time.Second

// errAbandoned says that code went on although its context had ended, and that nobody waits for it.
var errAbandoned = errors.New("it did not stop when it was told to")

// errPanic says that code panicked.
var errPanic = errors.New("internal error, please report it")

// Panicked returns the cause of a panic as an error of one sentence. The stack goes to the log at debug level; a nil
// log discards it. It must be called where the panic was recovered.
func Panicked(log *slog.Logger, cause any) error {
	sentence := text.OneLine(fmt.Sprint(cause), 300)
	if log != nil {
		log.Debug("panic", "cause", sentence, "stack", string(debug.Stack()))
	}
	return fmt.Errorf("%w: %s", errPanic, sentence)
}

// Guard has the goroutines in which conversations run code of targets and graders. They are reused, since a new
// goroutine grows its stack again. The zero value is ready to use; close it after the last conversation. It is safe for
// concurrent use.
type Guard struct {
	// Log gets the stacks of panics at debug level; nil discards them.
	Log *slog.Logger

	mu     sync.Mutex
	idle   []chan func()
	closed bool
}

// start runs code in an idle goroutine, or in a new one, and returns the goroutine.
func (g *Guard) start(run func()) chan func() {
	g.mu.Lock()
	var in chan func()
	if n := len(g.idle); n > 0 {
		in, g.idle = g.idle[n-1], g.idle[:n-1]
	}
	g.mu.Unlock()
	if in == nil {
		in = make(chan func())
		go func() {
			for run := range in {
				run()
			}
		}()
	}
	in <- run
	return in
}

// reuse makes a goroutine idle whose code has ended, unless it is gone.
func (g *Guard) reuse(in chan func(), gone bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if gone || g.closed {
		close(in)
		return
	}
	g.idle = append(g.idle, in)
}

// Close ends the idle goroutines, and the others when their code ends.
func (g *Guard) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, in := range g.idle {
		close(in)
	}
	g.idle = nil
}

// isolate runs code of a target or a grader in a goroutine of the guard, so that neither a panic nor a hang of it ends
// more than its test. A panic is an error. Code that runs for longer than patience after ctx has ended is abandoned:
// the error is then errAbandoned, and late, if it is not nil, gets what the code returns in the end.
func isolate[T any](ctx context.Context, g *Guard, run func() (T, error), late func(T)) (T, error) {
	type outcome struct {
		value T
		err   error
		// gone is true where the code has ended its goroutine (runtime.Goexit).
		gone bool
	}
	done := make(chan outcome, 1) // has room, so that abandoned code can end
	in := g.start(func() {
		o := outcome{err: errors.New("it ended without an answer"), gone: true}
		defer func() {
			if r := recover(); r != nil {
				o.err, o.gone = Panicked(g.Log, r), false
			}
			done <- o
		}()
		o.value, o.err = run()
		o.gone = false
	})
	select {
	case o := <-done:
		g.reuse(in, o.gone)
		return o.value, o.err
	case <-ctx.Done():
	}
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case o := <-done:
		g.reuse(in, o.gone)
		return o.value, o.err
	case <-wait.C:
		close(in)
	}
	if late != nil {
		go func() {
			defer func() {
				if r := recover(); r != nil {
					_ = Panicked(g.Log, r) // for the log
				}
			}()
			late((<-done).value)
		}()
	}
	var none T
	return none, fmt.Errorf("%w: %w", errAbandoned, ctx.Err())
}

// ended is a context that has ended. It gives foreign code its patience and no more.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
