package main

import (
	"fmt"

	"rehearse/internal/dataset"
	"rehearse/internal/redact"
	"rehearse/internal/result"
)

// concluded prints what has become of the items of a dataset, and why some were not put or deleted, which verb says. again says what to do next.
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
	secrets := redact.New(env.Environ)
	for i, f := range o.Failed {
		if i == maxPrinted {
			fmt.Fprintf(env.Stderr, "  … and %d more\n", len(o.Failed)-i)
			break
		}
		fmt.Fprintf(env.Stderr, "  %s: %s\n", harmless(f.ID), secrets.Text(harmless(f.Err.Error())))
	}
	switch n := len(o.NotTried); {
	case o.Interrupted:
		fmt.Fprintf(env.Stderr, "rehearse: interrupted; %s not %s, or not known to be: %s\n", plural(n, "item"), verb, fewIDs(o.NotTried))
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
	secrets := redact.New(env.Environ)
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
