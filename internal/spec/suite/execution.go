package suite

import (
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Execution says how tests are run. Zero values mean "not said here".
type Execution struct {
	Targets   []string
	Workers   int
	Threshold *float64
	Trials    Trials
	// Retries is how often a failed call to the target is tried again.
	Retries *int
	// Timeout bounds one call to the target, ConversationTimeout the whole conversation.
	Timeout             time.Duration
	ConversationTimeout time.Duration
	BudgetUSD           float64
	// Cache says which remembered verdicts of judges count; empty means CacheOn.
	Cache Cache
	// SkipDefaults leaves the suite's input and assertions out of a test.
	SkipDefaults bool
	// ShortCircuit leaves the judge out once a deterministic grader has failed the turn.
	ShortCircuit *bool
	// Strict fails a turn, and so its test, when one of its checks fails, whatever the turn scores.
	Strict *bool
}

// IsStrict reports whether Strict is true.
func (e Execution) IsStrict() bool { return e.Strict != nil && *e.Strict }

// Cache says which remembered verdicts of judges count.
type Cache string

// The settings of the verdict cache.
const (
	CacheOn  Cache = "on"  // each trial of a test has verdicts of its own
	CacheOff Cache = "off" // none
	// CacheShared lets the trials of a test share verdicts.
	CacheShared Cache = "shared"
)

// Strategy says how trials become one verdict.
type Strategy string

// The strategies.
const (
	PassAtK            Strategy = "pass_at_k"
	PassAll            Strategy = "pass_all"
	MeanScore          Strategy = "mean"
	ConfidenceInterval Strategy = "confidence_interval"
)

// Trials asks for repeats of a test. Count 0 means none were asked for.
type Trials struct {
	Count    int
	Strategy Strategy
	// CostLimitUSD is what the trials of a test may cost before no further one begins; 0 means no limit.
	CostLimitUSD float64
}

// Over returns e with the gaps filled from base.
func (e Execution) Over(base Execution) Execution {
	if len(e.Targets) == 0 {
		e.Targets = base.Targets
	}
	if e.Workers == 0 {
		e.Workers = base.Workers
	}
	if e.Threshold == nil {
		e.Threshold = base.Threshold
	}
	if e.Trials.Count == 0 {
		e.Trials.Count = base.Trials.Count
	}
	if e.Trials.Strategy == "" {
		e.Trials.Strategy = base.Trials.Strategy
	}
	if e.Trials.CostLimitUSD == 0 {
		e.Trials.CostLimitUSD = base.Trials.CostLimitUSD
	}
	if e.Retries == nil {
		e.Retries = base.Retries
	}
	if e.Timeout == 0 {
		e.Timeout = base.Timeout
	}
	if e.ConversationTimeout == 0 {
		e.ConversationTimeout = base.ConversationTimeout
	}
	if e.BudgetUSD == 0 {
		e.BudgetUSD = base.BudgetUSD
	}
	if e.Cache == "" {
		e.Cache = base.Cache
	}
	if e.ShortCircuit == nil {
		e.ShortCircuit = base.ShortCircuit
	}
	if e.Strict == nil {
		e.Strict = base.Strict
	}
	return e
}

// suiteExecution reads how the tests of a suite are run: some keys are about the run as a whole.
func suiteExecution(n source.Node) Execution {
	e := Execution{}
	keys := e.keys()
	keys["workers"] = func(n source.Node) { e.Workers = n.Int(1) }
	keys["budget_usd"] = func(n source.Node) { e.BudgetUSD = n.Number(0, 1e9) }
	n.Read(keys)
	return e
}

// testExecution reads how one test is run.
func testExecution(n source.Node) Execution {
	e := Execution{}
	keys := e.keys()
	keys["skip_defaults"] = func(n source.Node) { e.SkipDefaults = n.Bool() }
	n.Read(keys)
	return e
}

// keys returns the readers of the keys that suites and tests have in common.
func (e *Execution) keys() map[string]func(source.Node) {
	return map[string]func(source.Node){
		"target":    func(n source.Node) { e.Targets = addTargets(e.Targets, n.Text()) },
		"targets":   func(n source.Node) { e.Targets = addTargets(e.Targets, n.Texts()...) },
		"threshold": func(n source.Node) { e.Threshold = new(n.Number(0, 1)) },
		"trials":    func(n source.Node) { e.Trials = readTrials(n) },
		"retries":   func(n source.Node) { e.Retries = new(n.Int(0)) },
		"timeout":   func(n source.Node) { e.Timeout = n.Duration() },
		"conversation_timeout": func(n source.Node) {
			e.ConversationTimeout = n.Duration()
		},
		"cache":         func(n source.Node) { e.Cache = Cache(n.Switch("shared")) },
		"short_circuit": func(n source.Node) { e.ShortCircuit = new(n.Bool()) },
		"strict":        func(n source.Node) { e.Strict = new(n.Bool()) },
		"all_must_pass": func(n source.Node) { e.Strict = new(n.Bool()) }, // its old name
	}
}

// addTargets adds names that are not there yet: a test runs with each target once.
func addTargets(targets []string, names ...string) []string {
	for _, name := range names {
		if !slices.Contains(targets, name) {
			targets = append(targets, name)
		}
	}
	return targets
}

// readTrials reads {count, strategy}, or just the count.
func readTrials(n source.Node) Trials {
	t := Trials{}
	if n.Kind == source.Number {
		t.Count = n.Int(1)
		return t
	}
	n.Read(map[string]func(source.Node){
		"count": func(n source.Node) {
			if t.Count = n.Int(1); t.Count > 10_000 {
				n.Report("use 10000 or fewer", "%d trials are too many", t.Count)
			}
		},
		"strategy": func(n source.Node) {
			t.Strategy = Strategy(n.OneOf(string(PassAtK), string(PassAll), string(MeanScore), string(ConfidenceInterval)))
		},
		"cost_limit_usd": func(n source.Node) {
			if t.CostLimitUSD = n.Number(0, 1e9); t.CostLimitUSD == 0 && n.Kind == source.Number {
				n.Report("use an amount above 0, or count: 1", "a limit of 0 dollars leaves no trial")
			}
		},
	})
	if n.Kind == source.Map && !n.Has("count") {
		n.Report("add `count:`", "trials need a count")
	}
	t.check(n)
	return t
}

// check reports trials of which no confidence interval can be made.
func (t Trials) check(n source.Node) {
	if t.Strategy == ConfidenceInterval && t.Count == 1 {
		if n.Has("count") {
			n = n.Field("count")
		}
		n.Report("use 2 or more, or another strategy", "one trial has no confidence interval")
	}
}
