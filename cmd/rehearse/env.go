package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/telemetry"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/eval/target/curl"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/report/ci"
)

// Env is everything that the program touches outside its arguments and files, so that a test can run it whole.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string
	LookupEnv      func(string) (string, bool)
	Now            func() time.Time
	Signals        <-chan os.Signal
	// Interactive is true when progress may redraw its line on Stderr; Colour when Stdout may have colours.
	Interactive, Colour bool
	// Width is that of the terminal on Stdout in cells, 0 without one.
	Width int

	// envFiles are the files that --env-file names.
	envFiles []string
	// secrets keeps secrets out of what is written; screen is Stderr as it is, for what redraws a line. Main sets both.
	secrets *wire.Redactor
	screen  io.Writer
	// commands writes what a CI system carries out to Stdout, unguarded but for secrets, in lines of its own.
	commands func(write func(io.Writer) error) error
}

// guarded returns e with streams that show what is written, without secrets, and let it do nothing else: no text from
// outside steers a terminal or a CI system. flush writes what they still hold.
func (e *Env) guarded(args []string) (guarded *Env, flush func()) {
	own := *e
	own.secrets, own.screen = wire.Secrets(e.Environ, args), e.Stderr
	flushes := []func() error{}
	guard := func(w io.Writer) io.Writer {
		shown := text.NewOutput(&untilLeft{to: w})
		redacted := own.secrets.Writer(shown)
		flushes = append(flushes, redacted.Flush, shown.Flush)
		return redacted
	}
	own.Stdout, own.Stderr = guard(e.Stdout), guard(e.Stderr)
	flush = func() {
		for _, f := range flushes {
			_ = f() // a stream that is closed needs nothing more
		}
	}
	own.commands = func(write func(io.Writer) error) error {
		flush()
		plain := own.secrets.Writer(&untilLeft{to: e.Stdout})
		return errors.Join(write(plain), plain.Flush())
	}
	return &own, flush
}

// untilLeft passes on what is written until nobody reads it any more, as behind head. What a command does, and its exit
// code, stay the same.
type untilLeft struct {
	to   io.Writer
	left bool
}

// Write passes data on. It is not safe for concurrent use.
func (u *untilLeft) Write(data []byte) (int, error) {
	if u.left {
		return len(data), nil
	}
	n, err := u.to.Write(data)
	if u.left = errors.Is(err, syscall.EPIPE); u.left {
		return len(data), nil
	}
	return n, err
}

// colours reports whether Stdout gets colours: FORCE_COLOR wants them without a terminal, NO_COLOR never.
func (e *Env) colours() bool {
	force := e.Getenv("FORCE_COLOR")
	return e.Getenv("NO_COLOR") == "" && (e.Colour || force != "" && force != "0")
}

// Getenv returns a variable's value, or nothing.
func (e *Env) Getenv(name string) string {
	value, _ := e.LookupEnv(name)
	return value
}

// open opens the configuration and the recording for a command. What o leaves open is that of the process.
func (e *Env) open(o wire.Options) (*wire.Setup, error) {
	o.Environ, o.Secrets, o.LookupEnv, o.Now = e.Environ, e.secrets, e.LookupEnv, e.Now
	if o.Warn == nil {
		o.Warn = e.warn()
	}
	return wire.Open(o)
}

// here opens the configuration that applies to this folder.
func (e *Env) here(o wire.Options) (*wire.Setup, error) {
	s, err := e.open(o)
	if err != nil {
		return nil, err
	}
	at, err := s.At(".")
	if err != nil {
		e.closed(s)
	}
	return at, err
}

// traced returns a context whose spans go to the collector that the environment names. sent sends what is left of them.
func (e *Env) traced(ctx context.Context, warn func(text string)) (traced context.Context, sent func()) {
	return langfuse.OpenTraces(ctx, telemetry.Options{
		LookupEnv: e.LookupEnv, Version: version(), Mask: e.secrets.Text, Warn: warn,
	})
}

// warn returns a function that tells of what stops nothing. It is safe for concurrent use.
func (e *Env) warn() func(text string) {
	var mu sync.Mutex
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(e.Stderr, "rehearse: "+text)
	}
}

// say prints a sentence of a room that has no secrets in it.
func (e *Env) say(sentence string) { fmt.Fprintln(e.Stderr, sentence) }

// closed closes what a command has opened, and says what could not be closed. The command's own outcome stays.
func (e *Env) closed(s *wire.Setup) {
	if err := s.Close(); err != nil {
		fmt.Fprintln(e.Stderr, "rehearse: "+err.Error())
	}
}

