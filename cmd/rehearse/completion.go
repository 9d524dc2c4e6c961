package main

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/data/importer/datasetimport"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// completing reports whether a command line asks for candidates, as the scripts of `rehearse completion` do.
func completing(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// candidates returns what may stand in a place of a command line. It only reads; what cannot be read has no candidates.
type candidates func(c *cobra.Command, args []string) []cobra.Completion

// Files are offered where names are not all that may stand in a place, and no name fits.
const (
	orFile    = cobra.ShellCompDirectiveKeepOrder
	onlyNames = cobra.ShellCompDirectiveKeepOrder | cobra.ShellCompDirectiveNoFileComp
)

// maxCandidates is how many test ids or runs are offered.
const maxCandidates = 1000

// complete lets a command and those below it offer what can stand in their arguments and flags.
func (e *Env) complete(root *cobra.Command) {
	for _, c := range root.Commands() {
		e.complete(c)
	}
	first := func(names candidates) candidates {
		return func(c *cobra.Command, args []string) []cobra.Completion {
			if len(args) > 0 {
				return nil
			}
			return names(c, args)
		}
	}
	switch root.CommandPath() {
	case "rehearse view", "rehearse compare":
		root.ValidArgsFunction = offering(e.runNames, orFile, false)
	case "rehearse show", "rehearse grade", "rehearse report":
		root.ValidArgsFunction = offering(first(e.runNames), orFile, false)
	case "rehearse graders":
		root.ValidArgsFunction = offering(first(graderNames), onlyNames, false)
	}
	offer := func(f *pflag.Flag) {
		names, directive := e.ofFlag(root, f)
		if names == nil {
			return
		}
		list := strings.HasSuffix(f.Value.Type(), "Slice") || f.Name == "judge"
		// a command that offers something itself keeps that
		_ = root.RegisterFlagCompletionFunc(f.Name, offering(names, directive, list))
	}
	root.LocalNonPersistentFlags().VisitAll(offer)
	root.PersistentFlags().VisitAll(offer)
}

// ofFlag returns what may stand behind a flag; nil where that is not known.
func (e *Env) ofFlag(c *cobra.Command, f *pflag.Flag) (candidates, cobra.ShellCompDirective) {
	switch {
	case f.Name == "format":
		return func(*cobra.Command, []string) []cobra.Completion { return formatsIn(f.Usage) }, onlyNames
	case f.Name == "target", f.Name == "baseline" && strings.HasPrefix(c.CommandPath(), "rehearse replay "):
		return e.targetNames, orFile
	case f.Name == "judge", f.Name == "model", f.Name == "user" && strings.HasPrefix(f.Usage, "model"):
		return e.modelNames, orFile
	case f.Name == "resume", f.Name == "baseline", f.Name == "from-run":
		return e.runNames, orFile
	case f.Name == "test":
		return e.testIDs, onlyNames
	case f.Name == "ci":
		return func(*cobra.Command, []string) []cobra.Completion {
			return []string{"github", "gitlab", "none"}
		}, onlyNames
	}
	return nil, 0
}

// offering returns the candidates that begin as the word does; list is true where a word is a list with commas.
func offering(names candidates, directive cobra.ShellCompDirective, list bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) (fitting []cobra.Completion, _ cobra.ShellCompDirective) {
		before := ""
		if list {
			before = word[:strings.LastIndexByte(word, ',')+1]
		}
		for _, name := range names(c, args) {
			listed := list && slices.Contains(strings.Split(before, ","), name)
			if strings.HasPrefix(before+name, word) && !listed && len(fitting) < maxCandidates {
				fitting = append(fitting, before+name)
			}
		}
		return fitting, directive
	}
}

// formatsIn returns the formats that the help of a flag names, in its order.
func formatsIn(help string) (names []cobra.Completion) {
	known := append([]string{"text", "json", "md", "markdown", "mermaid", "svg", "none"}, report.Formats().Names()...)
	known = append(known, datasetimport.Formats()...)
	for _, word := range strings.FieldsFunc(help, func(r rune) bool { return strings.ContainsRune(" ,;:()", r) }) {
		if slices.Contains(known, word) && !slices.Contains(names, word) {
			names = append(names, word)
		}
	}
	return names
}

