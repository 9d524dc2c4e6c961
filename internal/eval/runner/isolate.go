package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
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

// isolate runs code of a target or a grader in a goroutine of its own, so that neither a panic nor a hang of it ends
// more than its test. A panic is an error. Code that goes on for longer than patience after ctx has ended is abandoned:
// the error is then errAbandoned, and late, if it is not nil, gets what the code returns in the end.
func isolate[T any](ctx context.Context, log *slog.Logger, run func() (T, error), late func(T)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1) // has room, so that abandoned code can end
	go func() {
		o := outcome{err: errors.New("it ended without an answer")}
		defer func() {
			if r := recover(); r != nil {
				o.err = Panicked(log, r)
			}
			done <- o
		}()
		o.value, o.err = run()
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
	}
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case o := <-done:
		return o.value, o.err
	case <-wait.C:
	}
	if late != nil {
		go func() {
			defer func() {
				if r := recover(); r != nil {
					_ = Panicked(log, r) // for the log
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
