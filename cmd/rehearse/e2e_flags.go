package main

import (
	"time"

	"github.com/spf13/pflag"

	"rehearse/internal/config"
	"rehearse/internal/report"
)

// answerThreshold is the score from which an answer is good, when nothing else is said.
const answerThreshold = 0.70

// noJudge as the name of the judge leaves the grading to assertions.
const noJudge = "none"

// e2eFlags is what can be said on the command line of e2e.
type e2eFlags struct {
	sitesFlags
	item         string
	sample       int
	trace, agent string
	judge        string
	threshold    float64
	accuracy     float64
	hasAccuracy  bool
	workers      int
	out          string
	formats      []string
	timeout      time.Duration
	verbose      bool
	quiet        bool
	commandLine  []string
}

// sitesFlags say which chatbot is evaluated.
type sitesFlags struct {
	sites, site, prompts, model, config string
	localPrompt                         bool
}

// siteUsage is what --site means, of classify and of e2e alike.
const siteUsage = "the site of items without metadata.site_name; what an item says goes before it (default: the only site)"

func (f *sitesFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.sites, "sites", "", "folder of sites, or the file of one (default: the sitebot targets of rehearse.yaml)")
	flags.StringVar(&f.site, "site", "", siteUsage)
	flags.StringVar(&f.prompts, "prompts", "", "folder of prompts that the sites name (default: prompts beside the sites)")
	flags.StringVar(&f.model, "model", "", "model that answers: a name from rehearse.yaml, or PROVIDER:MODEL (default: that of the site)")
	flags.StringVar(&f.config, "config", "", "configuration file (default: the nearest rehearse.yaml above the dataset)")
	flags.BoolVar(&f.localPrompt, "local-prompt", false, "prompts from files only, not from Langfuse")
}

func (f *e2eFlags) register(flags *pflag.FlagSet) {
	f.sitesFlags.register(flags)
	flags.StringVar(&f.item, "item", "", "only the item whose query or id holds this text")
	flags.IntVar(&f.sample, "sample-size", 0, "only so many items, the same ones every time")
	flags.StringVar(&f.trace, "trace", "yes", "log to Langfuse where it is configured: yes or no")
	flags.StringVar(&f.agent, "agentic-system", "new", "the chatbot's generation; there is only new")
	flags.StringVar(&f.judge, "judge", "", "model that judges: a name from rehearse.yaml, PROVIDER:MODEL, or none to grade by assertions only")
	flags.Float64Var(&f.threshold, "threshold", answerThreshold, "score from which an answer is good")
	flags.Float64Var(&f.accuracy, "accuracy", config.DefaultAnswerAccuracy, "least share of good answers; rehearse.yaml may say another")
	flags.IntVarP(&f.workers, "workers", "w", 0, "items at once (default 8)")
	flags.StringVarP(&f.out, "out", "o", "", "folder for the results (default .rehearse/runs/ID)")
	flags.StringSliceVar(&f.formats, "format", report.Formats().Names(), "reports to write: "+report.Formats().Help())
	flags.DurationVar(&f.timeout, "timeout", 0, "longest wait for one reply (default 2m)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print every item, with what its history does not tell for sure")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print only the totals")
}

func (f *e2eFlags) check() error {
	if err := report.Formats().Check(f.formats); err != nil {
		return usage("%w", err)
	}
	switch {
	case f.trace != "yes" && f.trace != "no":
		return usage("unknown --trace %q: use yes or no", f.trace)
	case f.agent != "new":
		return usage("unknown --agentic-system %q: there is only new", f.agent)
	case !(f.accuracy >= 0 && f.accuracy <= 1): // also what is no number
		return usage("--accuracy %g is out of range: use a share between 0 and 1", f.accuracy)
	case f.sample < 0:
		return usage("--sample-size cannot be negative")
	}
	return f.asRun().check()
}

// asRun returns the flags of the run that holds the tests.
func (f *e2eFlags) asRun() *runFlags {
	r := &runFlags{
		model: f.model, judge: f.judge, config: f.config, workers: f.workers, threshold: f.threshold, hasThreshold: true, sample: f.sample,
		localPrompt: f.localPrompt, out: f.out, formats: f.formats, timeout: f.timeout, grace: 15 * time.Second, verbose: f.verbose, quiet: f.quiet, commandLine: f.commandLine,
	}
	if f.judge == noJudge {
		r.judge = ""
	}
	return r
}
