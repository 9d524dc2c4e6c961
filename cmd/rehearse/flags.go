package main

import (
	"encoding/csv"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/report/ci"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// runFlags is what can be said on the command line of run.
type runFlags struct {
	suites       []string
	targets      []string
	targetURL    string
	targetCurl   string
	model        string
	judge        string
	user         string
	config       string
	workers      int
	trials       int
	threshold    float64
	strict       bool
	ungraded     bool
	filters      []string
	tags         []string
	sample       int
	out          string
	formats      []string
	resume       string
	rerun        string
	baseline     string
	failOn       string
	confirm      int
	minOverlap   float64
	ignoreTarget bool
	record       string
	replay       string
	timeout      time.Duration
	retries      int
	grace        time.Duration
	noCache      bool
	attribute    bool
	artifacts    bool
	dryRun       bool
	watch        bool
	quiet        bool
	verbose      bool
	noColour     bool
	hasTrials    bool
	hasThreshold bool
	hasRetries   bool
	hasConfirm   bool
	hasOverlap   bool
	// localPrompt leaves Langfuse's prompts out of chatbots.
	localPrompt bool
	commandLine []string
	// described are the targets that targetCurl or a file of answers describes, by their names.
	described map[string]config.Target
	// server holds the run where one is named; detach does not wait for its end.
	server serverFlags
	detach bool
	// maps locate the parts of a row, as KEY=PATH.
	maps []string
	// regraded is the folder of the run that is graded again; empty for a run that holds its own conversations.
	regraded string
	// replayed is true when that run is a replay; assert then names a file of assertions.
	replayed bool
	assert   string
	// baselineOptional goes on without a baseline that is not there; reportURL is where CI publishes the folder of the
	// run.
	baselineOptional bool
	reportURL        string
	ci               string
	// files are the disk, and the suite that was read from standard input.
	files source.Files
	// writes are the files that a run of another kind writes besides the reports (evaluation.Config.Writes).
	writes map[string][]string
}

func (f *runFlags) register(flags *pflag.FlagSet) {
	flags.Var((*targetNames)(&f.targets), "target",
		"system under test: a name from rehearse.yaml, or a short form such as PROVIDER:MODEL, flow:FILE, https://…, "+
			"wss://…, a2a:URL or 'cmd:PROGRAM ARG…'; several run each test with each")
	flags.StringVar(&f.targetURL, "target-url", "", "base URL of targets written as PROVIDER:MODEL, "+
		"asked with the key of REHEARSE_TARGET_KEY; the judge keeps its own (default REHEARSE_TARGET_URL)")
	flags.StringVar(&f.targetCurl, "target-curl", "",
		"file with a pasted curl line as target, called curl in results; - reads it from standard input")
	flags.StringVar(&f.model, "model", "", "model inside a target given as flow:FILE, and of chatbots: "+
		"a name from rehearse.yaml, or PROVIDER:MODEL (default lexical)")
	flags.StringVar(&f.judge, "judge", "",
		"model that judges: a name from rehearse.yaml, or PROVIDER:MODEL; several with commas between them are a panel")
	flags.StringVar(&f.user, "user", "", "model that plays simulated users: a name from rehearse.yaml, "+
		"or PROVIDER:MODEL (default: that of rehearse.yaml, else the judge)")
	flags.StringVar(&f.config, "config", "",
		"configuration file of every suite (default: the nearest rehearse.yaml above each suite)")
	flags.BoolVar(&f.localPrompt, "local-prompt", false,
		"of chatbots: prompts from files and built in only, not from Langfuse")
	flags.IntVarP(&f.workers, "workers", "w", 0, "conversations held at once (default 8)")
	flags.IntVar(&f.trials, "trials", 0, "hold every conversation so many times")
	flags.Float64Var(&f.threshold, "threshold", 0, "score from which a test passes (default 0.8)")
	flags.BoolVar(&f.strict, "strict", false, "fail a test for any failed check")
	flags.BoolVar(&f.ungraded, "allow-ungraded", false, "exit with 0 although no test was graded")
	flags.StringArrayVar(&f.filters, "filter", nil, "only tests whose id matches this glob, and what they depend on")
	flags.StringSliceVar(&f.tags, "tag", nil, "only tests with this tag, and what they depend on")
	flags.IntVar(&f.sample, "sample", 0, "only so many tests, the same ones every time")
	flags.StringVarP(&f.out, "out", "o", "", "folder for the results (default .rehearse/runs/ID)")
	flags.StringSliceVar(&f.formats, "format", report.Formats().Names(), "reports to write: "+report.Formats().Help())
	flags.StringVar(&f.resume, "resume", "", "go on with a run: its id, folder, or latest")
	flags.StringVar(&f.rerun, "rerun", "", "with --resume: run again what failed, or only what had errors")
	flags.StringVar(&f.baseline, "baseline", "", "compare with an earlier run: its id, folder, or latest")
	flags.StringVar(&f.failOn, "fail-on", "", "with --baseline: exit with the run's own code (any, the default), "+
		"fail for confirmed regressions (regression), or for every test that passed and fails now (any-change)")
	flags.IntVar(&f.confirm, "confirm", 0, "with --fail-on regression: repeats of a test that fell, "+
		"until its first pass (default: by the number of falls, at least 3)")
	flags.Float64Var(&f.minOverlap, "min-overlap", runspec.DefaultMinOverlap,
		"with --fail-on regression: share of the baseline's graded tests that must be compared")
	flags.BoolVar(&f.ignoreTarget, "ignore-target", false,
		"with --baseline: match tests by suite and id alone; each run has one target")
	flags.StringVar(&f.record, "record", "", "record every exchange with models, embedders and targets in this file")
	flags.StringVar(&f.replay, "replay", "", "answer every request from this recording; ask nobody")
	flags.DurationVar(&f.timeout, "timeout", 0, "longest wait for one reply (default 2m)")
	flags.IntVar(&f.retries, "retries", 0, "how often a failed call is tried again (default 2)")
	flags.DurationVar(&f.grace, "grace", 15*time.Second,
		"after Ctrl-C, how long conversations in flight may take to finish")
	flags.BoolVar(&f.attribute, "attribute-flakes", false, "where the trials of a test differ, "+
		"judge their transcripts again and say what varies: agent, judge or transport")
	flags.BoolVar(&f.noCache, "no-judge-cache", false, "ask the judge even if the same question was answered before")
	flags.BoolVar(&f.artifacts, "artifacts", false,
		"keep what targets and judges were sent and answered in artifacts/ beside the results")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would run; ask nothing")
	flags.BoolVar(&f.watch, "watch", false, "run again whenever a file of the suites changes")
	f.server.register(flags, "base URL of a server that holds the run; suites and what they name are sent there")
	flags.BoolVar(&f.detach, "detach", false, "with --server: print the run's id and return")
	flags.BoolVar(&f.baselineOptional, "baseline-optional", false,
		"go on without a --baseline that is not there: it is a note, and the exit code is the run's own")
	flags.StringVar(&f.reportURL, "report-url", "", "where CI publishes the folder of the run: "+
		"links in its reports lead there (default REHEARSE_REPORT_URL, else they are relative)")
	registerCI(flags, &f.ci)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print only the totals")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print every test")
	flags.BoolVar(&f.noColour, "no-color", false, "print without colours")
}