func graderNames(*cobra.Command, []string) (names []cobra.Completion) {
	for _, k := range grader.Builtin() {
		names = append(names, cobra.CompletionWithDesc(k.Name, k.Doc))
	}
	return names
}

// configured calls read with the configuration that a command line names, else with the nearest one.
func (e *Env) configured(c *cobra.Command, read func(*wire.Setup)) {
	o := wire.Options{Dry: true, Warn: func(string) {}}
	if f := c.Flags().Lookup("config"); f != nil {
		o.Config = f.Value.String()
	}
	s, err := e.here(o)
	if err != nil {
		return
	}
	defer func() { _ = s.Close() }() // nothing was written
	read(s)
}

func (e *Env) targetNames(c *cobra.Command, _ []string) (names []cobra.Completion) {
	e.configured(c, func(s *wire.Setup) {
		for name := range s.Config().Targets {
			names = append(names, name)
		}
	})
	slices.Sort(names)
	return names
}

func (e *Env) modelNames(c *cobra.Command, _ []string) (names []cobra.Completion) {
	e.configured(c, func(s *wire.Setup) {
		for name := range s.Config().Models {
			names = append(names, name)
		}
	})
	slices.Sort(names)
	return names
}

// knownRun is a run with its folder.
type knownRun struct {
	result.Run
	dir string
}

// knownRuns returns the runs of the nearest folder of runs and of the store, newest first. A store that there is not
// yet is not made.
func (e *Env) knownRuns(c *cobra.Command) (runs []knownRun) {
	seen := map[string]bool{}
	add := func(record result.Run, dir string) {
		if !seen[record.ID] {
			seen[record.ID] = true
			runs = append(runs, knownRun{record, dir})
		}
	}
	if home, _, err := runindex.Open(nil, ".", e.Now); err == nil {
		found, _ := home.Runs()
		for _, f := range found {
			add(f.Record, f.Dir)
		}
	}
	e.configured(c, func(s *wire.Setup) {
		if info, err := os.Stat(s.StorePath()); err != nil || !info.Mode().IsRegular() {
			return
		}
		index, err := s.Store(c.Context())
		if err != nil {
			return
		}
		kept, _ := index.Runs(c.Context(), maxCandidates)
		for _, r := range kept {
			if record, err := runlog.Inspect(r.Dir); err == nil && record.ID == r.ID {
				add(record, r.Dir)
			}
		}
	})
	slices.SortStableFunc(runs, func(a, b knownRun) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), strings.Compare(b.ID, a.ID))
	})
	return runs
}

// runNames returns latest and the ids of runs that the command line does not name yet.
func (e *Env) runNames(c *cobra.Command, given []string) (names []cobra.Completion) {
	runs := e.knownRuns(c)
	if len(runs) == 0 {
		return nil
	}
	add := func(id, what string) {
		if !slices.Contains(given, id) {
			names = append(names, cobra.CompletionWithDesc(id, what))
		}
	}
	add(runindex.Latest, "the newest")
	for _, r := range runs {
		add(r.ID, r.ExitReason+" "+strings.Join(r.Suites, " "))
	}
	return names
}

// testIDs returns the ids of the tests of the run that a command line names, else of the newest, in the order of the
// run.
func (e *Env) testIDs(c *cobra.Command, args []string) (ids []cobra.Completion) {
	name, dir := runindex.Latest, ""
	if from := c.Flags().Lookup("from-run"); from != nil && from.Value.String() != "" {
		name = from.Value.String()
	} else if len(args) > 0 {
		name = args[0]
	}
	if runindex.IsRun(name) {
		dir = name
	}
	for _, r := range e.knownRuns(c) {
		if dir == "" && (name == runindex.Latest || name == r.ID) {
			dir = r.dir
		}
	}
	if dir == "" {
		return nil
	}
	places := map[string]int{} // in the run; the log has tests as they ended
	for t, err := range runlog.Read(dir) {
		if err != nil {
			break
		}
		if _, seen := places[t.TestID]; !seen {
			places[t.TestID] = t.Position
			ids = append(ids, t.TestID)
		}
	}
	slices.SortStableFunc(ids, func(a, b cobra.Completion) int { return places[a] - places[b] })
	return ids
}