// interruptible returns a context and a stop channel for work that a user may end. The first signal closes stop, so
// that what is in flight finishes; after the grace period, or at a second signal, the context is cancelled. note prints
// a line meanwhile. release ends the watch.
func (e *Env) interruptible(ctx context.Context, grace time.Duration,
	note func(string)) (working context.Context, stop <-chan struct{}, release func()) {
	working, cancel := context.WithCancel(ctx)
	stopping, finished, watched := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-finished:
			return
		case <-e.Signals:
		}
		close(stopping)
		note(fmt.Sprintf("finishing what is in flight (at most %s); press Ctrl-C again to stop at once", grace))
		over := time.NewTimer(grace)
		defer over.Stop()
		select {
		case <-finished:
		case <-e.Signals:
			cancel()
		case <-over.C:
			cancel()
		}
	}()
	return working, stopping, func() {
		close(finished)
		<-watched
		cancel()
	}
}

// untilSignal returns a context that a signal ends; release stops listening.
func untilSignal(ctx context.Context, env *Env) (working context.Context, release func()) {
	working, cancel := context.WithCancel(ctx)
	listened := make(chan struct{})
	go func() {
		defer close(listened)
		select {
		case <-env.Signals:
			cancel()
		case <-working.Done():
		}
	}()
	return working, func() {
		cancel()
		<-listened
	}
}

// begins calls do, which may wait for what is not there yet, with a context that a signal ends. It reports whether a
// signal came; then the error is only that of a do that ended before.
func (e *Env) begins(ctx context.Context, do func(context.Context) error) (stopped bool, err error) {
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	done, listened := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(listened)
		select {
		case <-e.Signals:
			stopped = true
			cancel()
		case <-done:
		}
	}()
	err = do(working)
	close(done)
	<-listened
	if stopped && err != nil && working.Err() != nil {
		err = nil
	}
	return stopped, err
}

// interruptibly calls do with a context that a signal ends.
func interruptibly(ctx context.Context, env *Env, do func(context.Context)) {
	ctx, release := untilSignal(ctx, env)
	defer release()
	do(ctx)
}

// maxCurl bounds a file with a curl line.
const maxCurl = 1 << 20

// curlTarget returns the target that the curl line of a flag describes, by its name; nil for no file (curlLine).
func (e *Env) curlTarget(flag, file string, said bool) (map[string]config.Target, error) {
	line, err := e.curlLine(flag, file, said)
	if err != nil || line == "" {
		return nil, err
	}
	_, mapping, err := curl.Read(line, e.secrets)
	if err != nil {
		return nil, outcome(source.Invalid("%s: %w", flag, err))
	}
	t, err := target.Read(flag, mapping)
	return map[string]config.Target{wire.CurlTarget: t}, outcome(err)
}

// curlLine returns the curl line in a file that a flag names, or on the standard input for -; empty for no file. Said
// is true if this command line names it: what an earlier one had on its standard input is gone.
func (e *Env) curlLine(flag, file string, said bool) (string, error) {
	var from io.Reader
	switch {
	case file == "":
		return "", nil
	case file != "-":
		f, err := os.Open(file)
		if err != nil {
			return "", usage("%s: %w", flag, err)
		}
		defer f.Close() //nolint:errcheck // it was only read
		from = f
	case !said:
		return "", usage("the curl line of this run was read from standard input and is not kept: " +
			"give it again with --target-curl FILE, or - for standard input")
	default:
		from = e.Stdin
	}
	line, err := io.ReadAll(io.LimitReader(from, maxCurl+1))
	switch {
	case err != nil:
		return "", usage("%s: %w", flag, err)
	case len(line) > maxCurl:
		return "", usage("%s %s: a curl line of more than %d MB", flag, file, maxCurl>>20)
	case len(line) == 0:
		return "", usage("%s %s: the file is empty: paste a curl line into it", flag, file)
	}
	return string(line), nil
}

// tellCI tells the CI system how a run came out, on standard output only where people read it (printed), not where it
// is JSON. What it cannot be told is a warning: the run's verdict stands.
func (e *Env) tellCI(name string, printed bool, said ci.Summary) {
	system, err := ci.Detect(name, e.Getenv)
	if err == nil && e.commands != nil {
		err = e.commands(func(w io.Writer) error {
			if !printed {
				w = io.Discard
			}
			return system.Report(w, said)
		})
	}
	if err != nil {
		fmt.Fprintln(e.Stderr, "rehearse: the CI system was not told: "+err.Error())
	}
}

// published returns where CI publishes the folder of the run: what a flag says, else the environment.
func (e *Env) published(said string) (string, error) {
	if said == "" {
		said = e.Getenv("REHEARSE_REPORT_URL")
	}
	if err := report.CheckAddress(said); err != nil {
		return "", usage("bad --report-url: %w", err)
	}
	return said, nil
}
