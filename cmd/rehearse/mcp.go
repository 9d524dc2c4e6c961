package main

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/web/mcptools"
)

func newMCP(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Serve this program's commands as tools to a coding agent, over MCP",
		Long: `Serve commands of this program as tools to a coding agent: an MCP server on standard input and output. The tools are init, validate, run, show,
compare, grade and graders. Each works in this folder and does what the command of its name does, with the same files, keys and rights.

A tool returns the command's exit code, what the code means, and what the command printed: of more than 24 KB the beginning and the end, with the
number of bytes left out between them. Exit codes of 2 and more are errors of the tool. Secrets are masked. No tool replaces files that exist
with others of its own.

It ends when its input does, after everything that was asked is answered. A signal, and a client that cancels a call, interrupt a run as Ctrl-C does:
it can be resumed.`,
		Example: `  rehearse mcp
  claude mcp add rehearse -- rehearse mcp     with Claude Code, in the folder of the project`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, release := untilSignal(c.Context(), env)
			defer release()
			err := mcptools.Serve(ctx, version(), env.within, env.Stdin, env.Stdout)
			if ctx.Err() != nil {
				return nil
			}
			return outcome(err)
		},
	}
}

// within runs a command line inside this process, without input and without colours.
func (e *Env) within(line []string, out, notes io.Writer, signals <-chan os.Signal) int {
	lookup := func(name string) (string, bool) {
		if name == "FORCE_COLOR" {
			return "", false
		}
		return e.LookupEnv(name)
	}
	return Main(context.Background(), &Env{
		Stdin: strings.NewReader(""), Stdout: out, Stderr: notes, Environ: e.Environ, LookupEnv: lookup, Now: e.Now,
		Signals: signals,
	}, line)
}
