package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
)

// Spec says which sessions are replayed, with what, and what is asked of the candidate. The zero value names no
// variant; Check says what is missing.
type Spec struct {
	// VariantID names the candidate, BaselineID what it is compared with; without one it is compared with the log
	// alone.
	VariantID, BaselineID string
	// Candidate and Baseline are references, variant:ID or target:NAME, in place of the ids. Check fills in whichever
	// is missing of both: the id of a target is its reference.
	Candidate, Baseline string
	// AA replays the baseline against itself, to show the noise.
	AA bool
	// FlowID, FirstDay and LastDay choose the sessions. Days are YYYY-MM-DD in Timezone, whose zero value is UTC.
	FlowID, FirstDay, LastDay string
	Timezone                  string
	// SessionGap is that of Sessions.
	SessionGap time.Duration
	// MinTurns is the least number of the user's messages. SampleSize is how many sessions are drawn; 0 means all.
	SampleSize, MinTurns int
	Mode                 Mode
	// Gate decides, one of Gates. Rules are those of the paired gate.
	Gate  string
	Rules Rules
	// Side says which states of the log count. Slow is the latency above which a turn is slow; 0 means DefaultSlow.
	Side Side
	Slow time.Duration
	// User names the model of the simulated user; empty means Recalled.
	User string
	// MaxExtraTurns bounds the turns of the simulated user beyond as many as the log has.
	MaxExtraTurns int
	// Judge names the model that compares the replies of both lanes; empty compares none.
	Judge string
	// Workers is how many sessions are replayed at once. TurnTimeout bounds one answer; 0 is no bound.
	Workers int
	// Repeats is how often each session is replayed; 0 means once.
	Repeats     int
	TurnTimeout time.Duration
	// RunID is the UUID of the run; one that the store knows goes on. Empty means a new one.
	RunID string
	// Assertions are the run's assertions as JSON values, with a hash of all that decides them; nil without any.
	Assertions map[string]any
}

// ReplyJudge is a judge of replies with its definition as JSON values, which decides how it judges.
type ReplyJudge struct {
	Judge      grader.Judge
	Definition any
}

// DefaultMaxExtraTurns is the MaxExtraTurns of a run that names none, maxExtraTurns the most.
const (
	DefaultMaxExtraTurns = 10
	maxExtraTurns        = 1_000
)

// maxRepeats bounds how often a session is replayed.
const maxRepeats = 100

// maxWorkers bounds the sessions that are replayed at once.
const maxWorkers = 10_000

// Check fills in the variant that AA leaves open. It returns wrong input as an error (source.IsInvalid).
func (s *Spec) Check() error {
	if err := s.refer(); err != nil {
		return err
	}
	if s.AA && s.VariantID == "" {
		s.VariantID = s.BaselineID
	}
	if s.AA && s.BaselineID == "" {
		s.BaselineID = s.VariantID
	}
	for _, needed := range []struct{ name, value string }{
		{"variant_id", s.VariantID}, {"flow_id", s.FlowID}, {"start_date", s.FirstDay}, {"end_date", s.LastDay},
	} {
		if needed.value == "" {
			return source.Invalid("--%s is missing (see `rehearse replay run --help`)", needed.name)
		}
	}
	if _, err := s.Days(); err != nil {
		return err
	}
	switch {
	case !slices.Contains(Modes, s.Mode):
		return source.Invalid("unknown --mode %q: use recorded, forced or simulated", s.Mode)
	case !slices.Contains(Gates, s.Gate):
		return source.Invalid("unknown --gate %q: use %s", s.Gate, strings.Join(Gates, " or "))
	case s.SessionGap < 0:
		return source.Invalid("--session-gap %s is negative: use a duration such as 24h", s.SessionGap)
	case s.SampleSize < 0 || s.MinTurns < 0 || s.TurnTimeout < 0:
		return source.Invalid("--sample_size, --min_turns and --turn_timeout cannot be negative")
	case s.Workers < 1 || s.Workers > maxWorkers:
		return source.Invalid("--workers %d is out of range: use 1 to %d", s.Workers, maxWorkers)
	case s.Repeats < 0 || s.Repeats > maxRepeats:
		return source.Invalid("--repeats %d is out of range: use 1 to %d", s.Repeats, maxRepeats)
	case s.Slow < 0:
		return source.Invalid("--slow %s is negative: use a duration such as 10s", s.Slow)
	case s.MaxExtraTurns < 0 || s.MaxExtraTurns > maxExtraTurns:
		return source.Invalid("--max-extra-turns %d is out of range: use 0 to %d", s.MaxExtraTurns, maxExtraTurns)
	case s.User != "" && s.Mode != Simulated:
		return source.Invalid("--user is for --mode simulated only")
	case s.AA && s.VariantID != s.BaselineID:
		return source.Invalid("--aa replays one variant against itself: name only --baseline_variant_id %s",
			s.BaselineID)
	}
	if err := s.Rules.Check(); err != nil {
		return err
	}
	return s.Side.Check()
}

