package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/demo"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages"
)

// demoFlags is what can be said on the command line of demo.
type demoFlags struct {
	addr            string
	noOpen, noServe bool
}

func newDemo(env *Env) *cobra.Command {
	f := &demoFlags{}
	c := &cobra.Command{
		Use:   "demo [FOLDER]",
		Short: "Show everything at work: no key, no server, nothing to set up",
		Long: `Show everything at work. Examples are written into FOLDER (default: rehearse-demo), and commands are run in it, each of which is printed so that you can
run it again, with the lines of its output that matter (all of them are in .rehearse/demo): three conversations; two assistants on one suite, with faults and a flaky test; a classifier; a real log, imported and replayed
against a new flow. At last the pages on all of it are served, with a website's chatbot to talk to. All models are scripts or inside the program.

Files that are there are kept: change a reply and run the demonstration again.

Exit codes: 0 after Ctrl-C, 2 for a folder that holds something else, 3 when a command did not end as it should, 130 when it was interrupted before
the pages were there.`,
		Example: `  rehearse demo
  rehearse demo /tmp/look --addr 127.0.0.1:8090 --no-open
  rehearse demo --no-serve && cd rehearse-demo && rehearse view`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir := "rehearse-demo"
			if len(args) == 1 {
				dir = args[0]
			}
			return f.run(c.Context(), env, dir)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.addr, "addr", "127.0.0.1:0", "address to listen on; port 0 takes a free one")
	flags.BoolVar(&f.noOpen, "no-open", false, "do not open the browser")
	flags.BoolVar(&f.noServe, "no-serve", false, "run the commands only")
	return c
}

// run writes the files, runs the commands in their folder, and serves what they left.
func (f *demoFlags) run(ctx context.Context, env *Env, dir string) error {
	if err := demo.Write(dir); err != nil {
		return outcome(err)
	}
	if err := os.Chdir(dir); err != nil {
		return outcome(err)
	}
	fmt.Fprintf(env.Stdout, "The files are in %s.\n", filepath.Clean(dir))
	for _, step := range demo.Steps() {
		if err := f.hold(ctx, env, step); err != nil {
			return err
		}
	}
	if f.noServe {
		fmt.Fprintf(env.Stdout, "\nLook at all of it: cd %s && %s\n", filepath.Clean(dir), demo.Serve(f.addr).Command())
		return nil
	}
	return f.serve(ctx, env)
}

// hold runs one command as if it had been typed. It shows the lines that matter, and keeps all of them in a file; all
// of a command that does not end as it should are shown.
func (f *demoFlags) hold(ctx context.Context, env *Env, step demo.Step) error {
	f.announce(env, step)
	var said bytes.Buffer
	plain := *env
	plain.Stdout, plain.Stderr = &said, &said
	plain.Interactive = false // lines that are redrawn belong to a command that has the terminal for itself
	code := Main(ctx, &plain, step.Args)
	if !slices.Contains(step.Exits, code) {
		_, _ = env.Stderr.Write(said.Bytes()) // what went wrong is told below in any case
	}
	switch {
	case slices.Contains(step.Exits, code):
		return outcome(f.printStep(env, step, said.String()))
	case code == result.ExitInterrupted:
		return &exitError{code: code}
	default:
		return &exitError{
			result.ExitNotRun, fmt.Errorf("`%s` ended with %d, and not as it should", step.Command(), code),
		}
	}
}

// printStep shows what matters of a step's output, and writes all of it into a file.
func (f *demoFlags) printStep(env *Env, step demo.Step, said string) error {
	lines := step.Shown(said)
	for _, line := range lines {
		fmt.Fprintln(env.Stdout, line)
	}
	rest := strings.Count(said, "\n") - len(lines)
	if rest <= 0 {
		return nil
	}
	file := filepath.Join(wire.StateDir, "demo", step.Name+".txt")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "  … and %s in %s\n", text.Plural(rest, "more line"), filepath.ToSlash(file))
	return os.WriteFile(file, []byte(said), 0o600)
}

func (f *demoFlags) announce(env *Env, step demo.Step) {
	fmt.Fprintf(env.Stdout, "\n%s\n$ %s\n", step.Title, step.Command())
}

// serve shows the pages until a signal.
func (f *demoFlags) serve(ctx context.Context, env *Env) error {
	step := demo.Serve(f.addr)
	f.announce(env, step)
	c := serveCommand(env, &serveFlags{opened: func(base string) {
		for _, look := range demo.Commands() {
			fmt.Fprintf(env.Stdout, "  %s\n    %s\n", base+look[0], look[1])
		}
		fmt.Fprintln(env.Stderr, "rehearse: showing the pages until Ctrl-C")
		if env.Interactive && !f.noOpen {
			if err := pages.Browse(ctx, base+"/runs"); err != nil {
				fmt.Fprintf(env.Stderr, "rehearse: open the address in a browser (%v)\n", err)
			}
		}
	}})
	c.SetArgs(step.Args[1:])
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(ctx)
	if errors.Is(err, coordinator.ErrServed) {
		return usage("another demonstration of this folder is still shown: end it, " +
			"or choose another folder with `rehearse demo FOLDER`")
	}
	return err
}
