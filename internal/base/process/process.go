// Package process starts the programs that suites and configurations name: graders and agents. No shell is run, nothing
// of the environment is inherited unasked, and each program leads a process group, so that it ends with all that it has
// started.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Grace is how long a program may take to end once its standard input is closed, and how long those that it has started
// may go on writing after it has ended.
const Grace = 2 * time.Second

// maxSaid is how much of the end of a program's standard error is kept, in bytes.
const maxSaid = 4 << 10

// Command says what is started.
type Command struct {
	// Words are the program and its arguments. A program with a slash in its name is found from Dir, another one on the
	// PATH.
	Words []string
	// Dir is the working folder; empty means that of this process.
	Dir string
	// Env is the whole environment, in the form of os.Environ; nil is an empty one.
	Env []string
}

// Process is a running program. One goroutine may write while another one reads; Stop may be called at any time, and
// must be called once the program is of no use any more: only then nothing of it is left.
type Process struct {
	cmd           *exec.Cmd
	stdin, stdout *os.File
	stderr        *os.File
	said          tail

	// reading guards ended and the deadline of stdout.
	reading sync.Mutex
	// ended is when the program has ended; zero while it runs.
	ended time.Time
	// killing guards gone and killed. No signal goes to the group once it is gone, because its number may be another's
	// by then.
	killing      sync.Mutex
	groupGone    bool
	killed       bool
	exit         error
	exited       chan struct{} // closed when the program has ended; exit is set
	drained      chan struct{} // closed when its output was read to the end
	stopping     chan struct{} // closed by the first Stop
	gone         chan struct{} // closed when its group was killed and its error output read
	drain, stops sync.Once
}

// Start starts a program. The error says that it cannot be started and why.
func Start(c Command) (*Process, error) {
	p := &Process{
		exited: make(chan struct{}), drained: make(chan struct{}), stopping: make(chan struct{}),
		gone: make(chan struct{}),
	}
	p.cmd = exec.Command(c.Words[0], c.Words[1:]...) //nolint:noctx // Stop ends it with all that it has started
	p.cmd.Dir = c.Dir
	p.cmd.Env = append([]string{}, c.Env...) // not nil: a nil Env would pass on every secret
	ownGroup(p.cmd)
	theirs := make([]*os.File, 0, 3)
	pipe := func() (r, w *os.File, err error) { return os.Pipe() }
	in, ours, err := pipe()
	if err == nil {
		theirs, p.stdin, p.cmd.Stdin = append(theirs, in), ours, in
		p.stdout, in, err = pipe()
	}
	if err == nil {
		theirs, p.cmd.Stdout = append(theirs, in), in
		p.stderr, in, err = pipe()
	}
	if err == nil {
		theirs, p.cmd.Stderr = append(theirs, in), in
		err = p.cmd.Start()
	}
	for _, file := range theirs {
		_ = file.Close() // the program has its own
	}
	if err != nil {
		p.closePipes()
		return nil, fmt.Errorf("cannot be started: %w", err)
	}
	go p.watch()
	return p, nil
}

func (p *Process) closePipes() {
	for _, file := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if file != nil {
			_ = file.Close() // it was open
		}
	}
}

// watch waits for the end of the program and kills what it has left behind.
func (p *Process) watch() {
	listened := make(chan struct{})
	go func() {
		defer close(listened)
		_, _ = io.Copy(&p.said, p.stderr) // ends with the program, or its deadline
	}()
	p.exit = p.cmd.Wait()
	p.reading.Lock()
	p.ended = time.Now()
	_ = p.stdout.SetReadDeadline(p.ended.Add(Grace)) // a pipe has deadlines
	p.reading.Unlock()
	close(p.exited)
	late := time.NewTimer(Grace)
	defer late.Stop()
	select {
	case <-p.drained:
	case <-p.stopping:
	case <-late.C:
	}
	p.killing.Lock()
	killGroup(p.cmd)
	p.groupGone = true
	p.killing.Unlock()
	// A program that has left the group may hold the pipe open.
	_ = p.stderr.SetReadDeadline(time.Now().Add(Grace / 4))
	<-listened
	close(p.gone)
}

