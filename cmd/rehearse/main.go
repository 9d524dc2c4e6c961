// Command rehearse puts conversational agents through their conversations: it holds declared multi-turn conversations with an agent,
// grades every turn and the whole, and says what passed, what failed and why.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/term"
)

// gcPercent trades a little time for memory: a run waits for models most of the time, and shares its machine with what it tests.
const gcPercent = 60

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	env := &Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(), LookupEnv: os.LookupEnv, Now: time.Now, Signals: signals,
		Interactive: term.IsTerminal(int(os.Stderr.Fd())), Colour: term.IsTerminal(int(os.Stdout.Fd())),
	}
	os.Exit(Main(context.Background(), env, os.Args[1:]))
}
