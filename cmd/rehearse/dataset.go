package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func newDataset(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "dataset",
		Short: "Move datasets between files, stores and Langfuse, and make items of conversations",
		Long: `Move datasets between files, stores and Langfuse, make items of conversations that failed or were logged and of
other tools' files, and seed a dataset from a file.

An item is {"id", "input": {"query"}, "expected_output": {"response"}, "metadata": {"site_name", "history": [{"role", "content"}]}}, or whatever else
has an input; files hold one on each line (.jsonl, also .gz). Langfuse is the one that LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and LANGFUSE_HOST name;
LANGFUSE_ENABLED=false switches it off. A dataset in a store is store:NAME in that of rehearse.yaml, sqlite:PATH#NAME, or
postgres://USER@HOST/DATABASE#NAME; a password may come from PGPASSWORD.

Exit codes: 0 done, 2 wrong usage or invalid items: nothing was changed, 3 not all could be done, 130 interrupted.`,
		Example: `  rehearse dataset list
  rehearse dataset pull main-dataset --out items.jsonl
  rehearse dataset push items.jsonl main-dataset --create
  rehearse dataset push items.jsonl store:main-dataset --create
  rehearse dataset add items.jsonl --from-run latest --test refund-twice
  rehearse dataset import stories.yml --to intents.jsonl
  rehearse dataset purge main-dataset --yes
  rehearse dataset seed examples/seeding/kestrel-rota.yaml`,
	}
	return group(c, newDatasetList(env), newDatasetPull(env), newDatasetPush(env), newDatasetAdd(env),
		newDatasetPurge(env), newDatasetSeed(env), newDatasetImport(env))
}

// named refuses a command line that has not so many arguments.
func named(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usage("%s (see `%s --help`)", what, c.CommandPath())
		}
		return nil
	}
}

// writeItems writes records to a file of JSON Lines, or to the standard output for "-".
func writeItems(out io.Writer, file string, records []dataset.Record) error {
	if file == "-" {
		return outcome(dataset.Encode(out, records))
	}
	return outcome(dataset.Write(file, records))
}

// linesFile refuses the name of a file that cannot be written, before anything is asked for.
func linesFile(flag, file string) error {
	switch {
	case file == "-":
		return nil
	case !dataset.IsLines(file):
		return usage("%s %s: items are written as JSON Lines only: call the file .jsonl or .jsonl.gz", flag, file)
	}
	return inFolder(flag, file)
}

