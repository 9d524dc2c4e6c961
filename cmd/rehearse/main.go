// Command rehearse puts conversational agents through their conversations: it holds declared multi-turn conversations
// with an agent, grades every turn and the whole, and says what passed, what failed and why.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"

	"golang.org/x/term"
)

func main() {
	signals := make(chan os.Signal, 2) // first of all: until then a signal ends the program
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	// a reader who has left ends no run; programs that are started do not inherit it
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if os.Getenv("GOGC") == "" {
		collectByLive()
	}
	env := &Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(), LookupEnv: os.LookupEnv, Now: time.Now, Signals: signals,
		Interactive: term.IsTerminal(int(os.Stderr.Fd())), Colour: term.IsTerminal(int(os.Stdout.Fd())),
	}
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		env.Width = width
	}
	os.Exit(Main(context.Background(), env, os.Args[1:]))
}

const (
	// leastSlack is how much garbage may always gather: collecting a small heap early would cost more than half of the
	// time to load a suite.
	leastSlack = 8 << 20
	// gcPercent is how much garbage may gather beside a large heap. It trades a little time for memory: a run waits for
	// models most of the time, and shares its machine with what it tests.
	gcPercent = 60
)

// collectByLive lets the garbage collector run when leastSlack bytes of garbage have gathered, or gcPercent of what is
// alive, whichever is more. It looks again after every collection.
func collectByLive() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := gcPercent
	if bytes := live[0].Value.Uint64(); bytes < leastSlack*100/gcPercent {
		percent = int(leastSlack * 100 / max(bytes, 4<<20)) // below 4 MB the runtime counts 4 MB
	}
	debug.SetGCPercent(percent)
	runtime.AddCleanup(new([16]byte), func(struct{}) { collectByLive() }, struct{}{})
}
