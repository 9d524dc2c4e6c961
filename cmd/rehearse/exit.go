package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// exitError carries an exit code; a nil err has been reported already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{result.ExitInvalid, fmt.Errorf(format, args...)}
}

// outcome gives the error of a room its exit code: wrong input, or something that could not be done. It returns nil for
// nil.
func outcome(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*exitError](err); ok {
		return err
	}
	if source.IsInvalid(err) {
		return &exitError{result.ExitInvalid, err}
	}
	return &exitError{result.ExitNotRun, err}
}

// Main runs the program and returns its exit code.
func Main(ctx context.Context, env *Env, args []string) int {
	env, unread := env.withEnvFiles(args)
	env, flush := env.guarded(args)
	defer flush()
	if unread != nil {
		reportError(env, "", unread)
		return result.ExitInvalid
	}
	root := newRoot(env)
	if completing(args) {
		env.complete(root)
	}
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	ran, err := root.ExecuteContextC(ctx)
	if err == nil {
		return result.ExitPassed
	}
	code := result.ExitInvalid // what cobra itself refuses
	if exit, ok := errors.AsType[*exitError](err); ok {
		code, err = exit.code, exit.err
	}
	if err != nil {
		reportError(env, ran.Name(), err)
	}
	return code
}

// reportError prints the error of a command.
func reportError(env *Env, command string, err error) {
	if problems, ok := errors.AsType[source.Problems](err); ok {
		printProblems(env.Stderr, problems, restOf(command))
		return
	}
	fmt.Fprintln(env.Stderr, "rehearse: "+err.Error())
}

// maxPrinted is how many problems fit on a screen that someone still reads.
const maxPrinted = 200

// restOf says how to see the problems that are not printed: a command has files of another kind than suites, unless it
// is run.
func restOf(command string) string {
	if command == "run" {
		return "`rehearse validate --format json` lists all"
	}
	return "mend these first"
}

// printProblems prints problems, one in a line. rest says how to see those that are too many.
func printProblems(w io.Writer, problems source.Problems, rest string) {
	for i, p := range problems {
		if i == maxPrinted {
			fmt.Fprintf(w, "… and %d more: %s\n", len(problems)-i, rest)
			break
		}
		fmt.Fprintln(w, p.String())
	}
	if n := len(problems); n > 1 {
		fmt.Fprintf(w, "rehearse: %d problems found; nothing was run\n", n)
	}
}