// noteChanged remembers which numbers were said at all, since 0 says something too.
func (f *runFlags) noteChanged(flags *pflag.FlagSet) {
	f.hasTrials, f.hasThreshold, f.hasRetries = flags.Changed("trials"), flags.Changed("threshold"),
		flags.Changed("retries")
	f.hasConfirm, f.hasOverlap = flags.Changed("confirm"), flags.Changed("min-overlap")
}

func (f *runFlags) check() error {
	if err := report.Formats().Check(f.formats); err != nil {
		return usage("%w", err)
	}
	if _, err := runspec.ParseGate(f.failOn); err != nil {
		return outcome(err)
	}
	if err := ci.Check(f.ci); err != nil {
		return outcome(err)
	}
	switch {
	case f.baseline == "" && f.baselineOptional:
		return usage("--baseline-optional needs a run to compare with: name one with --baseline")
	case f.baseline == "" && (f.failOn != "" || f.ignoreTarget):
		return usage("--fail-on and --ignore-target need a run to compare with: name one with --baseline")
	case f.rerun != "" && f.rerun != "failed" && f.rerun != "errors":
		return usage("unknown --rerun %q: use failed or errors", f.rerun)
	case f.record != "" && f.replay != "":
		return usage("--record and --replay exclude each other: record a run first, then replay it")
	case f.hasConfirm && f.confirm == 0:
		return usage("--confirm 0 is out of range: use 1 to %d", runspec.Most)
	case f.hasTrials && f.trials == 0:
		return usage("--trials 0 is out of range: use 1 to %d", runspec.Most)
	case f.grace < 0:
		return usage("--grace cannot be negative")
	}
	spec := f.spec()
	return outcome(spec.Check())
}

