package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/detect"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/shell"
)

//go:embed starter
var starter embed.FS

type initFlags struct {
	agent, preset, message, format string
	force                          bool
}

func newInit(env *Env) *cobra.Command {
	f := &initFlags{}
	c := &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Write a suite with its configuration, for your agent or as a demonstration",
		Long: `Write suite.yaml and rehearse.yaml into FOLDER (default: this one), with the schemas by which editors check them.

With --agent, one message is sent to your agent: to a URL, with a pasted curl line (or @FILE with one), to cmd:PROGRAM, a2a:URL or ws://…. What
the agent answers says how it is asked, where its reply is, and where it gives the id of a conversation. To a URL that does not take the message, other
bodies are sent, at most 8 in all. A credential of a curl line is not written: a variable of the environment takes its place, which is named.
Without --agent, the agent and the judge are scripts, so that everything runs without a key at once.

Files that exist are kept unless --force is given.

Exit codes: 0 written, 2 wrong usage or files that exist, 3 no reply was found; then nothing is written.`,
		Example: `  rehearse init
  rehearse init evals && rehearse run evals/suite.yaml
  rehearse init evals --agent http://127.0.0.1:8000/chat
  rehearse init evals --agent http://127.0.0.1:8000/v1 --preset openai
  rehearse init evals --agent "curl https://shop.example/chat -H 'Authorization: Bearer …' --json '{\"text\": \"hi\"}'"
  rehearse init evals --agent @request.txt                 the same, pasted into a file
  rehearse init evals --agent 'cmd:python3 agent.py' --message 'What does it cost?'
  rehearse init evals --agent a2a:https://agent.example --format json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return f.run(c, env, dir)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.agent, "agent", "",
		"agent that the files are for: a URL, a curl line, @FILE with one, cmd:PROGRAM, a2a:URL or ws://…")
	flags.StringVar(&f.preset, "preset", "", "with --agent and a URL: what the agent speaks (see `rehearse targets`)")
	flags.StringVar(&f.message, "message", "",
		fmt.Sprintf("with --agent: the message that is sent (default %q)", detect.Question))
	flags.StringVar(&f.format, "format", "text", "with --agent: text or json")
	flags.BoolVar(&f.force, "force", false, "replace files that exist")
	return c
}

func (f *initFlags) run(c *cobra.Command, env *Env, dir string) error {
	given := c.Flags().Changed
	switch {
	case f.format != "text" && f.format != "json":
		return usage("unknown format %q: use text or json", f.format)
	case given("agent"):
		return outcome(f.probe(c.Context(), env, dir))
	case given("preset") || given("message") || given("format"):
		return usage("--preset, --message and --format need an agent: name it with --agent")
	}
	return outcome(f.starter(env, dir))
}

// probe writes files for an agent that is there.
func (f *initFlags) probe(ctx context.Context, env *Env, dir string) error {
	if !f.force {
		if err := detect.Free(dir, "rehearse.yaml", "suite.yaml"); err != nil {
			return err
		}
	}
	agent := f.agent
	if file, ok := strings.CutPrefix(agent, "@"); ok {
		var err error
		if agent, err = env.curlLine("--agent", file, true); err != nil {
			return err
		}
	}
	s, err := env.open(wire.Options{})
	if err != nil {
		return err
	}
	defer env.closed(s)
	ctx, release := untilSignal(ctx, env)
	defer release()
	found, err := detect.Find(ctx, s, detect.Request{Agent: agent, Preset: f.preset, Message: f.message, Folder: dir})
	if err != nil {
		return err
	}
	files, err := found.Files(f.message)
	if err != nil {
		return err
	}
	written, err := detect.Write(dir, files)
	if err != nil {
		return err
	}
	if f.format == "json" {
		return found.JSON(env.Stdout, written)
	}
	return found.Report(env.Stdout, written, "rehearse run "+shell.Quote(filepath.Join(dir, "suite.yaml")))
}

// starter writes the demonstration.
func (f *initFlags) starter(env *Env, dir string) error {
	names, err := fs.Glob(starter, "starter/*")
	if err != nil {
		return err
	}
	var files []detect.File
	for _, name := range names {
		data, err := starter.ReadFile(name)
		if err != nil {
			return err
		}
		files = append(files, detect.File{Path: filepath.Base(name), Data: data})
		if !f.force {
			if err := detect.Free(dir, filepath.Base(name)); err != nil {
				return err
			}
		}
	}
	written, err := detect.Write(dir, detect.WithSchemas(files))
	if err != nil {
		return err
	}
	for _, path := range written {
		fmt.Fprintln(env.Stdout, "wrote "+path)
	}
	_, err = fmt.Fprintf(env.Stdout, "\nNow run\n  rehearse run %s\n", shell.Quote(filepath.Join(dir, "suite.yaml")))
	return err
}