// Days returns the days of the sessions.
func (s *Spec) Days() (Days, error) {
	zone, err := ReadZone(s.Timezone)
	if err != nil {
		return Days{}, err
	}
	return ReadDays(s.FirstDay, s.LastDay, zone)
}

// Evaluation returns the evaluation that the spec asks for. The baseline is nil where the candidate is compared with
// the log alone. User is the simulated user; nil means Recalled. Judge compares replies, if it has one. The caller sets
// Events, Runs and the clocks. A run goes on only with the settings that it began with: the fingerprints of both
// variants, and what chooses the sessions.
func (s *Spec) Evaluation(candidate, baseline *Opened, user User, judge ReplyJudge) (*Evaluation, error) {
	days, err := s.Days()
	if err != nil {
		return nil, err
	}
	if user == nil {
		user = Recalled{}
	}
	player := &Replayer{
		Candidate: candidate.Agent, Mode: s.Mode, User: user, TurnTimeout: s.TurnTimeout, Repeats: s.Repeats,
		Seed: Seed, MaxExtraTurns: s.MaxExtraTurns, Judge: judge.Judge,
	}
	head := Report{Candidate: candidate.Replayed, AA: s.AA, From: days.From, To: days.To.AddDate(0, 0, -1)}
	settings := map[string]any{
		"candidate": candidate.Settings, "mode": s.Mode, "from": s.FirstDay, "to": s.LastDay, "flow": s.FlowID,
		"sample_size": s.SampleSize, "min_turns": s.MinTurns, "states": s.Side, "user": s.User, "seed": Seed,
		"slow": cmp.Or(s.Slow, DefaultSlow).String(),
	}
	if s.Timezone != "" {
		settings["timezone"] = s.Timezone
	}
	if gap := cmp.Or(s.SessionGap, DefaultSessionGap); gap != DefaultSessionGap {
		settings["session_gap"] = gap.String()
	}
	if s.Repeats > 1 {
		settings["repeats"] = s.Repeats
	}
	if s.Assertions != nil {
		settings["assertions"] = s.Assertions
	}
	if s.Mode == Simulated {
		settings["max_extra_turns"] = s.MaxExtraTurns
	}
	if len(s.Rules.Slices) > 0 {
		settings["slices"] = s.Rules.Slices
	}
	if judge.Judge != nil {
		settings["judge"] = judge.Definition
	}
	rules := s.Rules
	rules.Judged = judge.Judge != nil
	if baseline != nil {
		rules.Apart = candidate.Kind != "" && baseline.Kind != "" && candidate.Kind != baseline.Kind
		player.Baseline, head.Baseline, settings["baseline"] = baseline.Agent, &baseline.Replayed, baseline.Settings
	}
	encoded, err := json.Marshal(settings)
	if err != nil {
		return nil, fmt.Errorf("write the settings of a run: %w", err)
	}
	head.Run = Run{
		ID: s.RunID, VariantID: s.VariantID, BaselineID: s.BaselineID, FlowID: s.FlowID,
		DatasetVersion: fmt.Sprintf("%s_%s_%s", s.FlowID, s.FirstDay, s.LastDay),
		Mode:           s.Mode, Gate: s.Gate, Settings: encoded,
	}
	return &Evaluation{
		From: days.From, To: days.To, SessionGap: s.SessionGap, MinTurns: s.MinTurns, SampleSize: s.SampleSize,
		Measuring: Measuring{Side: s.Side, Slow: s.Slow},
		Replayer:  player, Workers: s.Workers, Head: head, Rules: rules,
	}, nil
}

