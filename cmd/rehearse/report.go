package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
)

// textFormat is the format of report that goes to the terminal, not into a file.
const textFormat = "text"

func newReport(env *Env) *cobra.Command {
	var formats []string
	var out, url string
	c := &cobra.Command{
		Use:   "report RUN",
		Short: "Write the reports of a run again",
		Long: `Write the reports of a run again, from its log. A RUN is an id, a folder, or latest. Nothing is asked, and the run's record stays as it is.

What people decided over verdicts in the browser stands beside those of the machine.

The exit code is 0 when the reports are written, whatever the run came to.`,
		Example: `  rehearse report latest
  rehearse report latest --format junit --out build/
  rehearse report .rehearse/runs/ID --format text`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return outcome(writeReports(c.Context(), env, args[0], formats, out, url))
		},
	}
	table := report.Formats()
	c.Flags().StringSliceVar(&formats, "format", table.Names(),
		"reports to write: "+table.Help()+"; text prints one here")
	c.Flags().StringVarP(&out, "out", "o", "", "folder for the reports (default: the run's own)")
	c.Flags().StringVar(&url, "report-url", "", "where CI publishes the folder of the run: "+
		"links lead there (default REHEARSE_REPORT_URL, else they are relative)")
	return c
}

// writeReports writes the reports of a run into a folder, the run's own when out is empty.
func writeReports(ctx context.Context, env *Env, name string, formats []string, out, url string) (err error) {
	url, err = env.published(url)
	if err != nil {
		return err
	}
	printed := slices.Contains(formats, textFormat)
	formats = slices.DeleteFunc(slices.Clone(formats), func(format string) bool { return format == textFormat })
	if err := report.Formats().Check(formats); err != nil {
		return usage("%w", err)
	}
	dir, err := env.findRun(ctx, name, "", ".")
	if err != nil {
		return err
	}
	if out == "" {
		out = dir
	}
	run, err := runlog.Inspect(dir)
	if err != nil {
		return usage("cannot report on the run: %w", err)
	}
	chosen := report.Formats().Choose(formats)
	s, err := env.here(wire.Options{})
	if err != nil {
		return err
	}
	defer env.closed(s)
	book, warning, err := storage.Annotations(ctx, s.StorePath(), dir, run.ID)
	if err != nil {
		return err
	}
	if warning != "" {
		fmt.Fprintln(env.Stderr, "warning: "+warning)
	}
	r := report.New(run, runlog.ReadRecords(dir, run)).At(url).Reviewed(book)
	if len(chosen) > 0 {
		if err := writeInto(ctx, r, out, chosen); err != nil {
			return err
		}
	}
	for _, file := range chosen.Files() {
		fmt.Fprintln(env.Stderr, "report: "+filepath.Join(out, file))
	}
	if !printed {
		return nil
	}
	return r.Text(env.Stdout, report.TextOptions{
		Colour: env.colours(), Width: env.Width, Dir: dir, Page: report.PageOf(out, url),
	})
}

// writeInto writes reports into a folder, unless a run is under way there or a file of that name is somebody else's.
func writeInto(ctx context.Context, r *report.Report, out string, chosen report.FormatTable) (err error) {
	if err := os.MkdirAll(out, 0o700); err != nil {
		return source.Invalid("cannot write reports: %w", err)
	}
	if _, err := os.Stat(filepath.Join(out, runlog.RunFile)); err == nil {
		lock, err := runlog.AcquireLock(ctx, out)
		if err != nil {
			return source.AsInvalid(err)
		}
		defer func() { err = errors.Join(err, lock.Release()) }()
	}
	if foreign, err := runlog.Unrelated(out, chosen.Marks()); foreign != "" {
		return source.Invalid("cannot write reports: %s is there and no run has written it: move it away, "+
			"or choose another folder with --out",
			filepath.Join(out, foreign))
	} else if err != nil {
		return source.Invalid("cannot write reports: %w", err)
	}
	return r.Write(out, chosen)
}