// spec returns what is asked to be run.
func (f *runFlags) spec() runspec.Spec {
	s := runspec.Spec{
		Schema: runspec.Schema, Suites: f.suites, Config: f.config, Targets: f.targets, Judge: f.judge, User: f.user,
		Model: f.model, Trials: f.trials, Filter: f.filters, Tags: f.tags, Sample: f.sample,
		Timeout: runspec.Duration(f.timeout), Limits: runspec.Limits{Workers: f.workers},
		Baseline: f.baseline, FailOn: f.failOn, Confirm: f.confirm,
	}
	if f.hasOverlap {
		s.MinOverlap = &f.minOverlap
	}
	if f.targetCurl != "" {
		s.Targets = append(slices.Clone(s.Targets), wire.CurlTarget)
	}
	if f.hasThreshold {
		s.Threshold = &f.threshold
	}
	if f.hasRetries {
		s.Retries = &f.retries
	}
	s.AttributeFlakes, s.Artifacts, s.Strict, s.AllowUngraded = f.attribute, f.artifacts, f.strict, f.ungraded
	if f.noCache {
		s.JudgeCache = new(false)
	}
	return s
}

// options say how things are opened for the run.
func (f *runFlags) options() wire.Options {
	return wire.Options{
		Config: f.config, TargetURL: f.targetURL, Targets: f.described, Model: f.model, LocalPrompt: f.localPrompt,
		Record: f.record, Playback: f.replay, Append: f.resume != "", Dry: f.dryRun, Files: f.files,
	}
}

// targetNames is a flag for targets: a list with commas, or one short form in which commas and quotes are its own.
type targetNames []string

// Set adds targets.
func (t *targetNames) Set(value string) error {
	for _, prefix := range []string{"cmd:", "a2a:", "http://", "https://", "ws://", "wss://"} {
		if strings.HasPrefix(value, prefix) {
			*t = append(*t, value)
			return nil
		}
	}
	names, err := csv.NewReader(strings.NewReader(value)).Read()
	if err != nil && value != "" {
		return err
	}
	*t = append(*t, names...)
	return nil
}

var _ pflag.SliceValue = (*targetNames)(nil) // for commands that are merged

// Append adds one target.
func (t *targetNames) Append(value string) error {
	*t = append(*t, value)
	return nil
}

// Replace sets the targets.
func (t *targetNames) Replace(values []string) error {
	*t = values
	return nil
}

// GetSlice returns the targets.
func (t *targetNames) GetSlice() []string { return *t }

// Type is that of lists, whose values are quoted where they are written.
func (*targetNames) Type() string { return "stringSlice" }

func (t *targetNames) String() string { return "[" + strings.Join(*t, ",") + "]" }

func registerCI(flags *pflag.FlagSet, name *string) {
	flags.StringVar(name, "ci", "", "how a CI system is told: github (summary and annotations), "+
		"gitlab (code quality report) or none (default: the one that the environment shows)")
}
