package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"rehearse/internal/report/classification"
	"rehearse/internal/result"
	"rehearse/internal/setup"
	"rehearse/internal/source"
)

// classifyPart is one of the evaluations of `all`.
type classifyPart struct {
	Name   string `json:"target"`
	Passed bool   `json:"passed"`
	// Summary is the verdict, or why there is none.
	Summary string                 `json:"summary"`
	Report  *classification.Report `json:"classification,omitempty"` // not of e2e-api, whose report has a form of its own
	err     error
}

// classifySummary is what `all` came to.
type classifySummary struct {
	Passed bool           `json:"passed"`
	Parts  []classifyPart `json:"targets"`
}

// runAll evaluates everything there is of the chatbot, one after the other (S3.34). What cannot be evaluated keeps nothing else from it, but for
// an interruption; the exit code is the worst of all.
func (f *classifyFlags) runAll(ctx context.Context, env *Env) error {
	all := classifySummary{Passed: true}
	worst := result.ExitPassed
	for _, name := range []string{intentClassifier, skillSelector, e2eAPI} {
		part, code := f.part(ctx, env, name)
		all.Parts = append(all.Parts, part)
		all.Passed, worst = all.Passed && part.Passed, max(worst, code)
		if code == result.ExitInterrupted {
			return part.err
		}
	}
	if err := all.write(env.Stdout, f.format); err != nil {
		return outcome(err)
	}
	if worst != result.ExitPassed {
		return &exitError{code: worst} // it was told where it happened
	}
	return nil
}

// part evaluates one of all and prints its report, or on stderr what is wrong.
func (f *classifyFlags) part(ctx context.Context, env *Env, name string) (part classifyPart, code int) {
	part = classifyPart{Name: name, Summary: "passed", Passed: true}
	own := *f
	if f.run.out != "" {
		own.run.out = filepath.Join(f.run.out, name)
	}
	heading := map[string]string{"text": "== %s ==\n", "md": "# %s\n\n"}[f.format]
	if heading != "" {
		fmt.Fprintf(env.Stdout, heading, name)
	}
	if name == e2eAPI {
		part.err = own.runE2E(ctx, env)
	} else if part.err = own.check(name); part.err == nil {
		part.Report, part.err = own.classify(ctx, env, name, func(r *classification.Report) error {
			if f.format == "json" {
				return nil // it stands in the summary
			}
			return writeClassification(env.Stdout, r, f.format)
		})
	}
	if part.Report != nil {
		part.Summary = part.Report.Verdict()
		if !part.Report.Passed {
			part.err = &exitError{code: result.ExitFailed}
		}
	}
	if heading != "" {
		fmt.Fprintln(env.Stdout)
	}
	if part.err == nil {
		return part, result.ExitPassed
	}
	part.Passed, code = false, result.ExitNotRun
	exit, ok := errors.AsType[*exitError](part.err)
	if ok {
		code = exit.code
	}
	switch {
	case code == result.ExitFailed && part.Report == nil:
		part.Summary = "FAILED"
	case code > result.ExitFailed:
		part.Summary = "could not be evaluated"
	}
	if !ok || exit.err != nil {
		f.tellFault(env, name, part.err)
	}
	return part, code
}

// tellFault says on stderr why something could not be evaluated.
func (*classifyFlags) tellFault(env *Env, name string, err error) {
	secrets := setup.Secrets(env.Environ)
	fmt.Fprintln(env.Stderr, "rehearse: "+name+" could not be evaluated:")
	if problems, ok := errors.AsType[source.Problems](err); ok {
		printProblems(env.Stderr, problems, secrets)
		return
	}
	fmt.Fprintln(env.Stderr, "  "+secrets.Text(err.Error()))
}

// runE2E evaluates answers as `rehearse e2e` does, with the sites and the model that were named here, and its own report.
func (f *classifyFlags) runE2E(ctx context.Context, env *Env) error {
	s, err := f.configure(env, e2eAPI)
	if err != nil {
		return err
	}
	defer env.closed(s)
	items, asked := f.itemsOf(e2eAPI), &f.asked
	e := &e2eFlags{}
	e.register(pflag.NewFlagSet("e2e", pflag.ContinueOnError)) // its defaults
	e.sitesFlags = sitesFlags{
		sites: asked.Sites, site: asked.Site, prompts: asked.Prompts, model: asked.Model, config: s.Config().Path, localPrompt: asked.LocalPrompt,
	}
	e.workers, e.out = f.run.workers, f.run.out
	e.commandLine = []string{"classify", e2eAPI}
	if f.log == logNone {
		e.trace = "no"
	}
	if f.format != "text" { // its report is text, and would stand among what is read by machines
		beside := *env
		beside.Stdout, env = env.Stderr, &beside
	}
	return e.run(ctx, env, items)
}

// write renders what all came to: the reports stand above it already, but in JSON.
func (s *classifySummary) write(w io.Writer, format string) error {
	if format == "json" {
		return writeJSON(w, s)
	}
	if format == "md" {
		fmt.Fprint(w, "# Summary\n\n")
		rows := make([][]string, 0, len(s.Parts))
		for _, part := range s.Parts {
			rows = append(rows, []string{part.Name, part.Summary})
		}
		classification.MarkdownTable(w, []string{"target", "result"}, rows)
		return nil
	}
	fmt.Fprintln(w, "== summary ==")
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, part := range s.Parts {
		fmt.Fprintf(table, "%s\t%s\n", part.Name, part.Summary)
	}
	return table.Flush()
}
