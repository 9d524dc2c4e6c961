package suite

import (
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Execution says how tests are run. Zero values mean that the document does not set it.
type Execution struct {
	Targets   []string `key:"targets" notblank:"true" doc:"names from rehearse.yaml, or PROVIDER:MODEL"`
	Workers   int
	Threshold *float64 `key:"threshold" minimum:"0" maximum:"1" doc:"score from which a turn and a test pass (0.8)"`
	Trials    Trials   `key:"trials" schema:"trials"`
	// Retries is how often a failed call to the target is tried again.
	Retries *int `key:"retries" minimum:"0" doc:"how often a failed call is tried again (2)"`
	// Timeout bounds one call to the target, ConversationTimeout the whole conversation.
	Timeout             time.Duration `key:"timeout" doc:"longest wait for one reply"`
	ConversationTimeout time.Duration `key:"conversation_timeout" doc:"longest time for a whole conversation"`
	BudgetUSD           float64
	// Cache says which remembered verdicts of judges count; empty means CacheOn.
	Cache Cache `key:"cache" enum:"on,off,shared" doc:"remembered verdicts of the judge; shared: by all trials"`
	// SkipDefaults leaves the suite's input and assertions out of a test.
	SkipDefaults bool
	// ShortCircuit leaves the judge out once a deterministic grader has failed the turn.
	ShortCircuit *bool `key:"short_circuit" doc:"no judge for a turn after a failed deterministic assertion"`
	// Strict fails a turn, and so its test, when one of its checks fails, whatever the turn scores.
	Strict *bool `key:"strict" alias:"all_must_pass" doc:"a failed check fails its turn, whatever the score"`
}

// suiteExecution are the keys of a suite's execution: some are about the run as a whole.
type suiteExecution struct {
	Execution
	Target    string  `key:"target" notblank:"true" doc:"a name from rehearse.yaml, or PROVIDER:MODEL"`
	Workers   int     `key:"workers" minimum:"1" doc:"conversations at the same time"`
	BudgetUSD float64 `key:"budget_usd" minimum:"0" maximum:"1000000000" doc:"what the run may cost"`
}

// DecodeNode reads the keys of a suite's execution.
func (e *suiteExecution) DecodeNode(n source.Node) {
	type plain suiteExecution
	source.Decode(n, (*plain)(e))
	e.Execution.Workers, e.Execution.BudgetUSD = e.Workers, e.BudgetUSD
	e.Targets = uniqueTargets(e.Target, e.Targets)
}

// testExecution are the keys of a test's execution.
type testExecution struct {
	Execution
	Target       string `key:"target" notblank:"true" doc:"a name from rehearse.yaml, or PROVIDER:MODEL"`
	SkipDefaults bool   `key:"skip_defaults" doc:"leave the suite's input and assertions out"`
}

// DecodeNode reads the keys of a test's execution.
func (e *testExecution) DecodeNode(n source.Node) {
	type plain testExecution
	source.Decode(n, (*plain)(e))
	e.Execution.SkipDefaults = e.SkipDefaults
	e.Targets = uniqueTargets(e.Target, e.Targets)
}

// uniqueTargets returns a target, if there is one, and others, each once: a test runs with each target once.
func uniqueTargets(target string, others []string) (unique []string) {
	for _, name := range append([]string{target}, others...) {
		if name != "" && !slices.Contains(unique, name) {
			unique = append(unique, name)
		}
	}
	return unique
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
	Count    int      `key:"count" required:"trials need a count" minimum:"1" maximum:"10000"`
	Strategy Strategy `key:"strategy" enum:"pass_at_k,pass_all,mean,confidence_interval"`
	// CostLimitUSD is what the trials of a test may cost before no further one begins; 0 means no limit.
	CostLimitUSD float64 `key:"cost_limit_usd" exclusiveMinimum:"0" maximum:"1000000000"`
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

// DecodeNode reads {count, strategy, cost_limit_usd}, or just the count.
func (t *Trials) DecodeNode(n source.Node) {
	if n.Kind == source.Number {
		t.Count = n.Int(1)
		return
	}
	type plain Trials
	source.Decode(n, (*plain)(t))
	t.check(n)
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
