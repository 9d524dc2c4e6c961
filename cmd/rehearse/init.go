package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

//go:embed starter
var starter embed.FS

func newInit(env *Env) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Write a starter suite with its configuration",
		Long: `Write suite.yaml, rehearse.yaml, and scripts for an agent and a judge, so that everything runs without a key at once.
Files that exist are kept unless --force is given.`,
		Example: `  rehearse init
  rehearse init evals && rehearse run evals/suite.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return writeStarter(env, dir, force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "replace files that exist")
	return c
}

func writeStarter(env *Env, dir string, force bool) error {
	files, err := fs.Glob(starter, "starter/*")
	if err != nil {
		return err
	}
	if !force {
		for _, name := range files {
			path := filepath.Join(dir, filepath.Base(name))
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				return usage("%s exists already: choose another folder, or add --force to replace it", path)
			}
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usage("cannot write: %w", err)
	}
	for _, name := range files {
		data, err := starter.ReadFile(name)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return usage("cannot write: %w", err)
		}
		fmt.Fprintln(env.Stdout, "wrote "+path)
	}
	_, err = fmt.Fprintf(env.Stdout, "\nNow run\n  rehearse run %s\n", filepath.Join(dir, "suite.yaml"))
	return err
}