// Write writes to the program's standard input until ctx ends; then the error is its own. That a program does not read
// is no error.
func (p *Process) Write(ctx context.Context, data []byte) error {
	_ = p.stdin.SetWriteDeadline(time.Time{})
	end := context.AfterFunc(ctx, func() { _ = p.stdin.SetWriteDeadline(time.Unix(1, 0)) })
	defer end()
	_, err := p.stdin.Write(data)
	switch {
	case err == nil, ctx.Err() == nil: // what has ended or closed its input says so by its output
		return nil
	default:
		return ctx.Err()
	}
}

// CloseInput closes the program's standard input.
func (p *Process) CloseInput() { _ = p.stdin.Close() } // closed twice is closed

// Read reads some of the program's standard output. It ends with ctx; then the error is its own. The error is io.EOF at
// the end of the output, and Grace after the end of the program.
func (p *Process) Read(ctx context.Context, into []byte) (int, error) {
	for {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		p.reading.Lock()
		deadline := time.Time{}
		if !p.ended.IsZero() {
			deadline = p.ended.Add(Grace)
		}
		_ = p.stdout.SetReadDeadline(deadline)
		p.reading.Unlock()
		end := context.AfterFunc(ctx, func() { _ = p.stdout.SetReadDeadline(time.Unix(1, 0)) })
		n, err := p.stdout.Read(into)
		end()
		switch {
		case n > 0:
			return n, nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case errors.Is(err, os.ErrDeadlineExceeded) && !p.late():
			continue // an earlier context's end came late
		}
		p.drain.Do(func() { close(p.drained) })
		return 0, io.EOF
	}
}

// late reports whether Grace has passed since the program has ended.
func (p *Process) late() bool {
	p.reading.Lock()
	defer p.reading.Unlock()
	return !p.ended.IsZero() && time.Since(p.ended) >= Grace
}

// Exited is closed when the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Stop ends the program: its standard input is closed, and after grace it is killed with all that it has started. It
// returns when nothing of it is left. It may be called several times.
func (p *Process) Stop(grace time.Duration) {
	p.CloseInput()
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-p.exited:
	case <-late.C:
		p.killing.Lock()
		if !p.groupGone {
			killGroup(p.cmd)
			p.killed = true
		}
		p.killing.Unlock()
	}
	p.stops.Do(func() { close(p.stopping) })
	<-p.gone
	p.closePipes()
}

// Killed reports whether Stop had to kill the program.
func (p *Process) Killed() bool {
	p.killing.Lock()
	defer p.killing.Unlock()
	return p.killed
}

// Exit returns how the program has ended, after Exited: nil for status 0, else an *exec.ExitError.
func (p *Process) Exit() error { return p.exit }

// EndError is a program that has ended while something was expected of it.
type EndError struct {
	// How says how it has ended, with its status.
	How string
	// Stderr is the end of what it wrote to its standard error.
	Stderr string
}

func (e *EndError) Error() string {
	if e.Stderr == "" {
		return e.How
	}
	return e.How + ", and it says: " + e.Stderr
}

// Ended returns how the program has ended, after Stop. It is never nil.
func (p *Process) Ended() error {
	if p.Killed() {
		return &EndError{"the program closed its output, broke off", p.Stderr()}
	}
	return &EndError{how(p.exit), p.Stderr()}
}

// how says how a program has ended, by the error of its exit.
func how(exit error) string {
	status, ok := errors.AsType[*exec.ExitError](exit)
	switch {
	case exit == nil:
		return "the program exited with status 0"
	case ok && status.Exited():
		return fmt.Sprintf("the program exited with status %d", status.ExitCode())
	}
	return "the program exited by " + exit.Error() // a signal
}

// Stderr returns the last 4 KB of the program's standard error, without white space at its ends.
func (p *Process) Stderr() string { return strings.ToValidUTF8(strings.TrimSpace(p.said.text()), "") }

// tail keeps the last bytes of what is written. It is safe for concurrent use.
type tail struct {
	mu    sync.Mutex
	bytes []byte
}

// Write never fails.
func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes = append(t.bytes, data[max(0, len(data)-maxSaid):]...)
	if over := len(t.bytes) - maxSaid; over > 0 {
		t.bytes = append(t.bytes[:0], t.bytes[over:]...)
	}
	return len(data), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.bytes)
}