// Nothing says why there is no session to replay: the store is empty, has no such flow, has it on other days, or only
// sessions that are too short. Store is the address of the events, for the hint.
func (s *Spec) Nothing(ctx context.Context, events Events, store string, table LogToFigures) error {
	rest := strings.Join(append([]string{""}, table.Lines()...), "\n  ")
	days, err := s.Days()
	if err != nil {
		return err
	}
	first, last, err := daysOf(ctx, events, s.FlowID)
	switch {
	case err != nil:
		return err
	case !first.IsZero() && (last.Before(days.From) || !first.Before(days.To)):
		return source.Invalid("there is no conversation of flow %q %s: those in the store are from %s to %s%s",
			s.FlowID, days, first.In(days.From.Location()).Format(time.DateOnly),
			last.In(days.From.Location()).Format(time.DateOnly), rest)
	case !first.IsZero() && table.BelowMinTurns > 0:
		return source.Invalid(
			"no conversation of flow %q %s has %s of the user's: lower --min_turns, or take other days%s",
			s.FlowID, days, text.Plural(s.MinTurns, "message"), rest)
	case !first.IsZero():
		return source.Invalid("no conversation of flow %q lies %s as a whole: take more days%s", s.FlowID, days, rest)
	}
	flows, err := Flows(ctx, events)
	if err != nil {
		return err
	}
	if len(flows) == 0 {
		return source.Invalid(
			"there are no conversations in %s: load some with `rehearse replay import FILE… --store %s`", store, store)
	}
	return source.Invalid("there is no conversation of flow %q in the store: %s", s.FlowID,
		source.Suggest(s.FlowID, flows)+rest)
}

// daysOf returns when a flow's events begin and end; both are zero when it has none.
func daysOf(ctx context.Context, events Events, flow string) (first, last time.Time, err error) {
	for e, err := range events.Each(ctx, Filter{FlowID: flow}) {
		if err != nil {
			return first, last, fmt.Errorf("read events: %w", err)
		}
		if first.IsZero() || e.Time.Before(first) {
			first = e.Time
		}
		if e.Time.After(last) {
			last = e.Time
		}
	}
	return first, last, nil
}

// Flows returns the flows of a log in order.
func Flows(ctx context.Context, events Events) ([]string, error) {
	known := map[string]bool{}
	var flows []string
	for e, err := range events.Each(ctx, Filter{Types: []string{Started, Message}}) {
		if err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		if !known[e.FlowID] && strings.TrimSpace(e.FlowID) != "" {
			known[e.FlowID] = true
			flows = append(flows, e.FlowID)
		}
	}
	slices.Sort(flows)
	return flows, nil
}

// The kinds of what can be replayed, as references begin.
const (
	variantReference = "variant:"
	targetReference  = "target:"
)

// refer completes the ids of candidate and baseline by their references.
func (s *Spec) refer() error {
	for _, lane := range []struct {
		id, reference   *string
		idFlag, refFlag string
	}{
		{&s.VariantID, &s.Candidate, "--variant_id", "--candidate"},
		{&s.BaselineID, &s.Baseline, "--baseline_variant_id", "--baseline"},
	} {
		if *lane.reference == "" {
			continue
		}
		id, variant := strings.CutPrefix(*lane.reference, variantReference)
		name, named := strings.CutPrefix(*lane.reference, targetReference)
		if named {
			id = *lane.reference
		}
		switch {
		case !variant && !named, variant && (id == "" || strings.HasPrefix(id, targetReference)), named && name == "":
			return source.Invalid(
				"%s %q is no reference: write variant:ID, or target:NAME with a target of rehearse.yaml", lane.refFlag,
				*lane.reference)
		case *lane.id != "" && *lane.id != id:
			return source.Invalid("%s and %s name two agents: keep one of them", lane.refFlag, lane.idFlag)
		}
		*lane.id = id
	}
	return nil
}

// TargetNamed returns the name of the target that an id of a Spec stands for; ok is false for that of a variant.
func TargetNamed(id string) (name string, ok bool) { return strings.CutPrefix(id, targetReference) }