// inFolder refuses a file that cannot be written, as its folder is not there, before anything is done for it.
func inFolder(flag, file string) error {
	if folder := filepath.Dir(file); !isDir(folder) {
		return usage("%s %s: there is no folder %s: make it first, or name another one", flag, file, folder)
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// openDataset returns the items of a dataset, and its name as it was understood.
func openDataset(ctx context.Context, env *Env, text string) (records []dataset.Record, name dataset.Name, err error) {
	err = onDatasets(ctx, env, func(ctx context.Context, places *dataset.Stores) error {
		if name, err = dataset.ParseName(text); err == nil {
			records, err = places.Read(ctx, name)
		}
		return err
	})
	return records, name, err
}

// onDatasets calls do with the places of datasets and a context that a signal ends, and gives the error its exit code.
func onDatasets(ctx context.Context, env *Env, do func(context.Context, *dataset.Stores) error) error {
	ctx, release := untilSignal(ctx, env)
	defer release()
	s, err := env.open(wire.Options{})
	if err != nil {
		return outcome(err)
	}
	defer env.closed(s)
	configured := func() (string, error) {
		here, err := s.At(".")
		if err != nil {
			return "", err
		}
		return here.StorePath(), nil
	}
	return coded(ctx, do(ctx, &dataset.Stores{
		Store: storage.Datasets(configured, s.StoreAt), Langfuse: s.Langfuse,
		Progress: reportProgress(env.Stderr, env.Now), Now: s.Now,
	}))
}

// coded gives an error its exit code: whether it is a mistake of whoever asked, a signal, or something that could not
// be done.
func coded(ctx context.Context, err error) error {
	if _, has := errors.AsType[*exitError](err); err != nil && !has && !source.IsInvalid(err) && ctx.Err() != nil {
		return &exitError{result.ExitInterrupted, errors.New("interrupted")}
	}
	return outcome(err)
}

// reportProgress prints the progress of long work every ten seconds, and nothing for short work.
func reportProgress(w io.Writer, clock func() time.Time) func(what string, done int) {
	var said time.Time
	return func(what string, done int) {
		now := clock()
		if done == 1 {
			said = now
		}
		if now.Sub(said) >= plainInterval {
			said = now
			fmt.Fprintf(w, "%d %s so far\n", done, harmless(what))
		}
	}
}

// concluded prints what has become of the items of a dataset, and why some were not put or deleted, which verb says.
// again says what to do next.
func concluded(env *Env, format, name string, o *dataset.Outcome, verb, again string) error {
	if err := printOutcome(env, format, name, o); err != nil {
		return outcome(err)
	}
	if o.Complete() {
		return nil
	}
	if n := len(o.Failed); n > 0 {
		fmt.Fprintf(env.Stderr, "rehearse: %s could not be %s:\n", plural(n, "item"), verb)
	}
	secrets := env.secrets
	for i, f := range o.Failed {
		if i == maxPrinted {
			fmt.Fprintf(env.Stderr, "  … and %d more\n", len(o.Failed)-i)
			break
		}
		fmt.Fprintf(env.Stderr, "  %s: %s\n", harmless(f.ID), secrets.Text(harmless(f.Err.Error())))
	}
	switch n := len(o.NotTried); {
	case o.Interrupted:
		fmt.Fprintf(env.Stderr, "rehearse: interrupted; %s not %s, or not known to be: %s\n", plural(n, "item"), verb,
			fewIDs(o.NotTried))
	case n > 0:
		fmt.Fprintf(env.Stderr, "rehearse: %s not tried: %s\n", plural(n, "item"), fewIDs(o.NotTried))
	}
	fmt.Fprintln(env.Stderr, "rehearse: "+again)
	if o.Interrupted {
		return &exitError{code: result.ExitInterrupted}
	}
	return &exitError{code: result.ExitNotRun}
}

type failedItem struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

func printOutcome(env *Env, format, name string, o *dataset.Outcome) error {
	if format != "json" {
		_, err := fmt.Fprintf(env.Stdout, "%s: %s\n", harmless(name), o)
		return err
	}
	secrets := env.secrets
	failed := []failedItem{}
	for _, f := range o.Failed {
		failed = append(failed, failedItem{f.ID, secrets.Text(harmless(f.Err.Error()))})
	}
	return writeJSON(env.Stdout, struct {
		Dataset   string       `json:"dataset"`
		Deleted   int          `json:"deleted"`
		New       int          `json:"new"`
		Changed   int          `json:"changed"`
		Unchanged int          `json:"unchanged"`
		Failed    []failedItem `json:"failed"`
		NotTried  []string     `json:"not_tried"`
	}{name, o.Deleted, o.New, o.Changed, o.Unchanged, failed, append([]string{}, o.NotTried...)})
}

// fewIDs lists ids, as many as somebody reads.
func fewIDs(ids []string) string { return harmless(dataset.Few(ids)) }

// warnOf warns of items, if there are any; the format takes how many there are and which.
func warnOf(env *Env, ids []string, format string) {
	if len(ids) > 0 {
		fmt.Fprintf(env.Stderr, "rehearse: "+format+"\n", plural(len(ids), "item"), fewIDs(ids))
	}
}

// warnUnexpected names the items that do not say what is expected: they can be kept, but not graded.
func warnUnexpected(env *Env, records []dataset.Record) {
	warnOf(env, dataset.Unexpected(records), "%s without an expected output, by which an answer could be graded: %s")
}

// warnArchived names the items that Langfuse leaves out of runs although they were put.
func warnArchived(env *Env, o *dataset.Outcome) {
	warnOf(env, o.Archived, "%s archived in Langfuse and staying so: %s")
}

// shownName is what a dataset is called where its outcome is printed: one in Langfuse has no scheme before its name.
func shownName(n dataset.Name) string {
	if n.Kind == dataset.InLangfuse {
		return n.Dataset
	}
	return n.String()
}
