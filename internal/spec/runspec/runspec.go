// Package runspec says what is asked to be run, as a value: the same whether it comes from flags, over HTTP or from a
// schedule.
package runspec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Schema is the version of the JSON form.
const Schema = 1

// Spec is what is asked to be run. Its JSON form is that of the service; what is left out is left to the suites and the
// configuration. Secrets are named, never held.
type Spec struct {
	Schema int `json:"schema"`
	// Kind is KindSuite, KindReplay, KindClassify or KindE2E; empty means KindSuite.
	Kind   string            `json:"kind,omitempty"`
	Name   string            `json:"name,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	// Files are what the run reads, by their paths in the bundle; nil where a run reads the disk.
	Files map[string]File `json:"files,omitempty"`
	// Suites are files, folders or globs; Config is the configuration of all of them, empty for the nearest to each.
	Suites []string `json:"suites,omitempty"`
	Config string   `json:"config,omitempty"`
	// Classify is what a run of KindClassify asks for; nil for other kinds.
	Classify *Classify `json:"classify,omitempty"`
	// Replay is what a run of KindReplay asks for; nil for other kinds.
	Replay *Replay `json:"replay,omitempty"`
	// E2E is what a run of KindE2E asks for; nil for other kinds.
	E2E *E2E `json:"e2e,omitempty"`
	// Targets are run with every test. Judge judges, User plays simulated users, Model answers inside flows and
	// chatbots.
	Targets []string `json:"targets,omitempty"`
	Judge   string   `json:"judge,omitempty"`
	User    string   `json:"user,omitempty"`
	Model   string   `json:"model,omitempty"`
	// Trials holds every conversation so often; 0 leaves it to the tests.
	Trials int `json:"trials,omitempty"`
	// Filter selects tests whose id matches one of these globs, Tags those with one of these tags, Sample so many of
	// them.
	Filter []string `json:"filter,omitempty"`
	Tags   []string `json:"tags,omitempty"`
	Sample int      `json:"sample,omitempty"`
	// Threshold is the score from which a test passes, Retries how often a failed call is tried again; nil leaves them
	// to the tests.
	Threshold *float64 `json:"threshold,omitempty"`
	// Strict fails a test for any failed check; false leaves it to the tests.
	Strict bool `json:"strict,omitempty"`
	// AllowUngraded lets a run pass in which no test was graded.
	AllowUngraded bool `json:"allow_ungraded,omitempty"`
	Retries       *int `json:"retries,omitempty"`
	// Timeout bounds one reply; 0 leaves it to the tests.
	Timeout Duration `json:"timeout,omitzero"`
	// JudgeCache false asks the judge also what it has answered before; nil leaves it to the tests.
	JudgeCache *bool  `json:"judge_cache,omitempty"`
	Limits     Limits `json:"limits,omitzero"`
	// AttributeFlakes judges the transcripts of tests whose trials differ again, and says what varies.
	AttributeFlakes bool `json:"attribute_flakes,omitempty"`
	// Baseline is the run to compare with.
	Baseline string `json:"baseline,omitempty"`
	// FailOn is the gate that decides the exit code of a run with a Baseline (Gate). Confirm is how often it repeats a
	// test that fell, MinOverlap the share of the baseline's graded tests that it needs; 0 and nil leave both to their
	// defaults.
	FailOn     string   `json:"fail_on,omitempty"`
	Confirm    int      `json:"confirm,omitempty"`
	MinOverlap *float64 `json:"min_overlap,omitempty"`
	// Budget is what the run may spend before it begins nothing new; nil leaves it to the suites.
	Budget *Budget `json:"budget,omitempty"`
	// Artifacts keeps what targets and judges were sent and answered.
	Artifacts bool `json:"artifacts,omitempty"`
	// Webhook is told of the end of the run; nil for nobody.
	Webhook *Webhook `json:"webhook,omitempty"`
	// Env names the variables of the environment that the run reads where its conversations are held.
	Env []string `json:"env,omitempty"`
}

// Budget bounds what a run spends. What is nil is not bounded, but for the cost, which the suites may bound.
type Budget struct {
	// CostUSD is in US dollars, Tokens counts those of targets, judges and simulated users.
	CostUSD *float64 `json:"cost_usd,omitempty"`
	Tokens  *int     `json:"tokens,omitempty"`
	// Duration is how long the run may last.
	Duration *Duration `json:"duration,omitempty"`
}

func (b *Budget) check() error {
	switch {
	case b == nil:
	case b.CostUSD != nil && !(*b.CostUSD > 0) || b.Tokens != nil && *b.Tokens <= 0 ||
		b.Duration != nil && *b.Duration <= 0:
		return source.Invalid("run spec: a budget must be more than 0: leave out what is not bounded")
	}
	return nil
}

// variable matches the name of a variable of the environment.
var variable = text.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Limits bound what a run takes of its machine.
type Limits struct {
	// Workers is how many conversations are held at once; 0 leaves it to the suites and the configuration.
	Workers int `json:"workers,omitempty"`
}

// Most is the largest number of trials, and of workers.
const Most = 10_000

// Read reads the JSON form. Unknown keys and those that are written twice, for which the error wraps a
// *source.KeyError, and anything behind the value are refused.
func Read(data []byte) (Spec, error) {
	var s Spec
	if err := source.CheckKeys(data, reflect.TypeFor[Spec]()); err != nil {
		return s, source.Invalid("run spec: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&s); err != nil {
		return s, source.Invalid("run spec: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return s, source.Invalid("run spec: text behind the value: send one JSON object")
	}
	if s.Schema != Schema {
		return s, source.Invalid("run spec: schema %d is unknown: this program knows %d", s.Schema, Schema)
	}
	return s, s.Check()
}

// Check refuses what cannot be meant. Names in its errors are those of the flags.
func (s *Spec) Check() error {
	if err := s.checkFiles(); err != nil {
		return err
	}
	if err := s.checkNames(); err != nil {
		return err
	}
	for _, pattern := range s.Filter {
		if _, err := path.Match(pattern, ""); err != nil {
			return source.Invalid("bad pattern %q for --filter: use * ? and [a-z] as in file names", pattern)
		}
	}
	for _, name := range s.Env {
		if !variable().MatchString(name) {
			return source.Invalid("run spec: env: %q is no name of a variable", name)
		}
	}
	if err := s.Budget.check(); err != nil {
		return err
	}
	if err := s.Webhook.check(); err != nil {
		return err
	}
	if err := s.checkKind(); err != nil {
		return err
	}
	if _, err := ParseGate(s.FailOn); err != nil {
		return err
	}
	switch {
	case s.Threshold != nil && !(*s.Threshold >= 0 && *s.Threshold <= 1): // also what is no number
		return source.Invalid("--threshold %g is out of range: use a score between 0 and 1", *s.Threshold)
	case s.Trials < 0 || s.Trials > Most:
		return source.Invalid("--trials %d is out of range: use 1 to %d", s.Trials, Most)
	case s.Limits.Workers < 0 || s.Limits.Workers > Most:
		return source.Invalid("--workers %d is out of range: use 1 to %d", s.Limits.Workers, Most)
	case s.Confirm < 0 || s.Confirm > Most:
		return source.Invalid("--confirm %d is out of range: use 1 to %d", s.Confirm, Most)
	case s.MinOverlap != nil && !(*s.MinOverlap >= 0 && *s.MinOverlap <= 1):
		return source.Invalid("--min-overlap %g is out of range: use a share between 0 and 1", *s.MinOverlap)
	case s.Baseline == "" && s.FailOn != "":
		return source.Invalid("--fail-on needs a run to compare with: name one with --baseline")
	case s.Rule().Gate != GateRegression && (s.Confirm > 0 || s.MinOverlap != nil):
		return source.Invalid("--confirm and --min-overlap belong to a gate: add --fail-on %s", GateRegression)
	case s.Sample < 0 || s.Retries != nil && *s.Retries < 0 || s.Timeout < 0:
		return source.Invalid("--sample, --retries and --timeout cannot be negative")
	}
	return nil
}

// WithoutBaseline returns the spec of a run that is compared with none.
func (s Spec) WithoutBaseline() Spec {
	s.Baseline, s.FailOn, s.Confirm, s.MinOverlap = "", "", 0, nil
	return s
}

// Confirms reports whether tests that fell are run again: for a gate, or for a webhook that is told of regressions.
func (s *Spec) Confirms() bool {
	return s.Rule().Gate == GateRegression || s.Baseline != "" && s.Webhook != nil &&
		slices.Contains(s.Webhook.On, OnRegression)
}

// Rule returns the gate with its settings.
func (s *Spec) Rule() Rule {
	r := Rule{MinOverlap: DefaultMinOverlap, Confirm: s.Confirm}
	r.Gate, _ = ParseGate(s.FailOn) // Check refuses another
	if s.MinOverlap != nil {
		r.MinOverlap = *s.MinOverlap
	}
	return r
}

// The bounds of what a run is called: every list of runs shows it.
const (
	maxCalled = 1000 // bytes of a name, and of a key or a value of a label
	maxLabels = 100
)

// checkNames refuses a name or labels that are too long.
func (s *Spec) checkNames() error {
	if len(s.Name) > maxCalled {
		return source.Invalid("run spec: the name has %d bytes: it has at most %d", len(s.Name), maxCalled)
	}
	if len(s.Labels) > maxLabels {
		return source.Invalid("run spec: %d labels: a run has at most %d", len(s.Labels), maxLabels)
	}
	for key, value := range s.Labels {
		if max(len(key), len(value)) > maxCalled {
			return source.Invalid("run spec: a label has %d bytes: its key and its value have at most %d each",
				len(key)+len(value), maxCalled)
		}
	}
	return nil
}

// Fingerprint is a hash of what decides the results: all but the name, the labels and the webhook. Equal specs have
// equal fingerprints.
func (s Spec) Fingerprint() string {
	s.Name, s.Labels, s.Webhook, s.Schema = "", nil, nil, Schema
	files := s.Files
	s.Files = make(map[string]File, len(files))
	for name, f := range files { // however the content was sent
		s.Files[name] = File{SHA256: f.Hash()}
	}
	data, err := json.Marshal(s) // the keys are in the order of the fields, always the same
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Named returns what the spec itself names in texts that may have addresses, and secrets in these. Its files are not
// among them.
func (s *Spec) Named() []string {
	named := append([]string{s.Judge, s.User, s.Model}, s.Targets...)
	if s.Classify != nil {
		named = append(named, s.Classify.Target)
	}
	if s.Replay != nil {
		named = append(named, s.Replay.User, s.Replay.Candidate, s.Replay.Baseline)
	}
	if s.Webhook != nil {
		named = append(named, s.Webhook.URL)
	}
	return named
}

// Over returns how a test is executed: as the spec says, where it is silent as the test does.
func (s *Spec) Over(e suite.Execution) suite.Execution {
	said := suite.Execution{
		Targets: slices.Compact(slices.Sorted(slices.Values(s.Targets))), Workers: s.Limits.Workers,
		Timeout: time.Duration(s.Timeout), Threshold: s.Threshold, Retries: s.Retries,
	}
	if s.JudgeCache != nil {
		said.Cache = suite.CacheOn
		if !*s.JudgeCache {
			said.Cache = suite.CacheOff
		}
	}
	said.Trials.Count = s.Trials
	if s.Strict {
		said.Strict = &s.Strict
	}
	return said.Over(e)
}

// Selects reports whether Filter and Tags select the test.
func (s *Spec) Selects(t *suite.Test) bool {
	if len(s.Filter) > 0 && !slices.ContainsFunc(s.Filter, func(pattern string) bool {
		return matchID(pattern, t.ID)
	}) {
		return false
	}
	return len(s.Tags) == 0 || slices.ContainsFunc(s.Tags, func(tag string) bool {
		return slices.Contains(t.Tags, tag)
	})
}

// matchID matches an id with a glob whose * also matches a slash, since ids are no paths.
func matchID(pattern, id string) bool {
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, _ := path.Match(flat(pattern), flat(id)) // the pattern was checked
	return ok
}

// Duration is a time.Duration that is written as text, such as "2m".
type Duration time.Duration

// MarshalText writes the duration as Go does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads a duration such as "90s".
func (d *Duration) UnmarshalText(text []byte) error {
	read, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("duration %q: write a number and a unit, such as 90s or 2m", text)
	}
	*d = Duration(read)
	return nil
}
