package main

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TestSignalEndsWaitForSuite: whoever pipes nothing into `rehearse run -` can leave.
func TestSignalEndsWaitForSuite(t *testing.T) {
	reader, writer := io.Pipe()
	defer writer.Close()
	signals := make(chan os.Signal, 1)
	signals <- os.Interrupt
	var said strings.Builder
	env := &Env{
		Stdin: reader, Stdout: io.Discard, Stderr: &said, Signals: signals, Now: time.Now,
		LookupEnv: func(string) (string, bool) { return "", false },
	}
	if code := Main(t.Context(), env, []string{"run", "-"}); code != result.ExitInterrupted ||
		!strings.Contains(said.String(), "interrupted") {
		t.Errorf("exit code %d, %q", code, said.String())
	}
}
