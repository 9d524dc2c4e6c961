// Package mcptools offers commands of this program as tools of the Model Context Protocol, to a coding agent.
package mcptools

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rehearse-dev/rehearse/internal/model/mcp"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

const (
	// maxOutput and maxNotes bound what a tool returns of a command's two streams, in bytes.
	maxOutput = 24 << 10
	maxNotes  = 4 << 10
	// maxCalls is how many tools work at once; others wait.
	maxCalls = 4
)

// Run runs a command line of the program with its two streams and returns its exit code. A signal interrupts it.
type Run func(line []string, out, notes io.Writer, signals <-chan os.Signal) (code int)

// Server runs commands for the tools of one session. It is safe for concurrent use.
type Server struct {
	version string
	run     Run
	// slots has an element for each call at work.
	slots chan struct{}
	// ending is closed when the session is to end.
	ending <-chan struct{}
}

// Serve speaks the protocol over in and out until in ends and every call is answered, or ctx ends; then the commands at
// work are interrupted. It returns when none is at work any more.
func Serve(ctx context.Context, version string, run Run, in io.Reader, out io.Writer) error {
	s := &Server{version, run, make(chan struct{}, maxCalls), ctx.Done()}
	err := mcp.Speak(ctx, s.session(), in, out)
	for range maxCalls {
		s.slots <- struct{}{}
	}
	return err
}

// Result is what a command came to.
type Result struct {
	ExitCode int    `json:"exit_code" jsonschema:"exit code of the command"`
	Meaning  string `json:"meaning" jsonschema:"what the exit code means"`
	Output   string `json:"output" jsonschema:"what the command printed"`
	Notes    string `json:"notes" jsonschema:"warnings, errors and progress of the command"`
	LeftOut  int    `json:"bytes_left_out" jsonschema:"bytes of output and notes that are not here; 0 if they are whole"`
}

// call runs a command line. Success says what exit code 0 of it means. Tell gets each line of its notes at once. When
// ctx or the session ends, the command is interrupted.
func (s *Server) call(ctx context.Context, line []string, success string, tell func(line string)) (Result, error) {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return Result{}, ctx.Err()
	case <-s.ending:
		return Result{}, context.Canceled
	}
	defer func() { <-s.slots }()
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-done:
			return
		case <-ctx.Done():
		case <-s.ending:
		}
		signals <- os.Interrupt
	}()
	output, notes := excerpt{max: maxOutput}, excerpt{max: maxNotes}
	code := s.run(line, &output, io.MultiWriter(&notes, &lines{tell: tell}), signals)
	return Result{
		code, meaning(code, success), output.String(), notes.String(), output.leftOut() + notes.leftOut(),
	}, nil
}

// meaning says what an exit code means.
func meaning(code int, success string) string {
	switch code {
	case result.ExitPassed:
		return success
	case result.ExitFailed:
		return "failed"
	case result.ExitInvalid:
		return "wrong usage or invalid input"
	case result.ExitInterrupted:
		return "interrupted"
	}
	return "something could not be run or graded"
}

// shown returns what a client is shown: the exit code first, then what was printed.
func (r Result) shown() *sdk.CallToolResult {
	var said strings.Builder
	fmt.Fprintf(&said, "exit code %d: %s\n", r.ExitCode, r.Meaning)
	for _, part := range []string{r.Output, r.Notes} {
		if part != "" {
			said.WriteString("\n" + part)
		}
	}
	return &sdk.CallToolResult{
		Content: []sdk.Content{&sdk.TextContent{Text: said.String()}}, IsError: r.ExitCode >= result.ExitInvalid,
	}
}
